// TensorRT-LLM's capacity schedulers (batch_manager/capacityScheduler.cpp): see docs/engines.md.
#include <fmt/format.h>

#include <algorithm>

#include "engine/policy_mixed.hpp"

namespace servegrid::engine {
namespace {

class TrtllmPolicy final : public MixedPolicy {
 public:
  explicit TrtllmPolicy(const ReplicaConfig& config)
      : MixedPolicy(config, config.knobs.max_num_batched_tokens, config.knobs.max_num_seqs),
        no_evict_(config.knobs.guaranteed_no_evict),
        overshoot_(config.pace.overshoot()),
        wait_steps_(config.knobs.batch_wait_timeout_iters),
        wait_tokens_(static_cast<std::int64_t>(config.knobs.batch_wait_max_tokens_ratio *
                                               static_cast<double>(budget_))) {}

  [[nodiscard]] std::string refusal(const workload::Request& r) const override {
    // A paused sequence computes what it has generated again.
    const std::int64_t longest = r.prompt_tokens + (no_evict_ ? 0 : r.output_tokens - 1);
    if (!chunked_ && longest > budget_) {
      return fmt::format(
          "may need {} tokens in one step, without chunked prefill max_num_tokens is "
          "{}",
          longest, budget_);
    }
    const std::int64_t blocks = to_completion(r);
    if (blocks <= pool_.num_blocks) return {};
    return fmt::format(
        "needs {} KV blocks to completion ({} prompt + {} output tokens in blocks of {}{}), the "
        "pool has {}",
        blocks, r.prompt_tokens, r.output_cap(), pool_.block_tokens,
        pool_.fixed_blocks > 0 ? fmt::format(", and {} of state", pool_.fixed_blocks) : "",
        pool_.num_blocks);
  }

  void joined(const State& state, Slot slot) override {
    committed_ += to_completion(state[slot].request);
  }
  void left(const State& state, Slot slot) override {
    committed_ -= to_completion(state[slot].request);
  }
  void kept(const State& state, Slot slot) override { committed_ += state[slot].blocks; }
  void given_back(const State& state, Slot slot) override { committed_ -= state[slot].blocks; }

 protected:
  // Prompts wait for more of them, for at most so many steps and only while others decode
  // (batch_wait_timeout_iters, batch_wait_max_tokens_ratio in _torch/pyexecutor/py_executor.py).
  [[nodiscard]] bool holds_back(const State& state) override {
    if (wait_steps_ == 0 || state.decodes.size() == 0) return false;
    std::int64_t tokens = state.decodes.size();
    for (auto slot = state.waiting.begin(); slot != state.waiting.end() && tokens < wait_tokens_;
         ++slot) {
      tokens += state[*slot].tokens();
    }
    if (waited_ < wait_steps_ && tokens < wait_tokens_) {
      ++waited_;
      return true;
    }
    waited_ = 0;
    return false;
  }

  // GUARANTEED_NO_EVICT admits only what can run to its end beside what is running: no sequence is
  // ever paused. Blocks found in the cache and held by another are counted for both, as there.
  // MAX_UTILIZATION admits what fits now and pauses the last started when it no longer does.
  [[nodiscard]] bool fits(const State& state, const Sequence& s, const PrefixCache::Match& match,
                          std::int64_t /*chunk*/, std::int64_t free) const override {
    if (no_evict_) return committed_ + to_completion(s.request) <= pool_.num_blocks;
    return state.blocks_for(s.tokens()) + pool_.fixed_blocks - match.active <= free;
  }

 private:
  [[nodiscard]] std::int64_t to_completion(const workload::Request& r) const {
    const std::int64_t tokens = r.prompt_tokens + r.output_cap() + overshoot_;
    return ceil_div(tokens, pool_.block_tokens) + pool_.fixed_blocks;
  }
  const bool no_evict_;
  const std::int64_t overshoot_;  // of drafts
  const std::int64_t wait_steps_, wait_tokens_;
  std::int64_t committed_ = 0, waited_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_trtllm(const ReplicaConfig& config) {
  return std::make_unique<TrtllmPolicy>(config);
}

}  // namespace servegrid::engine
