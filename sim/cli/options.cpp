#include "cli/options.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "catalog/reader.hpp"
#include "cli/console.hpp"
#include "units/error.hpp"
#include "units/quantity.hpp"

namespace servegrid::cli {

namespace {

constexpr int style = po::command_line_style::allow_long |
                      po::command_line_style::long_allow_adjacent |
                      po::command_line_style::long_allow_next;

std::string help_hint(const Spec& spec) {
  return "\n  `servegrid " + spec.verb + " --help` lists the options";
}

// "--max_num_seqs" and "--tensor-parallel-size=2" in the spelling that the options have.
std::string canonical(const Spec& spec, const std::string& arg) {
  if (arg == "-h") return "--help";
  if (arg.rfind("--", 0) != 0) return arg;
  const auto equals = arg.find('=');
  std::string name = arg.substr(0, equals);
  std::replace(name.begin(), name.end(), '_', '-');
  for (const auto& [from, to] : spec.aliases)
    if (name == from) name = to;
  return equals == std::string::npos ? name : name + arg.substr(equals);
}

std::vector<std::string> known_options(const Spec& spec) {
  std::vector<std::string> names;
  for (const auto& option : spec.options.options()) names.push_back(option->long_name());
  for (const auto& [from, to] : spec.aliases) names.push_back(from.substr(2));
  names.emplace_back("help");
  return names;
}

InputError unknown_option(const Spec& spec, const std::string& name) {
  std::string message = "unknown option '" + name + "'";
  const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  const std::string near = catalog::nearest(bare, known_options(spec));
  if (!near.empty()) message += ": did you mean '--" + near + "'?";
  return InputError(message + help_hint(spec));
}

void print_help(const Spec& spec) {
  std::ostringstream out;
  out << "Usage: servegrid " << spec.verb << ' ' << spec.synopsis << "\n\n"
      << spec.about << '\n'
      << spec.options;
  if (!spec.aliases.empty()) {
    out << "\nAlso known as:\n";
    for (const auto& [from, to] : spec.aliases) out << "  " << from << " = " << to << '\n';
  }
  if (!spec.examples.empty()) out << "\nExamples:\n" << spec.examples;
  out << "\nExit codes: 0 done, 1 a run failed, 2 bad input, 3 nothing asked for is feasible\n";
  print(out.str());
}

}  // namespace

std::string Parsed::text(const std::string& name) const {
  return has(name) ? values[name].as<std::string>() : std::string();
}

std::vector<std::string> Parsed::list(const std::string& name) const {
  return has(name) ? values[name].as<std::vector<std::string>>() : std::vector<std::string>();
}

std::int64_t Parsed::integer(const std::string& name, std::int64_t low, std::int64_t high,
                             std::int64_t otherwise) const {
  if (!has(name)) return otherwise;
  const std::string written = text(name);
  std::int64_t value = 0;
  const char* end = written.data() + written.size();
  const auto [stop, status] = std::from_chars(written.data(), end, value);
  if (status != std::errc() || stop != end || value < low || value > high)
    throw InputError("--" + name + " takes a whole number from " + std::to_string(low) + " to " +
                     std::to_string(high) + ", not '" + written + "'");
  return value;
}

std::optional<Parsed> parse(const Spec& spec, const Args& args) {
  po::options_description all;
  all.add(spec.options);
  all.add_options()("help", "")("word", po::value<std::vector<std::string>>());
  po::positional_options_description words;
  words.add("word", -1);
  std::vector<std::string> given;
  given.reserve(args.size());
  for (const auto& arg : args) given.push_back(canonical(spec, arg));
  if (std::find(given.begin(), given.end(), "--help") != given.end()) {
    print_help(spec);
    return std::nullopt;
  }
  Parsed parsed;
  try {
    po::store(po::command_line_parser(given).options(all).positional(words).style(style).run(),
              parsed.values);
  } catch (const po::unknown_option& e) {
    throw unknown_option(spec, e.get_option_name());
  } catch (const po::multiple_occurrences& e) {
    throw InputError("option '" + e.get_option_name() + "' is given more than once" +
                     help_hint(spec));
  } catch (const po::error& e) {
    throw InputError(e.what() + help_hint(spec));
  }
  if (parsed.values.count("word") > 0)
    parsed.words = parsed.values["word"].as<std::vector<std::string>>();
  for (const auto& word : parsed.words)
    if (word.size() > 1 && word[0] == '-') throw unknown_option(spec, word);
  return parsed;
}

void add_common(Spec& spec, const CommonUse& use) {
  po::options_description group("Output and run", 100, 58);
  auto add = group.add_options();
  add("format", po::value<std::string>()->value_name("FORMAT"),
      use.csv ? "table (default), json (one document on standard output) or csv"
              : "table (default) or json (one document on standard output)");
  if (use.output)
    add("output", po::value<std::string>()->value_name("DIR"),
        "write the result folder; refuses a folder that holds anything else");
  if (use.set)
    add("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
        "override a value of the scenario or of a profile it uses (repeatable): replica.tp=2, "
        "'gpu.memory.bandwidth=8.8 TB/s', engine.max_num_seqs=256");
  if (use.seed)
    add("seed", po::value<std::string>()->value_name("N"), "seed of the random streams");
  if (use.jobs)
    add("jobs", po::value<std::string>()->value_name("N"),
        "simulations at once (default: as many as there are cores); the result does not depend "
        "on it");
  if (use.leap)
    add("no-leap", po::bool_switch(), "one event a step: slower, the same result bit for bit");
  if (use.limits) {
    add("max-events", po::value<std::string>()->value_name("N"),
        "stop each simulation after N events with what it has (marked partial; the same result "
        "everywhere)");
    add("max-time", po::value<std::string>()->value_name("TIME"),
        "stop each simulation after so much wall time: '30 s', '5 min'");
    add("max-memory", po::value<std::string>()->value_name("SIZE"),
        "stop each simulation when its process holds so much memory: '2 GB' (with another limit: "
        "'8 GiB')");
    add("check", po::bool_switch(),
        "look at every event for what must hold: time, queues, batch, pool, links, order");
  }
  add("quiet", po::bool_switch(), "no progress and no notes on standard error");
  spec.options.add(group);
}

std::pair<std::string, std::string> override_of(const std::string& item) {
  const auto equals = item.find('=');
  if (equals == std::string::npos || equals == 0)
    throw InputError("--set takes PATH=VALUE, not '" + item + "'");
  return {item.substr(0, equals), item.substr(equals + 1)};
}

Common common_of(const Parsed& parsed) {
  Common common;
  const std::string format = parsed.has("format") ? parsed.text("format") : "table";
  const std::vector<std::string> formats = {"table", "json", "csv"};
  const auto it = std::find(formats.begin(), formats.end(), format);
  if (it == formats.end())
    throw InputError("--format is one of table, json, csv; not '" + format + "'");
  common.format = static_cast<OutputFormat>(it - formats.begin());
  common.output = parsed.text("output");
  if (parsed.has("output") && common.output.empty())
    throw InputError("--output needs the name of a folder");
  for (const auto& item : parsed.list("set")) {
    common.set.push_back(override_of(item));
  }
  if (parsed.has("seed"))
    common.set.emplace_back("seed", std::to_string(parsed.integer("seed", 0, INT64_MAX, 0)));
  common.jobs = static_cast<int>(parsed.integer("jobs", 1, 1024, 0));
  common.quiet = parsed.has("quiet") && parsed.values["quiet"].as<bool>();
  common.check = parsed.has("check") && parsed.values["check"].as<bool>();
  common.limits.events = parsed.integer("max-events", 1, INT64_MAX, 0);
  const auto positive = [&](const char* name, units::Dimension dimension) {
    if (!parsed.has(name)) return 0.0;
    double value = 0;
    try {
      value = units::parse(parsed.text(name), dimension);
    } catch (const InputError& e) {
      throw InputError(std::string("--") + name + ": " + e.what());
    }
    if (!(value > 0)) throw InputError(std::string("--") + name + " must be above 0");
    return value;
  };
  common.limits.seconds = positive("max-time", units::Dimension::seconds);
  common.limits.bytes = positive("max-memory", units::Dimension::bytes);
  common.leap = !(parsed.has("no-leap") && parsed.values["no-leap"].as<bool>());
  return common;
}

void at_most_words(const Spec& spec, const Parsed& parsed, std::size_t most) {
  if (parsed.words.size() > most)
    throw InputError("unexpected '" + parsed.words[most] + "'" + help_hint(spec));
}

}  // namespace servegrid::cli
