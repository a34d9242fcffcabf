// Queue, batch and KV use over time, in equal parts of the run.
#pragma once

#include <vector>

#include "metrics/result.hpp"

namespace servegrid::metrics {

/// Averages over a part of the run, all replicas together (kv: share of the pools).
struct SeriesPart {
  double start = 0;  // [s]
  double running = 0, waiting = 0, kv = 0, busy = 0;
  double output_tokens = 0;  // a second
};

/// Exact averages of the epochs over each part; empty without a timeline.
std::vector<SeriesPart> series_of(const RunResult& result, int replicas, std::size_t parts = 100);

}  // namespace servegrid::metrics
