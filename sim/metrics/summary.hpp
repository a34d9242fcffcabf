// The summary of a run, in the names of `vllm bench serve --save-result`, with ours after them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "metrics/groups.hpp"
#include "metrics/result.hpp"

namespace servegrid::metrics {

/// What the step model knows of the whole run, and the peaks to relate it to; per GPU.
struct Work {
  double flops = 0, bytes = 0;                // done, moved
  double peak_flops = 0, peak_bandwidth = 0;  // [FLOP/s], [B/s]; 0 = unknown, mfu or mbu is absent
  std::vector<std::pair<std::string, double>> seconds_by_bound;  // "compute" -> s, ...
};

/// What was drafted, for the spec_decode_* metrics.
struct Drafting {
  std::int64_t tokens = 0;         // a step and sequence
  std::vector<double> acceptance;  // assumed, by position; drawn runs count their own
};

struct SummaryOptions {
  Grouping grouping;  // the objectives of each class (any set: request_goodput), what is measured
  bool saturated = false;
  int replicas = 1;
  std::optional<Work> work;
  std::optional<Drafting> drafting;
};

/// Latencies are over the measured requests: TTFT and E2EL of those that completed, failed or were
/// in flight at the end (which count as at least what they waited), TPOT of completed ones. Rates
/// are over the whole run. TPOT is
/// (finish - first token) / (output - 1), absent for one-token outputs. ITL quantiles come from the
/// epochs: every step of an epoch is one gap of each decoding sequence, so the warm-up is in them,
/// and the gap that a preemption tears (resumed by a prefill step) is not; they are absent when the
/// run kept no timeline. mean_itl_ms comes from the requests and has such gaps. A metric that is
/// undefined is absent.
Summary summarize(const RunResult& result, const SummaryOptions& options = {});

/// Time averages over the run, all replicas together (kv_*: share of the pool).
struct TimeAverages {
  double running = 0, waiting = 0;
  double kv_mean = 0, kv_peak = 0;
  double busy_seconds = 0;
};
TimeAverages time_averages(const RunResult& result, int replicas);

}  // namespace servegrid::metrics
