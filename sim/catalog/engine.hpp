// A serving engine at a version: its policy, its real defaults by their real names, its memory
// accounting and its host costs. Filled from engines/*.yaml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/format.hpp"
#include "catalog/gpu.hpp"

namespace servegrid::catalog {

enum class Policy { vllm_v1, sglang, trtllm, vllm_v0, sarathi, orca, static_batch, atom };

/// The names of the policies in the profiles, in the order of the enumeration.
const std::vector<std::string>& policy_names();

/// Host and serving costs per step (see docs/step-model.md); one row per (GPU, engine), fitted or
/// default.
struct ServingCosts {
  // The middle of the fitted rows (docs/step-model.md).
  double alpha = 0.9;                 // share of the kernels' own floors paid in a step
  double group_per_layer = 3e-6;      // a_N: [s] per layer and log2(GPUs)
  double per_step = 670e-6;           // h0 [s]
  double per_sequence = 4e-6;         // hs [s]
  double prefill_per_layer = 110e-6;  // tlp [s]
  double prefill_factor = 1.07;       // pf
  double first_token = 15e-3;         // TTFT0 [s]
  double routing_skew = 0.48;      // s: shape of the experts' popularity, small = few are popular
  double first_token_steps = 2.1;  // R: steps added to TTFT
  // Half-width of the 90 % interval, relative (0.2: within 20 %), from runs left out of the fit;
  // unfitted ones are wide.
  double tpot_band = 0.5, ttft_band = 1.0;
  double ttft_queued_band = 2.0;   // of runs that queue for KV memory
  std::string origin = "default";  // "fitted", "default", "inherited from ..."
};

/// Memory accounting of the engine at this version (docs/memory.md).
struct MemoryRule {
  std::string kind;                     // "vllm", "sglang", "trtllm"
  double sampler_bytes_per_logit = 38;  // s
  bool graphs_charged = false;
  double context_charged = 0;                  // [B] CUDA context charged again (V1 0.7-0.9)
  double nontorch_per_gpu = 0;                 // override of the table [B]; 0 = table
  std::string printed_tokens = "concurrency";  // or "blocks": how "GPU KV cache size" is printed
};

/// How tokens reach their experts and come back, under ep or attention data parallelism.
enum class AllToAll { automatic, gather, deepep_normal, deepep_low_latency };
/// Which rank of attention data parallelism takes a new request.
enum class RankBalance { least_loaded, round_robin, fewest_requests, fewest_tokens };

/// The knobs, resolved for one GPU. Names are the engine's own.
struct Knobs {
  std::int64_t max_num_seqs = 1024;  // SGLang: max_running_requests; TensorRT-LLM: max_batch_size
  std::int64_t max_num_batched_tokens =
      8192;  // SGLang: chunked_prefill_size; TensorRT-LLM: max_num_tokens
  double memory_fraction =
      0.92;  // gpu_memory_utilization / mem_fraction_static / free_gpu_memory_fraction
  std::int64_t block_size = 16;  // block_size / page_size / tokens_per_block
  bool enable_prefix_caching = true;
  bool enable_chunked_prefill = true;
  std::int64_t long_prefill_token_threshold = 0;
  bool reserve_full_isl = true;  // scheduler_reserve_full_isl
  double watermark = 0.0;
  std::int64_t max_model_len = 0;  // 0 = the model's
  Format kv_cache = Format::bf16;
  bool async_scheduling = true;
  std::int64_t max_prefill_tokens = 16384;  // SGLang
  double schedule_conservativeness = 1.0;   // SGLang
  bool guaranteed_no_evict = true;          // TensorRT-LLM GUARANTEED_NO_EVICT
  bool by_priority = false;             // vLLM scheduling_policy; SGLang enable_priority_scheduling
  bool longest_prefix = false;          // SGLang schedule_policy: lpm
  bool swap_preempted = false;          // vLLM V0 preemption_mode: swap
  double swap_space = 4.0 * (1 << 30);  // vLLM V0 [B of host memory a GPU]
  std::int64_t stream_interval = 1;
  AllToAll all_to_all = AllToAll::automatic;  // all2all_backend; moe_a2a_backend and deepep_mode
  RankBalance rank_balance = RankBalance::least_loaded;  // SGLang: load_balance_method
  std::int64_t scheduler_recv_interval = 1;              // SGLang: steps between looks at arrivals
  // TensorRT-LLM: prompts wait so many steps for more of them, up to this share of max_num_tokens.
  std::int64_t batch_wait_timeout_iters = 0;
  double batch_wait_max_tokens_ratio = 0;
  std::string moe_backend = "auto";       // kernel of the experts; auto = the one measured most
  std::vector<std::int64_t> graph_sizes;  // CUDA-graph batch sizes; empty = none
};

struct EngineProfile {
  std::string name;    // "vllm-0.24"
  std::string engine;  // "vllm", "sglang", "trtllm", "atom"
  std::string version;
  std::string date;  // release
  std::vector<std::string> aliases;
  Policy policy = Policy::vllm_v1;
  MemoryRule memory;
  std::vector<Fact> facts;
  std::string file;

  /// Defaults by GPU memory, before a scenario's own knobs: (condition on engine bytes, knobs) in
  /// order of preference.
  struct SizeClass {
    double memory_at_least = 0;       // [B] engine-visible
    std::vector<std::string> except;  // GPU names that fall through
    Knobs knobs;
  };
  std::vector<SizeClass> size_classes;  // sorted, largest first; the last has memory_at_least 0

  /// Defaults on that GPU.
  [[nodiscard]] Knobs defaults_on(const Gpu& gpu) const;
};

}  // namespace servegrid::catalog
