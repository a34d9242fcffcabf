// One point: a scenario, sized and simulated, as the row of a table.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "cluster/simulate.hpp"
#include "memory/ledger.hpp"
#include "metrics/groups.hpp"
#include "metrics/result.hpp"
#include "roofline/step_model.hpp"
#include "study/interval.hpp"

namespace servegrid::cluster {
struct RunOptions;
}

namespace servegrid::study {

/// The step model of a scenario, with the fit file of its GPU (or of the relative it inherits
/// from).
std::unique_ptr<roofline::StepModel> step_model_of(const catalog::Scenario& scenario);

/// "conversations", "closed", "open" or "trace".
std::string workload_name(catalog::WorkloadSpec::Kind kind);

/// "TP 4, PP 2".
std::string parallel_text(const catalog::Parallelism& parallel);

/// Where the step model's numbers are from ("measured", "inherited", "data sheet", "what-if"), and
/// what of the scenario no measured run has judged.
std::string trust_of(const catalog::Scenario& scenario, const roofline::StepModel& steps);

/// The scenario with the collectives of its own fabric, where it has one, derived from flows.
catalog::Scenario with_fabric(const catalog::Scenario& scenario);

/// Step models and sizes of a scenario's pools, for the event loop.
struct PoolModels {
  std::vector<std::unique_ptr<roofline::StepModel>> steps;
  std::vector<cluster::PoolModel> pools;  // point into `steps`
};
PoolModels models_of(const catalog::Scenario& scenario, std::int64_t context_tokens);

/// Tokens a conversation (or request) of the workload holds at its end, on average.
std::int64_t conversation_tokens(const catalog::WorkloadSpec& workload);

/// The scenario as asked for: the text made of flags, or a file with everything resolved.
std::string scenario_text(const std::string& path, const std::string& text,
                          const catalog::Overrides& overrides);

/// Time averages over the run, of all replicas together.
struct Load {
  double running = 0, waiting = 0;           // requests in the batch; in the queue
  double kv_use_mean = 0, kv_use_peak = 0;   // share of the pool
  double busy_seconds = 0;                   // of steps, all replicas
  std::array<double, 5> seconds_by_bound{};  // index: roofline::Bound
  double flops = 0, bytes = 0;               // per GPU, of the whole run
};

/// What a pool is rented as.
struct PoolPrice {
  std::string name, gpu;
  int gpus = 0, group = 0;   // of the pool; of one replica
  double per_gpu_month = 0;  // a price of its own; 0: a sheet's
};

/// A set-up under a load, and what came out.
struct Point {
  std::string label;
  std::string model, weights, gpu, gpu_title, engine;
  int gpus = 1;  // of a replica
  int replicas = 1;
  std::string set_up;      // what differs between compared set-ups, without the load: "b200, TP 1"
  std::string workload;    // "closed", "open", "conversations", "trace"
  std::int64_t users = 0;  // closed loop; 0 = open
  double rate = 0;         // open loop [1/s]
  std::optional<double> slo_tpot, slo_ttft;  // [s]
  std::vector<std::string> prices;
  std::vector<PoolPrice> pools;  // empty: one pool
  std::string currency;          // of their own prices

  bool feasible = true;
  std::string reason, nearest;  // why not, and what would fit
  bool may_not_fit = false;
  std::int64_t context_tokens = 0, kv_tokens = 0;  // of a conversation; of one replica's pool
  double resident = 0;                             // conversations that fit, one replica, exact

  metrics::Summary summary;
  Load load;
  std::string binds, trust;
  std::vector<Interval> intervals;  // 90 %
  std::string verdict;              // whether the load is one that it keeps up with
  bool saturated = false;
  std::string partial;             // why it was stopped before its end; empty = it was not
  std::vector<std::string> notes;  // what a reader of the numbers must know
  std::vector<metrics::Group> classes, tenants, by_replica;  // empty where there is one of it

  [[nodiscard]] std::optional<double> metric(const std::string& name) const;
  [[nodiscard]] int all_gpus() const { return gpus * replicas; }
};

/// Everything known of a point before it is simulated. Infeasible ones carry the reason. Throws
/// InputError when simulating it would exhaust the machine (resources.hpp).
/// `records` false: no record of each request will be kept.
/// `stops`: the run has limits at which it is stopped.
Point describe(const catalog::Scenario& scenario, const std::string& label, bool records = true,
               bool stops = false);

/// Sizes and simulates. `result` may be null. Throws RunError when the run fails; a point that does
/// not fit comes back with feasible == false.
Point evaluate(const catalog::Scenario& scenario, const std::string& label, bool leap,
               metrics::RunResult* result);
Point evaluate(const catalog::Scenario& scenario, const std::string& label,
               const cluster::RunOptions& options, metrics::RunResult* result);

/// Text that holds a whole point, for a pipe between processes and for JSON output.
std::string to_text(const Point& point);
Point from_text(const std::string& text);

}  // namespace servegrid::study
