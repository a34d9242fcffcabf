// A plan from flags alone: they become the plan's YAML text.
#pragma once

#include <string>

#include "cli/options.hpp"

namespace servegrid::cli {

void add_plan_flags(Spec& spec);

struct PlanQuestion {
  std::string path;  // positional; empty = from flags
  std::string text;
  catalog::Overrides overrides;
};
PlanQuestion plan_question_of(const Parsed& parsed, const Common& common);

}  // namespace servegrid::cli
