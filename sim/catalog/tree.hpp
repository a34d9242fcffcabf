// The parsed form behind Value: a flat array of nodes that keep their place, so that errors found
// long after parsing still print it. Private to the catalog.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/reader.hpp"

namespace servegrid::catalog {

/// The text a node was read from.
struct Source {
  std::string file;
  std::string text;
};

struct Node {
  enum class Kind { absent, null, scalar, list, map };
  Kind kind = Kind::absent;
  std::string key;  // in the parent map
  std::string text;
  bool quoted = false;
  std::shared_ptr<const Source> source;
  int line = 0, column = 0;          // of the value, from 1, in characters; 0 = not known
  int key_line = 0, key_column = 0;  // of the key
  int parent = -1;
  std::vector<int> children;
  bool known = false;              // somebody asked for this key
  std::vector<std::string> asked;  // of a map: keys asked for
};

class Tree {
 public:
  std::vector<Node> nodes;

  /// Adds a node below `parent` (-1: a root) and returns its index.
  int add(Node node, int parent);
  /// Copies the subtree `from` of `other` below `parent` of this tree; returns the new index.
  int graft(const Tree& other, int from, int parent);
  /// Index of the child of map `map` called `key`, or -1.
  [[nodiscard]] int child(int map, std::string_view key) const;
};

/// Parses checked text; throws InputError.
std::shared_ptr<Tree> parse_yaml(const std::shared_ptr<const Source>& source,
                                 const ReadLimits& limits);

/// Throws InputError unless `text` is UTF-8 without control characters, within the limits and not
/// nested so deeply that a recursive parser could run out of stack.
void check_text(const Source& source, const ReadLimits& limits);

/// Reads at most limits.max_bytes; throws InputError for anything that is not a readable file.
std::shared_ptr<const Source> read_source(const std::string& path, const ReadLimits& limits);

/// The message "file:line:column: message", the line and a caret.
InputError error_at(const Source& source, int line, int column, const std::string& message);

/// `text` made safe for a terminal: control characters become '?', at most `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 80);

/// A scalar as YAML: quoted when it would not read back as itself.
std::string yaml_scalar(std::string_view text, bool flow);

/// The subtree as one line of flow YAML.
std::string flow_text(const Tree& tree, int node);

/// The subtree in block style.
std::string block_text(const Tree& tree, int node);

}  // namespace servegrid::catalog
