// The typed reader over YAML: required and optional keys, units, ranges; errors print
// file:line:column, the line and a caret. Unknown keys (with the nearest known one), duplicate
// keys, aliases beyond a limit, deep nesting and huge scalars are errors. Only this module includes
// libyaml.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "units/error.hpp"
#include "units/quantity.hpp"

namespace servegrid::catalog {

/// Limits against hostile files.
struct ReadLimits {
  std::size_t max_bytes = 4u << 20;
  int max_depth = 32;
  std::size_t max_scalar = 64u << 10;
  std::size_t max_nodes = 200000;  // after alias expansion
};

class Tree;   // the parsed file, owned by Value
struct Node;  // one node of it

/// One node. Cheap to copy. Every accessor throws InputError with the node's place.
class Value {
 public:
  /// Parses a file or a text (`file` is only its name in messages). Throws InputError.
  static Value from_file(const std::string& path, const ReadLimits& limits = {});
  static Value from_text(const std::string& text, const std::string& file,
                         const ReadLimits& limits = {});

  [[nodiscard]] bool is_map() const;
  [[nodiscard]] bool is_list() const;
  [[nodiscard]] bool is_scalar() const;
  [[nodiscard]] bool is_null() const;

  /// Key of a map; `at` throws when absent, `find` gives a Value for which `present()` is false.
  /// Both mark the key known.
  [[nodiscard]] Value at(std::string_view key) const;
  [[nodiscard]] Value find(std::string_view key) const;
  [[nodiscard]] bool present() const;
  /// Throws for the first key that neither at() nor find() asked for, naming the nearest known one.
  /// Call at the end of reading each map.
  void no_unknown_keys() const;

  [[nodiscard]] std::vector<Value> items() const;  // list
  [[nodiscard]] std::vector<std::pair<std::string, Value>> entries()
      const;  // map, in file order; marks all known

  [[nodiscard]] std::string text() const;  // any scalar as written
  [[nodiscard]] bool boolean() const;      // true/false only
  [[nodiscard]] std::int64_t integer(std::int64_t low,
                                     std::int64_t high) const;  // decimal; 010 is an error
  [[nodiscard]] double number(double low, double high) const;   // no unit, finite
  [[nodiscard]] double quantity(units::Dimension d, double low = 0, double high = 1e30) const;

  [[nodiscard]] Location where() const;
  /// An InputError at this node: message + file:line:column, the line and a caret.
  [[nodiscard]] InputError error(const std::string& message) const;
  /// Dotted path from the root ("memory.bandwidth").
  [[nodiscard]] std::string path() const;

  /// Sets `path=text` (creating or replacing a scalar), as --set does; the place in messages
  /// becomes "--set PATH=TEXT".
  void set(const std::string& path, const std::string& text, const std::string& origin);
  /// Lays this map over `base`: keys here win, maps merge, lists and scalars replace (used by
  /// `extends`).
  [[nodiscard]] Value over(const Value& base) const;
  /// YAML text of the node, keys in file order.
  [[nodiscard]] std::string dump() const;
  /// The same as one line of flow YAML.
  [[nodiscard]] std::string flow() const;
  /// A copy with a tree of its own: nothing set or asked there is seen here.
  [[nodiscard]] Value clone() const;
  /// A copy of this map without `key`.
  [[nodiscard]] Value without(std::string_view key) const;

 private:
  [[nodiscard]] Node& node() const;
  [[nodiscard]] Value view(int index) const;

  std::shared_ptr<Tree> tree_;
  int node_ = -1;  // index in the tree, -1 = absent
};

/// The word of `known` nearest to `word` (edit distance at most 1 + length/3), or empty.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace servegrid::catalog
