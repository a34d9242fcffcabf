// Whole batches of prompts before any decode step: vLLM V0 (core/scheduler.py of 2024, the default
// scheduler) and ATOM (model_engine/scheduler.py of 2026). See docs/engines.md.
#include <fmt/format.h>

#include <algorithm>

#include "engine/policy_tail.hpp"
#include "units/error.hpp"

namespace servegrid::engine {
namespace {

class PrefillFirst : public TailPolicy {
 public:
  using TailPolicy::TailPolicy;

  void plan(State& state, Ticks now, Plan& plan) override {
    prefill(state, now, plan);
    plan.steps = 1;
    if (!plan.chunks.empty()) return;
    const bool preempted = append(state, now, plan);
    const bool resumed = !preempted && resume(state, plan);
    plan.decodes = state.decodes.size() > 0;
    if (!plan.decodes) {
      plan.steps = 0;
      return;
    }
    if (!preempted && !resumed) plan.steps = horizon(state);
  }

  // Prompts come before the decoding sequences, so a boundary sees what is free before its step.
  [[nodiscard]] std::int64_t may_admit(const State& state, Slot head,
                                       std::int64_t from) const override {
    if (!state.swapped.empty() || state.running >= max_sequences_) return no_step;
    const std::int64_t free = state.free_at_plan() - state.growth(1, from - 1);
    return demand(state, state[head]) - shared(state, state[head]) <= free ? from : no_step;
  }

 protected:
  virtual void prefill(State& state, Ticks now, Plan& plan) = 0;
  /// Swapped sequences that come back; whether there were any.
  virtual bool resume(State& /*state*/, Plan& /*plan*/) { return false; }
  /// Blocks of its prompt that a running sequence holds anyway, if the engine counts them.
  [[nodiscard]] virtual std::int64_t shared(const State& /*state*/, const Sequence& /*s*/) const {
    return 0;
  }
};

class VllmV0 final : public PrefillFirst {
 public:
  explicit VllmV0(const ReplicaConfig& config)
      : PrefillFirst(config, true),
        swap_(config.knobs.swap_preempted),
        host_blocks_(config.swap.host_blocks) {}

  [[nodiscard]] std::string refusal(const workload::Request& r) const override {
    const std::int64_t tokens = r.prompt_tokens + (swap_ ? 0 : r.output_tokens - 1);
    if (tokens > budget_) {
      return fmt::format("may need {} tokens in one step, max_num_batched_tokens is {}", tokens,
                         budget_);
    }
    return TailPolicy::refusal(r);
  }

 protected:
  void prefill(State& state, Ticks now, Plan& plan) override {
    std::int64_t budget = budget_;
    while (state.swapped.empty() && !state.waiting.empty() && state.running < max_sequences_) {
      const Slot slot = state.waiting.front();
      const Sequence& s = state[slot];
      // Its tokens count whole, whatever the cache holds of them.
      if (demand(state, s) > state.pool.free() || s.tokens() > budget) return;
      budget -= s.tokens();
      state.waiting.pop_front();
      state.admit(slot, state.match(s), now);
      state.schedule_chunk(slot, state[slot].tokens() - state[slot].computed, plan);
    }
  }

  void evict(State& state, Slot victim, Ticks now, Plan& plan) override {
    if (!swap_) return TailPolicy::evict(state, victim, now, plan);
    if (state.host_blocks + state.held(state[victim]) > host_blocks_) {
      throw InputError(fmt::format(
          "swap_space is full: {} of {} blocks are in host memory and request {} has {} more. The "
          "engine aborts here: raise swap_space, or use preemption_mode recompute",
          state.host_blocks, host_blocks_, state[victim].request.id, state.held(state[victim])));
    }
    plan.swapped += state.swap_out(victim, now);
    state.swapped.push_front(victim);  // the tail of the list goes first: by arrival
  }

  bool resume(State& state, Plan& plan) override {
    bool any = false;
    while (!state.swapped.empty() && state.running < max_sequences_) {
      const Slot slot = state.swapped.front();
      const std::int64_t blocks = state[slot].blocks + pool_.fixed_blocks;
      if (blocks + 1 + watermark_ > state.pool.free()) break;
      state.swapped.pop_front();
      plan.swapped += state.swap_in(slot);
      const std::int64_t computed = state.decodes.computed(state[slot]);
      state.pool.allocate(state.blocks_for(computed + 1) - state.blocks_for(computed));
      any = true;
    }
    return any;
  }

 private:
  const bool swap_;
  const std::int64_t host_blocks_;
};

class Atom final : public PrefillFirst {
 public:
  explicit Atom(const ReplicaConfig& config)
      : PrefillFirst(config, false),
        chunked_(config.knobs.enable_chunked_prefill),
        threshold_(config.knobs.long_prefill_token_threshold) {}

  [[nodiscard]] std::string refusal(const workload::Request& r) const override {
    const std::int64_t tokens = r.prompt_tokens + r.output_tokens - 1;
    if (!chunked_ && tokens > budget_) {
      return fmt::format(
          "may need {} tokens in one step, without chunked prefill max_num_batched_tokens is {}",
          tokens, budget_);
    }
    return TailPolicy::refusal(r);
  }

 protected:
  void prefill(State& state, Ticks now, Plan& plan) override {
    std::int64_t budget = budget_;
    resume_partials(state, plan, budget);
    while (!state.waiting.empty() && state.running < max_sequences_ && budget > 0) {
      const Slot slot = state.waiting.front();
      const PrefixCache::Match match = state.match(state[slot]);
      if (demand(state, state[slot]) - match.active > state.pool.free()) return;
      const std::int64_t left = state[slot].tokens() - match.blocks() * pool_.block_tokens;
      const std::int64_t tokens = chunk_of(left, budget);
      if (tokens <= 0) return;
      budget -= tokens;
      state.waiting.pop_front();
      state.admit(slot, match, now);
      state.reserve(slot, state.blocks_for(state[slot].tokens()));
      state.schedule_chunk(slot, tokens, plan);
    }
  }

  [[nodiscard]] std::int64_t shared(const State& state, const Sequence& s) const override {
    return state.match(s).active;
  }

 private:
  [[nodiscard]] std::int64_t threshold(std::int64_t tokens) const {
    return threshold_ > 0 ? std::min(tokens, threshold_) : tokens;
  }

  // A chunk that ends inside the prompt is cut to whole blocks, at least 64 tokens, if it has any.
  [[nodiscard]] std::int64_t chunk_of(std::int64_t left, std::int64_t budget) const {
    if (!chunked_) return left <= budget ? left : 0;
    const std::int64_t wanted = threshold(left);
    if (wanted <= budget) return wanted;
    const std::int64_t align = std::max<std::int64_t>(pool_.block_tokens, 64);
    return budget >= align ? budget / align * align : budget;
  }

  void resume_partials(State& state, Plan& plan, std::int64_t& budget) const {
    const std::vector<Slot> partials = state.partials;
    for (const Slot slot : partials) {
      const Sequence& s = state[slot];
      const std::int64_t tokens = std::min(threshold(s.tokens() - s.computed), budget);
      if (tokens <= 0) return;
      budget -= tokens;
      state.schedule_chunk(slot, tokens, plan);
    }
  }

  const bool chunked_;
  const std::int64_t threshold_;
};

}  // namespace

std::unique_ptr<Policy> make_vllm_v0(const ReplicaConfig& config) {
  return std::make_unique<VllmV0>(config);
}

std::unique_ptr<Policy> make_atom(const ReplicaConfig& config) {
  return std::make_unique<Atom>(config);
}

}  // namespace servegrid::engine
