// Command-line options: the ones every command has, and the parser with its errors.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "cli/commands.hpp"
#include "cluster/limits.hpp"

namespace servegrid::cli {

namespace po = boost::program_options;

enum class OutputFormat { table, json, csv };

/// One command's help and options.
struct Spec {
  std::string verb;      // "run", "model import"
  std::string synopsis;  // what follows the verb
  std::string about;
  std::string examples;
  po::options_description options{100, 58};
  std::vector<std::pair<std::string, std::string>> aliases;  // "--tensor-parallel-size" -> "--tp"
};

/// Parsed arguments. `words` are the positional ones.
struct Parsed {
  po::variables_map values;
  std::vector<std::string> words;
  [[nodiscard]] bool has(const std::string& name) const { return values.count(name) > 0; }
  [[nodiscard]] std::string text(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> list(const std::string& name) const;
  /// A decimal integer in [low, high]; `otherwise` when the option was not given.
  [[nodiscard]] std::int64_t integer(const std::string& name, std::int64_t low, std::int64_t high,
                                     std::int64_t otherwise) const;
};

/// nullopt when --help was asked for (and printed). Throws InputError with the nearest known
/// option.
std::optional<Parsed> parse(const Spec& spec, const Args& args);

/// Adds --format, and, where they make sense, the others.
struct CommonUse {
  bool output = false, set = false, seed = false, jobs = false, leap = false, csv = true;
  bool limits = false;  // and --check
};
void add_common(Spec& spec, const CommonUse& use);

struct Common {
  OutputFormat format = OutputFormat::table;
  std::string output;
  catalog::Overrides set;
  int jobs = 0;  // 0 = as many as there are cores
  bool quiet = false, leap = true, check = false;
  cluster::Limits limits;
};
Common common_of(const Parsed& parsed);
/// "PATH=VALUE" of --set, taken apart.
std::pair<std::string, std::string> override_of(const std::string& item);

/// Throws InputError when there are more positional words than `most`.
void at_most_words(const Spec& spec, const Parsed& parsed, std::size_t most);

}  // namespace servegrid::cli
