// One set-up under one load, measured in the steady part of a run on the event heap (no SimGrid).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/scenario.hpp"
#include "memory/ledger.hpp"
#include "plan/objectives.hpp"
#include "roofline/step_model.hpp"

namespace servegrid::plan {

struct ProbeOptions {
  std::uint64_t seed = 1;
  std::int64_t requests = 600;  // at least; a run is as long as the load needs (see probe.cpp)
  double step_scale = 1;        // every step takes so many times as long
  bool attribution = false;     // what bounds the steps (energy); costs time
};

/// What was seen between the ramp-up and the drain.
struct Measured {
  double load = 0;                // requests/s of an open loop, users of a closed one
  std::int64_t requests = 0;      // simulated
  std::int64_t counted = 0;       // in the steady part
  std::vector<double> latencies;  // [s], one an objective; NaN when undefined
  double attainment = 0;          // share of counted requests that met every limit
  bool backlog = false;           // open loop: the queue grew until the last arrival
  bool rejected = false;          // a request can never be served
  double request_rate = 0;        // completed [1/s], steady part
  double input_rate = 0, cached_rate = 0, output_rate = 0;  // tokens/s; input without cached
  double ttft_mean = 0, tpot_mean = 0, e2el_mean = 0;       // [s]
  double running = 0, waiting = 0, kv_mean = 0, kv_peak = 0;
  double duration = 0;                             // of the whole run [s]
  double prefill_seconds = 0, decode_seconds = 0;  // busy time of all replicas
  std::array<double, 5> seconds_by_bound{};        // with attribution; index: roofline::Bound
  std::int64_t preemptions = 0;

  /// Every objective met, and nothing piling up.
  [[nodiscard]] bool meets(const Objectives& objectives, double ttft_scale = 1) const;
};

/// A scenario sized once, to be simulated at many loads. Not thread-safe.
class Rig {
 public:
  /// Throws InfeasibleError with the reason when the set-up does not fit or does not run, and
  /// InputError for a trace, whose load is not a number.
  explicit Rig(catalog::Scenario scenario);

  /// Runs at that load: requests/s or users of the whole fleet. Same seed, same random numbers at
  /// every load.
  [[nodiscard]] Measured measure(double load, const Objectives& objectives,
                                 const ProbeOptions& options) const;
  /// The load counts users (whole numbers), not requests/s.
  [[nodiscard]] bool counts_users() const;
  [[nodiscard]] const catalog::Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const memory::Ledger& ledger() const { return ledger_; }
  [[nodiscard]] const roofline::StepModel& steps() const { return *steps_; }

 private:
  catalog::Scenario scenario_;
  memory::Ledger ledger_;
  std::unique_ptr<roofline::StepModel> steps_;
};

/// Text that holds a whole measurement, for a pipe between processes.
std::string to_text(const Measured& measured);
Measured measured_from_text(const std::string& text);

}  // namespace servegrid::plan
