// From people to load: the peak that a fleet must carry, and the day around it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "plan/plan_file.hpp"

namespace servegrid::plan {

struct Demand {
  double load = 0;  // requests/s, or users waiting or thinking, at the peak
  bool counts_users = false;
  double rate = 0;            // requests/s at the peak; 0 = follows from the run (closed loops)
  std::string workload_yaml;  // of a scenario, with this load
  std::string unit;           // "requests/s", "users at once"
  std::array<double, 24> hours{};  // load of each hour over the peak
  double days_per_month = 0;
  std::vector<std::string> arithmetic;  // how it was derived, a line a step

  /// Seconds a month at the peak that would serve as much as the month does.
  [[nodiscard]] double peak_seconds() const;
};

/// Users at once follow from Little's law: the peak request rate times think time plus an answer
/// that takes as long as the objectives allow. Throws InputError for a trace.
Demand demand_of(const PlanSpec& plan);

}  // namespace servegrid::plan
