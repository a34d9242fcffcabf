// Runs a scenario: replicas, router and clients on one integer-time event heap, inside SimGrid or
// without it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "catalog/scenario.hpp"
#include "cluster/limits.hpp"
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
  /// does not grow with the run. Not with timeouts, cancellations, faults, operations or several
  /// pools that hand over or serve several models.
  bool requests = true;
  bool check = true;          // conservation invariants at the end
  bool check_events = false;  // every event too (invariants.hpp); also by SERVEGRID_CHECK=1
  Limits limits;              // reached: the result is of what was done until then
  CustomPolicies custom;
};

/// What is known of a pool's replicas beside the scenario: the step model and the memory ledger.
struct PoolModel {
  const roofline::StepTimes* steps = nullptr;
  std::int64_t num_blocks = 0, blocks_fixed = 0;  // KV pool of one replica
  std::int64_t block_tokens = 0;                  // 0: the knob's
  double block_bytes = 0;                         // of one GPU, for swapping; 0: not known
  double weights_bytes = 0;                       // of one GPU: what loading takes
  double kv_bytes_per_token = 0;                  // of one GPU: what a transfer takes
};

/// The event loop on the heap alone (inner loops, tests): no SimGrid. Deterministic. One model for
/// each pool of the scenario. Throws RunError for a scenario that transfers KV caches: those need
/// links.
metrics::RunResult simulate(const catalog::Scenario& scenario, const std::vector<PoolModel>& pools,
                            const RunOptions& options = {});

/// Loads the SimGrid plugin now, so that children forked later have it.
void load_simgrid();

/// The same inside a SimGrid engine: a driver actor on the platform of the scenario's GPUs. At most
/// one per process. Loads the SimGrid plugin (libservegrid_simgrid.so) on first use. Same result
/// bit for bit where nothing is transferred.
metrics::RunResult simulate_on_simgrid(const catalog::Scenario& scenario,
                                       const std::vector<PoolModel>& pools,
                                       const RunOptions& options = {});

/// A scenario of equal replicas.
metrics::RunResult simulate(const catalog::Scenario& scenario, const roofline::StepTimes& steps,
                            std::int64_t num_blocks, std::int64_t blocks_fixed,
                            const RunOptions& options = {});
metrics::RunResult simulate_on_simgrid(const catalog::Scenario& scenario,
                                       const roofline::StepTimes& steps, std::int64_t num_blocks,
                                       std::int64_t blocks_fixed, const RunOptions& options = {});

}  // namespace servegrid::cluster
