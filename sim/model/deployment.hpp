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
  std::string engine = "vllm";  // kernels: "vllm", "sglang", "trtllm", "atom"
  std::string engine_version;
  std::vector<std::int64_t> graph_sizes;  // captured batch sizes in tokens, rising; empty: none
  bool graphs_hold_prefill = false;       // steps with prompts run in graphs too (vLLM's pieces)
};

/// The deployment of a scenario.
Deployment deployment_of(const catalog::Scenario& scenario);

/// Throws InputError when the combination cannot be built (TP that does not divide the heads, EP
/// that does not divide the experts, ...) and InfeasibleError when the engine or format is refused
/// on the GPU; both with the arithmetic.
void check(const Deployment& deployment);

}  // namespace servegrid::model
