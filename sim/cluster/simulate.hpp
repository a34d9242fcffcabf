// Runs a scenario: replicas, router and clients on one integer-time event heap, inside SimGrid or
// without it.
#pragma once

#include "catalog/scenario.hpp"
#include "metrics/result.hpp"
#include "roofline/step_times.hpp"

namespace servegrid::cluster {

struct RunOptions {
  bool leap = true;  // false: one event a step, same result bit for bit
  bool timeline = true;
  bool check = true;       // conservation invariants at the end
  double block_bytes = 0;  // of one KV block on one GPU, for swapping to the host; 0: not known
};

/// The event loop on the heap alone (inner loops, tests): no SimGrid. Deterministic.
metrics::RunResult simulate(const catalog::Scenario& scenario, const roofline::StepTimes& steps,
                            std::int64_t num_blocks, std::int64_t blocks_fixed,
                            const RunOptions& options = {});

/// The same inside a SimGrid engine: a driver actor on the platform of the scenario's GPUs. At most
/// one per process. Loads the SimGrid plugin (libservegrid_simgrid.so) on first use. Same result
/// bit for bit.
metrics::RunResult simulate_on_simgrid(const catalog::Scenario& scenario,
                                       const roofline::StepTimes& steps, std::int64_t num_blocks,
                                       std::int64_t blocks_fixed, const RunOptions& options = {});

}  // namespace servegrid::cluster
