// vLLM V1 (v1/core/sched/scheduler.py, v1/core/kv_cache_manager.py): see docs/engines.md.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/policy_mixed.hpp"

namespace servegrid::engine {
namespace {

class VllmPolicy final : public MixedPolicy {
 public:
  VllmPolicy(const ReplicaConfig& config, std::int64_t budget)
      : MixedPolicy(config, budget, config.knobs.max_num_seqs),
        overshoot_(config.pace.overshoot()),
        capacity_(std::max<std::int64_t>(0, config.pool.num_blocks - 1)),
        watermark_(static_cast<std::int64_t>(config.knobs.watermark *
                                             static_cast<double>(config.pool.num_blocks))),
        full_isl_(config.knobs.reserve_full_isl),
        caching_(config.knobs.enable_prefix_caching) {}

  [[nodiscard]] std::string refusal(const workload::Request& r) const override {
    const std::int64_t tokens = r.prompt_tokens + r.output_tokens - 1;
    if (!chunked_ && tokens > budget_) {
      return fmt::format(
          "may need {} tokens in one step ({} prompt + {} output - 1), without chunked prefill "
          "max_num_batched_tokens is {}",
          tokens, r.prompt_tokens, r.output_tokens, budget_);
    }
    const std::int64_t blocks =
        ceil_div(tokens + overshoot_, pool_.block_tokens) + pool_.fixed_blocks;
    if (blocks <= capacity_) return {};
    return fmt::format(
        "needs {} KV blocks ({} prompt + {} output - 1 = {} tokens in blocks of {}{}), the pool "
        "has {} ({} less one null block)",
        blocks, r.prompt_tokens, r.output_tokens, tokens, pool_.block_tokens, beside_tokens(),
        capacity_, pool_.num_blocks);
  }

 protected:
  [[nodiscard]] bool fits(const State& state, const Sequence& s, const PrefixCache::Match& match,
                          std::int64_t chunk, std::int64_t free) const override {
    const std::int64_t tokens = full_isl_ ? s.tokens() : state.known(s, match) + chunk;
    const std::int64_t blocks = state.blocks_for(tokens) + pool_.fixed_blocks - match.active;
    return blocks + (state.running > 0 ? watermark_ : 0) <= free;
  }
  // Without the full-sequence gate the need depends on the hit, which evictions shorten.
  [[nodiscard]] bool may_fit_later() const override { return !full_isl_ && caching_; }

 private:
  [[nodiscard]] std::string beside_tokens() const {
    std::string out;
    if (overshoot_ > 0) out += fmt::format(", {} tokens of drafts", overshoot_);
    if (pool_.fixed_blocks > 0) out += fmt::format(", and {} of state", pool_.fixed_blocks);
    return out;
  }

  std::int64_t overshoot_, capacity_, watermark_;
  bool full_isl_, caching_;
};

}  // namespace

std::unique_ptr<Policy> make_vllm(const ReplicaConfig& config) {
  const catalog::Knobs& k = config.knobs;
  std::int64_t budget = k.max_num_batched_tokens;
  // Without chunking vLLM raises the budget to the context limit (engine/arg_utils.py).
  if (!k.enable_chunked_prefill) budget = std::max(budget, k.max_model_len);
  return std::make_unique<VllmPolicy>(config, budget);
}

}  // namespace servegrid::engine
