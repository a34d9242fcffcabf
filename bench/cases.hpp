// The runs that are timed, each as a scenario.
#pragma once

#include <string>
#include <vector>

#include "catalog/scenario.hpp"

namespace servegrid::bench {

struct Case {
  std::string name;   // key in bench.json
  std::string title;  // what it is
  double target = 0;  // simulated requests a second over bare sleeps a second
  std::string yaml;   // with RATE where a rate is to be filled in
  double load = 0;    // share of the capacity that RATE becomes; 0 = no rate
};

std::vector<Case> all_cases();

/// The scenario of a case; its rate is `load` of what the same replicas serve when saturated.
catalog::Scenario scenario_of(const Case& one);

}  // namespace servegrid::bench
