// What a simulation will need, before it starts: a scenario that would exhaust the machine is
// refused with the arithmetic.
#pragma once

#include <cstdint>

#include "catalog/scenario.hpp"
#include "cluster/limits.hpp"

namespace servegrid::study {

constexpr double max_simulation_bytes = 8.0 * 1024 * 1024 * 1024;
constexpr double max_single_steps = 1e9;  // one event each: without leaps

struct Resources {
  double requests = 0, bytes_per_request = 0;  // at most
  double gpus = 0, bytes_of_platform = 0;      // hosts, links, replicas
  double single_steps = 0;                     // decode steps, at least: events without leaps
  [[nodiscard]] double bytes() const { return requests * bytes_per_request + bytes_of_platform; }
};

/// `tokens` is what a request holds at its end, on average; `records`: one of each is kept.
Resources resources_of(const catalog::Scenario& scenario, std::int64_t tokens, bool records = true);

/// Throws InputError when the estimate is above the limits, saying what to lower. With `stops` the
/// run is stopped in time, and only what must be there before it begins is looked at.
void check_resources(const catalog::Scenario& scenario, std::int64_t tokens, bool leap,
                     bool records = true, bool stops = false);

/// The limits of a run: with any of them, memory has one too.
cluster::Limits with_memory_limit(cluster::Limits limits);

}  // namespace servegrid::study
