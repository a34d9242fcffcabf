// A scenario: the question, and the only thing a run needs. Filled from scenarios/*.yaml or from
// flags.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalog/engine.hpp"
#include "catalog/gpu.hpp"
#include "catalog/model.hpp"
#include "catalog/price.hpp"
#include "catalog/speculation.hpp"

namespace servegrid::catalog {

/// A length in tokens, per request.
struct LengthSpec {
  enum class Kind { fixed, uniform, lognormal } kind = Kind::fixed;
  double mean = 0;           // fixed: the value; lognormal: mean [tokens]
  double low = 0, high = 0;  // uniform, inclusive
  double sigma = 0;          // lognormal: of the underlying normal
  std::int64_t limit = 0;    // cut-off, 0 = none
};

/// What arrives.
struct WorkloadSpec {
  enum class Kind { conversations, closed, open, trace } kind = Kind::closed;
  // conversations: N users; each has turns with growing history and think time between them
  std::int64_t concurrent = 0;  // closed loop: requests (or users) in flight
  LengthSpec prompt, output;    // closed/open: per request
  std::int64_t turns = 1;       // conversations: turns before a user starts a new conversation
  std::int64_t history =
      0;  // conversations: tokens already said when the user arrives (first turn prefills them)
  LengthSpec turn_input;  // conversations: new tokens a turn
  double think_time = 0;  // [s] mean; exponential when think_exponential
  bool think_exponential = false;
  std::int64_t shared_prefix = 0;  // system prompt shared by all [tokens], part of prompt/history
  double rate = 0;                 // open loop [requests/s], Poisson
  std::int64_t requests = 0;       // how many requests in all
  double warmup_fraction = 0;      // share of the first finished requests left out of the summary
  std::string trace;               // path of a CSV: arrival_s,prompt,output
};

struct SloSpec {
  std::optional<double> ttft, tpot, e2el;  // [s]
};

struct Parallelism {
  int tp = 1, pp = 1, ep = 1, dp = 1;  // dp: attention data parallelism inside the replica
  double expert_imbalance = 1;         // load of the busiest expert rank over the mean, under ep
  [[nodiscard]] int gpus() const { return tp * pp * dp; }
};

struct ClusterSpec;  // cluster.hpp

struct Scenario {
  std::string name;  // file stem or "command-line"
  std::string description;
  Model model;
  Format weights = Format::bf16;
  Gpu gpu;
  Parallelism parallel;
  int replicas = 1;
  std::string router = "least-outstanding";
  EngineProfile engine;
  Knobs knobs;  // resolved: defaults of the engine on the GPU + scenario overrides
  Speculation speculation;
  std::optional<std::int64_t> num_gpu_blocks;  // measured override of the KV pool, per replica
  std::optional<double> kv_bytes, reserve_bytes, weights_bytes;  // measured overrides, per GPU [B]
  WorkloadSpec workload;
  SloSpec slo;
  std::vector<std::string> prices;  // names of price sheets
  /// Pools, network, faults and operations; null when the scenario says nothing of them. With
  /// pools, the fields above are those of the first.
  std::shared_ptr<const ClusterSpec> cluster;
  std::uint64_t seed = 1;
  /// Axes of the sweep in the order written: dotted path -> values as text. Empty: a single run.
  std::vector<std::pair<std::string, std::vector<std::string>>> sweep;
  std::string file;
  std::string resolved_yaml;  // the whole scenario as it was understood, defaults included
};

}  // namespace servegrid::catalog
