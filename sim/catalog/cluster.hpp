// What surrounds the replicas: pools of different ones, the network between them, the transfers,
// faults and operations. Filled from the scenario's pools, router, transfer, network, faults and
// operations sections (docs/cluster.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalog/scenario.hpp"

namespace servegrid::catalog {

/// What a pool does: whole requests, or one half of them.
enum class PoolRole { serve, prefill, decode };

/// Equal replicas.
struct PoolSpec {
  std::string name;
  PoolRole role = PoolRole::serve;
  Model model;
  Format weights = Format::bf16;
  Gpu gpu;
  Parallelism parallel;
  int replicas = 1;
  EngineProfile engine;
  Knobs knobs;
  std::optional<std::int64_t> num_gpu_blocks;
  std::optional<double> kv_bytes, reserve_bytes, weights_bytes;
  std::vector<CacheTierSpec> cache_tiers;
  double price = 0;      // of one GPU a month, if not a sheet's
  std::string currency;  // of that
};

/// Parameters of routers; each is used by the one named.
struct RouterSpec {
  double staleness = 0;         // prefix-aware: age [s] that knowledge of a cache may have
  double match_threshold = .3;  // prefix-aware: share of the prompt that must be found to follow it
  std::int64_t balance_absolute = 64;  // prefix-aware: imbalance of outstanding requests beyond
  double balance_relative = 1.5;       // which (both) the load decides instead
  double stats_interval = 0.1;         // vllm-dp: [s] between reports of queue and KV use
  std::string decode = "least-kv";     // picks the decode replica of a disaggregated request
};

/// KV cache from a prefill to a decode replica.
struct TransferSpec {
  bool layer_wise = false;  // layers leave as they are computed; else all after the prefill
  double latency = 0;       // [s] of setting one up, beside the links' own
};

/// A fabric of one's own: nodes "gpu-0", "gpu-1", ... and others, joined by links.
struct FabricSpec {
  struct Link {
    std::string from, to;
    double bandwidth = 0;  // [B/s] each way
    double latency = 0;    // [s]
    bool one_way = false;
  };
  std::string name, file;
  std::vector<Link> links;
  int gpus = 0;
};

/// The network between servers.
struct NetworkSpec {
  int servers_per_leaf = 0;          // 0: one leaf for all
  double oversubscription = 1;       // downlinks over uplinks of a leaf
  double latency = 5e-6;             // [s] of a transfer between servers
  std::optional<FabricSpec> fabric;  // in place of the generated platform
};

struct FaultSpec {
  enum class Target { replica, gpu, server };
  struct Event {
    double at = 0;  // [s]
    Target target = Target::replica;
    int index = 0;
    double duration = 0;  // [s]; 0: for good
    double slowdown = 0;  // > 1: a straggler; 0: lost
  };
  std::vector<Event> events;
  double mttf = 0;              // [s] of one GPU, exponential; 0: none are drawn
  double mttr = 0;              // [s] exponential
  int attempts = 1;             // a request is started so often at most; then it has failed
  double retry_delay = 0;       // [s]
  std::optional<double> until;  // [s] no faults are drawn after; for the end of long tails
};

struct AutoscaleSpec {
  std::string pool;
  int low_replicas = 1, high_replicas = 1;
  bool by_kv = false;           // signal: share of the KV pools in use; else requests waiting
  double above = 0, below = 0;  // mean over the ready replicas of the pool
  double interval = 15;         // [s] between looks
  double delay = 0;             // [s] from the decision to the start of loading (provisioning)
  double cooldown = 0;          // [s] after a change
};

struct OperationsSpec {
  double load_bandwidth = 0;  // [B/s] of weights into one GPU; 0: takes no time
  double warm_up = 0;         // [s] after loading (compilation, graph capture)
  bool cold_start = false;    // replicas load at time 0 too
  struct RollingRestart {
    double at = 0;     // [s]
    double drain = 0;  // [s] given to running requests, then they are lost (and retried)
  };
  std::optional<RollingRestart> rolling_restart;
  std::vector<AutoscaleSpec> autoscale;
};

struct ClusterSpec {
  std::vector<PoolSpec> pools;                         // empty: the scenario's own replicas
  std::vector<std::pair<std::string, double>> models;  // share of the requests; empty: one model
  RouterSpec router;
  TransferSpec transfer;
  NetworkSpec network;
  FaultSpec faults;
  OperationsSpec operations;
};

/// The cluster of a scenario; one without any of it when there is none.
const ClusterSpec& cluster_of(const Scenario& scenario);

/// The scenario as one of its pools alone sees it: model, GPU, engine and sizes are the pool's.
Scenario scenario_of_pool(const Scenario& scenario, const PoolSpec& pool);

/// The pools; the scenario's own replicas as one named "replicas" when it lists none.
std::vector<PoolSpec> pools_of(const Scenario& scenario);

}  // namespace servegrid::catalog
