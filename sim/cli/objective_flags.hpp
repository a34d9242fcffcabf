// The objectives of `capacity` and `tune`, from flags and from the scenario.
#pragma once

#include "cli/options.hpp"
#include "plan/objectives.hpp"

namespace servegrid::cli {

void add_objective_flags(po::options_description& group);

/// --slo, and the scenario's own at --at. Throws InputError when there is none.
plan::Objectives objectives_of(const Parsed& parsed, const catalog::Scenario& scenario);

}  // namespace servegrid::cli
