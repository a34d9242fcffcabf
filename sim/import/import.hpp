// A scenario from what people have: a launch command, an engine's start-up log, a bench result, a
// request log, a Prometheus export. It says what it read, what it assumed and what it could not
// represent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"

namespace servegrid::importer {

enum class Kind { command_line, startup_log, bench_result, request_log, prometheus };
std::string_view name(Kind kind);

/// What a text is, by its content; nullopt when it is none of these.
std::optional<Kind> kind_of(const std::string& text);

/// Values of a scenario by path, each with where it was read, and what there is to say about them.
class Draft {
 public:
  /// A later value replaces an earlier one; that they differed is noted.
  void set(const std::string& path, const std::string& value, const std::string& origin);
  void assume(const std::string& text) { add(assumed_, text); }
  void cannot(const std::string& text) { add(cannot_, text); }
  void ignore(const std::string& text) { add(ignored_, text); }
  [[nodiscard]] const std::string* find(const std::string& path) const;
  [[nodiscard]] bool has(const std::string& path) const { return find(path) != nullptr; }
  void erase(const std::string& path);
  /// Metrics of a measured run, in the names of `vllm bench serve`.
  std::vector<std::pair<std::string, double>> observed;
  /// A trace to write beside the scenario; empty = none.
  std::string trace_csv;

  [[nodiscard]] const std::vector<std::string>& assumed() const { return assumed_; }
  [[nodiscard]] const std::vector<std::string>& not_represented() const { return cannot_; }
  [[nodiscard]] const std::vector<std::string>& without_effect() const { return ignored_; }
  struct Entry {
    std::string path, value, origin;
  };
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  static void add(std::vector<std::string>& list, const std::string& text);
  std::vector<Entry> entries_;
  std::vector<std::string> assumed_, cannot_, ignored_;
};

/// One reader a kind of text; `file` is its name in messages. Each throws InputError.
void read_command_line(const std::string& text, const std::string& file, Draft& draft);
void read_startup_log(const std::string& text, const std::string& file, Draft& draft);
void read_bench_result(const std::string& text, const std::string& file, Draft& draft);
void read_request_log(const std::string& text, const std::string& file, bool keep_trace,
                      Draft& draft);
void read_prometheus(const std::string& text, const std::string& file, Draft& draft);

struct Options {
  std::string gpu;  // not in most sources
  catalog::Overrides set;
  bool keep_trace = false;  // a request log becomes a trace, not a fitted open loop
};

struct Imported {
  std::string scenario;  // YAML, with what was read as comments
  std::vector<std::string> read, assumed, not_represented, without_effect;
  std::vector<std::pair<std::string, double>> observed;
  std::string trace_csv;
};

/// All sources together, later ones over earlier ones. Throws InputError when they do not make a
/// scenario (no model, no GPU), and for hostile input.
struct Source {
  std::string file, text;
};
Imported import_all(const std::vector<Source>& sources, const Options& options);

}  // namespace servegrid::importer
