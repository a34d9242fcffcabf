// What the requests of a run come to when no record of each is kept: counts, and latencies as
// sketches. Bounded memory, whatever the length of the run.
#pragma once

#include <cstdint>
#include <optional>

#include "metrics/quantile.hpp"
#include "metrics/result.hpp"
#include "metrics/sketch.hpp"

namespace servegrid::metrics {

/// Objectives of a request [s].
struct Objectives {
  std::optional<double> ttft, tpot, e2el;
  [[nodiscard]] bool any() const { return ttft || tpot || e2el; }
};

/// Whether a completed request met all of them.
bool meets(const RequestRecord& record, const Objectives& objectives);

/// A latency: exact mean and deviation, quantiles within 0.1 %.
struct Distribution {
  QuantileSketch sketch;
  GroupedMoments moments;  // [ticks]
  void add(Ticks value) {
    sketch.add(value);
    moments.add(static_cast<double>(value));
  }
};

class RequestSums {
 public:
  RequestSums() = default;
  /// The first `warmup` requests that complete are left out of the latencies.
  RequestSums(Objectives objectives, std::int64_t warmup)
      : objectives_(std::move(objectives)), warmup_(warmup) {}

  /// A request that has ended, in the order of their ends. Throws RunError for a record that cannot
  /// be.
  void add(const RequestRecord& record);
  /// One that had not ended when the run was stopped.
  void add_unfinished(const RequestRecord& record);

  std::int64_t requests = 0, completed = 0, rejected = 0, failed = 0, cancelled = 0;
  std::int64_t in_flight = 0;      // when the run was stopped
  std::int64_t good = 0;           // met all objectives
  std::int64_t preemptions = 0;    // of all
  std::int64_t output_tokens = 0;  // of completed ones, and what failed and cancelled ones got
  double input = 0, output = 0;    // tokens of completed ones
  Distribution ttft, tpot, e2el;
  Distribution queue, prefill;  // the parts of TTFT
  Ticks decode_time = 0;        // after the first token, of those in the latencies
  std::int64_t gaps = 0;        // between their tokens

 private:
  Objectives objectives_;
  std::int64_t warmup_ = 0;
};

}  // namespace servegrid::metrics
