// For who already runs a cluster: what to change on the same GPUs, by how much it helps and why.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "plan/capacity.hpp"

namespace servegrid::plan {

/// Reads the scenario with overrides laid over it.
using ScenarioReader = std::function<catalog::Scenario(const catalog::Overrides&)>;

/// An observed metric beside the simulated one. `inside`: within the model's 90 % band.
struct Reproduced {
  std::string metric;
  double observed = 0, simulated = 0;
  bool inside = false;
};

/// One change (or several together) and what it does.
struct Trial {
  std::string what;  // "max_num_batched_tokens 16384 -> 8192"
  catalog::Overrides set;
  std::string reason;          // why it cannot be; empty = it was simulated
  double capacity = 0;         // largest load within the objectives
  double goodput = 0;          // requests/s that meet them, at the scenario's own load
  Measured at;                 // at that load
  std::int64_t kv_tokens = 0;  // pool of one replica
  std::string cause;           // what moved, against the set-up it was tried on
  int round = 0;               // 0: the set-up as it is
};

struct TuneOptions {
  int jobs = 0;
  std::int64_t requests = 600;
  double tolerance = 0.03;
  double least_gain = 0.02;  // relative; smaller ones end the search
  int rounds = 3;
  std::function<void(const std::string&, std::size_t, std::size_t)> progress;
};

struct TuneResult {
  std::vector<Reproduced> reproduced;
  bool outside = false;  // an observed metric lies outside the band
  Trial base;
  std::vector<Trial> trials;  // of all rounds, best first within each
  catalog::Overrides best;    // of all rounds together
  Trial best_trial;
  std::vector<std::string> flag_diff;  // "- old", "+ new" lines of the launch command
};

/// Searches knobs, layout, router, prefix caching and KV format on the same number of GPUs, one
/// change at a time on the best so far, by the load sustained within the objectives, then by the
/// goodput at the scenario's load. `observed`: metrics in the names of `vllm bench serve`.
TuneResult tune(const ScenarioReader& read, const Objectives& objectives,
                const std::vector<std::pair<std::string, double>>& observed,
                const TuneOptions& options);

}  // namespace servegrid::plan
