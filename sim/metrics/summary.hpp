// The summary of a run, in the names of `vllm bench serve --save-result`, with ours after them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  std::optional<double> slo_ttft, slo_tpot, slo_e2el;  // [s]; any set: request_goodput
  double warmup_fraction = 0;  // share of the first finished requests left out of the latencies
  int replicas = 1;
  std::optional<Work> work;
  std::optional<Drafting> drafting;
};

/// Latencies are over completed requests after the warm-up; rates are over the whole run. TPOT is
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
