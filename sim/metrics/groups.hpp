// The same few numbers for parts of the requests: by class, by tenant, by replica.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "metrics/request_sums.hpp"
#include "metrics/result.hpp"

namespace servegrid::metrics {

struct ClassInfo {
  std::string name, tenant;
  Objectives objectives;
};

struct Group {
  std::string name;
  Summary summary;
};

/// What a request must meet is its class's objectives. Counts and rates are of all requests,
/// latencies of those that are `measured` (by id).
struct Grouping {
  std::vector<ClassInfo> classes;  // at least one
  std::vector<bool> measured;
  int replicas = 1;
  [[nodiscard]] bool any_objectives() const {
    return std::any_of(classes.begin(), classes.end(),
                       [](const ClassInfo& c) { return c.objectives.any(); });
  }
};
std::vector<Group> by_class(const RunResult& result, const Grouping& grouping);
std::vector<Group> by_tenant(const RunResult& result, const Grouping& grouping);
/// With the share of the time that each was busy, and its queue and pool from the timeline.
std::vector<Group> by_replica(const RunResult& result, const Grouping& grouping);

}  // namespace servegrid::metrics
