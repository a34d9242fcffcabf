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

struct SloSpec {
  std::optional<double> ttft, tpot, e2el;  // [s]
};

/// A length in tokens, per request. `mean` is the mean of every kind, before the limit.
struct LengthSpec {
  enum class Kind { fixed, uniform, lognormal, normal, zipf, empirical } kind = Kind::fixed;
  double mean = 0;           // fixed: the value [tokens]
  double low = 0, high = 0;  // uniform, zipf; inclusive
  double sigma = 0;          // lognormal: of the underlying normal; normal: [tokens]
  double exponent = 0;       // zipf: P(low + k - 1) ~ k^-exponent
  std::int64_t limit = 0;    // cut-off, 0 = none
  struct Bin {
    double low, high, weight;  // every whole number in [low, high] alike
  };
  std::vector<Bin> bins;     // empirical
  std::string file, column;  // empirical: the CSV that the bins come from, one sample a row
};

/// What a request asks for.
struct RequestSpec {
  LengthSpec prompt, output;
  double correlation = 0;  // of the normals behind prompt and output
  /// Measured (prompt, output) pairs that are drawn together, in place of the two lengths.
  std::shared_ptr<const std::vector<std::pair<std::int64_t, std::int64_t>>> pairs;
  std::string pairs_file, pairs_prompt, pairs_output;  // the CSV they come from, its columns
  // conversations: tokens already said when the user arrives (the first turn prefills them), new
  // tokens a turn, turns before a user starts a new conversation
  std::int64_t history = 0;
  LengthSpec turn_input;
  std::int64_t turns = 1;
  std::int64_t shared_prefix = 0;  // system prompt shared by all [tokens], part of prompt/history
};

/// A class of requests in a mix.
struct ClassSpec : RequestSpec {
  std::string name, tenant;
  double share = 1;    // of the requests (of the conversations), relative to the others'
  int priority = 0;    // lower is served first, where the engine schedules by priority
  double timeout = 0;  // [s] after its arrival the request fails; 0 = never
  // Clients who go away by themselves: that share of them, so long [s] after the arrival.
  double cancel_share = 0, cancel_after = 0;
  bool cancel_exponential = false;  // cancel_after is a mean
  SloSpec slo;                      // in place of the scenario's
};

/// When the requests of an open loop arrive.
struct ArrivalSpec {
  enum class Process { poisson, gamma, constant } process = Process::poisson;
  double burstiness = 1;  // gamma: its shape, as --burstiness of vllm bench serve; 1 is Poisson
  // The rate over time, relative to the workload's `rate`. At most one of on/off, curve and ramp.
  double on = 0, off = 0, off_rate = 0;  // [s], [s], [1/s]: `rate` while on; on = 0: always
  std::vector<double> curve;             // relative rates of equal parts of `period`
  double period = 86400;                 // [s]
  enum class Ramp { none, linear, exponential } ramp = Ramp::none;
  double ramp_from = 0, ramp_to = 0;  // [1/s] by share of the requests issued, as vllm bench serve
  struct Spike {
    double at, duration, factor;  // [s], [s], times the rate
  };
  std::vector<Spike> spikes;
};

/// A recorded trace: what of it is replayed, and how its file is read.
struct TraceSpec {
  std::string file, format = "auto";
  std::string arrival, prompt, output;  // csv: columns; empty: the usual names
  double time_unit = 1;                 // csv: of `arrival` [s]
  double speed = 1;                     // 2: twice as fast as recorded
  double from = 0, to = 0;              // [s] of the trace, from its first row on; to = 0: its end
  std::int64_t max_tokens = 0;          // longer requests are left out (and counted); 0 = none
  bool operator==(const TraceSpec&) const = default;
};

/// What arrives.
struct WorkloadSpec : RequestSpec {
  enum class Kind { conversations, closed, open, trace, batch } kind = Kind::closed;
  // conversations: N users; each has turns with growing history and think time between them
  std::int64_t concurrent = 0;     // closed loop: requests (or users) in flight
  std::vector<ClassSpec> classes;  // empty: all requests are as this spec says
  double think_time = 0;           // [s] mean; exponential when think_exponential
  bool think_exponential = false;
  double ramp_up = 0;  // [s] closed: users start one after the other over this time
  double rate = 0;     // open loop [requests/s], mean; closed: at most so many, 0 = as they come
  ArrivalSpec arrivals;
  std::int64_t requests = 0;   // how many requests in all
  double warmup_fraction = 0;  // share of the first finished requests left out of the summary
  double warmup_time = 0;      // [s] requests that arrive before are left out
  bool warmup_auto = false;    // the cut is found in the run (MSER-5)
  double duration = 0;         // [s] the run stops then, whatever is in flight; 0 = at the end
  double precision = 0;  // the run stops when the mean TTFT and TPOT are known so well; 0 = not
  TraceSpec trace;
};

struct Parallelism {
  int tp = 1, pp = 1, ep = 1, dp = 1;  // dp: attention data parallelism inside the replica
  double expert_imbalance = 1;         // load of the busiest expert rank over the mean, under ep
  [[nodiscard]] int gpus() const { return tp * pp * dp; }
};

struct ClusterSpec;  // cluster.hpp

/// Memory behind the KV pool that keeps blocks of ended sequences. Per GPU.
struct CacheTierSpec {
  double bytes = 0, bandwidth = 0;  // [B], [B/s] of loading
};

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
  std::vector<CacheTierSpec> cache_tiers;                        // host memory, then a disk
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
