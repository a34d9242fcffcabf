#include "study/adds_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "units/error.hpp"

namespace servegrid::study {

namespace {

void require_equal(const std::string& what, double parts, double whole) {
  if (std::abs(parts - whole) <= 1e-9 * std::max(std::abs(parts), std::abs(whole))) return;
  throw RunError(
      fmt::format("invariant 'parts add up' is broken: {}: the parts come to {:.12g}, the whole is "
                  "{:.12g}; this is a defect of the simulator, not of the input",
                  what, parts, whole));
}

double sum_of(const std::vector<metrics::Group>& groups, const std::string& name) {
  double sum = 0;
  for (const auto& group : groups)
    for (const auto& [key, value] : group.summary) sum += key == name ? value : 0;
  return sum;
}

void check_groups(const std::string& what, const std::vector<metrics::Group>& groups,
                  const Point& point, double requests) {
  if (groups.empty()) return;
  require_equal("requests by " + what, sum_of(groups, "requests"), requests);
  for (const char* name : {"completed", "total_input_tokens", "total_output_tokens"})
    require_equal(name + (" by " + what), sum_of(groups, name), point.metric(name).value_or(0));
}

// Cost is GPU time held; nobody holds a GPU for longer than the run, or serves without one.
void check_held(const metrics::RunResult& result, const Point& point) {
  double held = 0;
  for (const metrics::ReplicaRecord& r : result.replicas) {
    if (r.ready < 0 || r.held < r.ready || r.held > result.end)
      throw RunError("invariant 'parts add up' is broken: a replica served without its GPUs");
    held += to_seconds(r.held) * r.gpus;
  }
  if (const auto told = point.metric("gpu_seconds")) require_equal("GPU seconds", held, *told);
}

}  // namespace

void check_sums(const metrics::RunResult& result, const Point& point) {
  const auto all = static_cast<double>(result.requests.size());
  const auto nowhere = static_cast<double>(
      std::count_if(result.requests.begin(), result.requests.end(),
                    [](const metrics::RequestRecord& r) { return r.replica < 0; }));
  check_groups("replica", point.by_replica, point, all - nowhere);
  check_groups("class", point.classes, point, all);
  check_groups("tenant", point.tenants, point, all);
  const metrics::EpochSums& sums = result.timeline.sums();
  if (!point.by_replica.empty() && !result.timeline.empty())
    require_equal("busy seconds by replica",
                  sum_of(point.by_replica, "busy_fraction") * to_seconds(result.end), sums.busy);
  if (!result.pool_sums.empty()) {
    double busy = 0;
    for (const metrics::EpochSums& pool : result.pool_sums) busy += pool.busy;
    require_equal("busy seconds by pool", busy, sums.busy);
  }
  double bounds = 0;
  for (const double seconds : point.load.seconds_by_bound) bounds += seconds;
  if (bounds > 0) require_equal("seconds by what binds (energy)", bounds, point.load.busy_seconds);
  check_held(result, point);
}

}  // namespace servegrid::study
