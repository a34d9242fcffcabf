// How far a prediction can be trusted: 90 % intervals from the errors that the fits made on runs
// they had not seen.
#pragma once

#include <string>
#include <vector>

#include "catalog/engine.hpp"

namespace servegrid::study {

/// A metric of the summary and where nine in ten measurements are expected to lie.
struct Interval {
  std::string metric;  // "mean_ttft_ms", "mean_tpot_ms", "output_throughput"
  double low = 0, high = 0;
};

/// What the intervals are made from.
struct Prediction {
  double ttft_ms = 0, tpot_ms = 0, e2el_ms = 0;  // means
  double throughput = 0;                         // output tokens a second
  double duration = 0;                           // [s]
  bool closed = true;   // users wait for their answers: the rate follows the latency
  double think_ms = 0;  // closed: mean pause between answers
  bool queues = false;  // requests wait for KV memory or a place in the batch
};

/// Relative half-widths: measured/predicted lies in [1/(1 + band), 1 + band].
struct Bands {
  double ttft = 0, tpot = 0;
};

/// The fit's own bands, and at least the floors of `trust` (of the step model: "measured",
/// "inherited", "data sheet" or "what-if"): what leaving the kernels of a whole GPU
/// out (inherited, what-if), or all measurements (data sheet), did to the 90th percentile
/// (docs/accuracy.md).
Bands bands_of(const catalog::ServingCosts& costs, const std::string& trust, bool queues);

/// TTFT and TPOT by their bands. Throughput: in a closed loop users come back when they are
/// answered, so that it moves as 1/(E2EL + think time); an open loop that queues runs at its
/// capacity, which moves as 1/TPOT; one that does not serves what arrives and only ends later or
/// earlier. Metrics that are 0 have no interval.
std::vector<Interval> intervals_of(const Prediction& prediction, const Bands& bands);

}  // namespace servegrid::study
