// Whether a run says something about the steady state: where it begins, how well its means are
// known, and whether the load is one that the system can carry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metrics/result.hpp"

namespace servegrid::metrics {

/// How many of the first values to leave out: White's MSER-5 (means of 5, the cut that minimises
/// the variance of what is left over its number; at most half). 0 for fewer than 50 values.
std::size_t mser5(const std::vector<double>& values);

/// The half width of the 95 % confidence interval of the mean, by 20 batches of consecutive values
/// (Student's t of 19 degrees); nullopt for fewer than 100 values.
std::optional<double> half_width(const std::vector<double>& values);

/// TTFT and TPOT [s] of completed requests that are measured (all, when that is empty), by id.
struct Samples {
  std::vector<double> ttft, tpot;
};
Samples samples_of(const std::vector<RequestRecord>& requests, const std::vector<bool>& measured);

/// Whether mean TTFT and TPOT are both known to within `precision` of themselves, the warm-up found
/// by mser5 left out.
bool precise(const std::vector<RequestRecord>& requests, double precision);

/// What is left out of the latencies: a share of the completed requests (the first to finish),
/// those that arrive within the first `time` [s], or those before the cut that MSER-5 finds in the
/// end-to-end latencies in the order of arrival.
struct Warmup {
  double fraction = 0, time = 0;
  bool automatic = false;
};
/// By id: whether the request's latencies count.
std::vector<bool> measured(const RunResult& result, const Warmup& warmup);

/// Whether the system keeps up. `users`: of a closed loop, 0 for arrivals that do not wait.
struct Verdict {
  bool saturated = false;
  std::string text;
};
Verdict verdict_of(const RunResult& result, std::int64_t users, double mean_waiting);

}  // namespace servegrid::metrics
