// The part of a summary that comes from requests, when no record of each was kept: the same names,
// quantiles within 0.1 %.
#pragma once

#include "metrics/epoch_sums.hpp"
#include "metrics/request_sums.hpp"
#include "metrics/summary.hpp"

namespace servegrid::metrics {

/// Counts and rates; `end`: of the run.
void add_throughput(Summary& out, const RequestSums& requests, Ticks end,
                    const SummaryOptions& options);
/// TTFT, TPOT, ITL and E2EL.
void add_latencies(Summary& out, const RequestSums& requests, const EpochSums& epochs);

}  // namespace servegrid::metrics
