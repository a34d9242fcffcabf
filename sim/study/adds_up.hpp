// Whether the parts of a point add up to the whole (--check).
#pragma once

#include "metrics/result.hpp"
#include "study/run.hpp"

namespace servegrid::study {

/// Requests, tokens and busy time over replicas and classes; the time of the bounds, from which
/// energy is worked out; the GPU time held, from which cost is. Throws RunError naming the sum that
/// does not.
void check_sums(const metrics::RunResult& result, const Point& point);

}  // namespace servegrid::study
