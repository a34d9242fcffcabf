// The largest load that a set-up sustains within its objectives, by bisection.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/probe.hpp"

namespace servegrid::plan {

struct CapacityOptions {
  ProbeOptions probe;
  double tolerance = 0.02;  // relative width of the last bracket (users: at least one)
  double guess = 0;         // where to start; 0 = from the step model
  double ttft_scale = 1;    // TTFT counts so many times as long (the model's error)
  double most = 1e7;        // loads above are not tried
};

/// One search.
struct Capacity {
  double load = 0;               // the largest load that met the objectives; 0 = none did
  double above = 0;              // the smallest tried that did not; 0 = none failed
  Measured at;                   // measured at `load`
  Measured beyond;               // measured at `above`
  std::string missed;            // which objective ends it: "p99 TTFT 2.4 s > 2 s"
  std::vector<Measured> probes;  // in the order made
};

std::string to_text(const Capacity& capacity);
Capacity capacity_from_text(const std::string& text);

/// Bisection in the logarithm of the load between one that meets every objective and one that
/// misses any. All loads see the same random numbers, so that a larger load is not luckier.
Capacity find_capacity(const Rig& rig, const Objectives& objectives,
                       const CapacityOptions& options);

/// Upper bound on what one replica sustains, from the step model alone: no queueing, batches as
/// large as memory and the TPOT objective allow, prefill at its marginal cost. Requests/s, or users
/// that think between requests.
struct Bound {
  double load = 0;
  std::int64_t batch = 0;  // sequences decoding at once
  double decode_step = 0;  // [s] at that batch
  double prefill = 0;      // [s] a request, at its marginal cost
  std::string limited_by;  // "KV memory", "max_num_seqs", "TPOT", "prefill"
};
Bound bound_of(const Rig& rig, const Objectives& objectives);

/// What ends the capacity, in words; empty when the measurement meets the objectives.
std::string missed_text(const Measured& measured, const Objectives& objectives,
                        double ttft_scale = 1);

/// Searches with several seeds, each in a process of its own.
struct Interval {
  double mean = 0, low = 0, high = 0;  // 90 % interval of the mean (Student's t); equal for 1 seed
  std::vector<Capacity> seeds;
};
Interval capacity_interval(const Rig& rig, const Objectives& objectives,
                           const CapacityOptions& options, int seeds, int jobs,
                           const std::function<void()>& done = {});

}  // namespace servegrid::plan
