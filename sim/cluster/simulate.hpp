// Runs a scenario: replicas, router and clients on one integer-time event heap, inside SimGrid or
// without it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "catalog/scenario.hpp"
#include "cluster/router.hpp"
#include "metrics/result.hpp"
#include "roofline/step_times.hpp"
#include "workload/source.hpp"

namespace servegrid::cluster {

/// Policies from outside (the Python package) in place of the scenario's; empty = the scenario's.
struct CustomPolicies {
  std::function<std::unique_ptr<Router>(const Fleet&)> router;
  /// Gets the scenario's source and returns the one to use.
  std::function<std::unique_ptr<workload::Source>(std::unique_ptr<workload::Source>)> source;
  /// Before routing: why the request is turned away; empty = it is admitted.
  std::function<std::string(const workload::Request&, Ticks now, const Fleet&)> admission;
};

struct RunOptions {
  bool leap = true;  // false: one event a step, same result bit for bit
  bool timeline = true;
  /// false: no record of each request and no epoch is kept; the summary comes from sums, and memory
  /// does not grow with the run. Not with timeouts or cancellations.
  bool requests = true;
  bool check = true;       // conservation invariants at the end
  double block_bytes = 0;  // of one KV block on one GPU, for swapping to the host; 0: not known
  CustomPolicies custom;
};

/// The event loop on the heap alone (inner loops, tests): no SimGrid. Deterministic.
metrics::RunResult simulate(const catalog::Scenario& scenario, const roofline::StepTimes& steps,
                            std::int64_t num_blocks, std::int64_t blocks_fixed,
                            const RunOptions& options = {});

/// Loads the SimGrid plugin now, so that children forked later have it.
void load_simgrid();

/// The same inside a SimGrid engine: a driver actor on the platform of the scenario's GPUs. At most
/// one per process. Loads the SimGrid plugin (libservegrid_simgrid.so) on first use. Same result
/// bit for bit.
metrics::RunResult simulate_on_simgrid(const catalog::Scenario& scenario,
                                       const roofline::StepTimes& steps, std::int64_t num_blocks,
                                       std::int64_t blocks_fixed, const RunOptions& options = {});

}  // namespace servegrid::cluster
