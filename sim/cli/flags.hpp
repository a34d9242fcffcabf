// A scenario from flags alone: they become the scenario's YAML text (or overrides of a scenario
// file) and go through the one reader that scenario files go through.
#pragma once

#include <string>

#include "catalog/catalog.hpp"
#include "cli/options.hpp"

namespace servegrid::cli {

enum class Purpose { run, size, compare, explain };

/// Adds the scenario flags and vLLM's spellings of them.
void add_scenario_flags(Spec& spec, Purpose purpose);

/// The question as it was asked: a scenario file or name, or YAML text made of the flags.
struct Question {
  std::string path;  // positional; empty = from flags
  std::string text;  // YAML, when from flags
  catalog::Overrides overrides;

  /// The scenario with these further overrides.
  [[nodiscard]] catalog::Scenario read(const catalog::Overrides& more = {}) const;
};

/// The flags as overrides of a scenario with that kind of load.
catalog::Overrides overrides_of(const Parsed& parsed, catalog::WorkloadSpec::Kind load);

/// `word`: the positional scenario, may be empty.
Question question_of(const Parsed& parsed, const std::string& word, const Common& common,
                     Purpose purpose);

}  // namespace servegrid::cli
