// What runs where: a model in a weights format on a replica of GPUs under an engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/scenario.hpp"

namespace servegrid::model {

struct Deployment {
  catalog::Model model;
  catalog::Format weights = catalog::Format::bf16;
  catalog::Format kv_cache = catalog::Format::bf16;
  catalog::Gpu gpu;
  catalog::Parallelism parallel;
  catalog::Speculation speculation;
  catalog::AllToAll all_to_all = catalog::AllToAll::automatic;
  std::int64_t step_tokens = 0;  // most prefill tokens of a micro-batch of PP; 0 = no limit
  std::string engine = "vllm";   // kernels: "vllm", "sglang", "trtllm", "atom"
  std::string engine_version;
  std::vector<std::int64_t> graph_sizes;  // captured batch sizes in tokens, rising; empty: none
  bool graphs_hold_prefill = false;       // steps with prompts run in graphs too (vLLM's pieces)
  std::string moe_backend = "auto";       // kernel of the experts
};

/// The deployment of a scenario.
Deployment deployment_of(const catalog::Scenario& scenario);

/// What drafts for a deployment that speculates, on the same ranks: the model of one draft pass
/// (its own layer of multi-token prediction, an EAGLE head or a draft model). Its speculation is
/// off.
Deployment draft_of(const Deployment& deployment);

/// Throws InputError when the combination cannot be built (TP that does not divide the heads, EP
/// that does not divide the experts, ...) and InfeasibleError when the engine or format is refused
/// on the GPU; both with the arithmetic.
void check(const Deployment& deployment);

}  // namespace servegrid::model
