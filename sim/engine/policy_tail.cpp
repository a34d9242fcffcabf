#include "engine/policy_tail.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace servegrid::engine {

TailPolicy::TailPolicy(const ReplicaConfig& config, bool spare)
    : pool_(config.pool),
      budget_(config.knobs.max_num_batched_tokens),
      max_sequences_(config.knobs.max_num_seqs),
      watermark_(static_cast<std::int64_t>(config.knobs.watermark *
                                           static_cast<double>(config.pool.num_blocks))),
      spare_(spare ? 1 : 0) {}

// The longest sequence it may have to hold alone: preempted just before its last token it is
// admitted again with all but that one, and the step before needs its spare block.
std::string TailPolicy::refusal(const workload::Request& r) const {
  const std::int64_t tokens = r.prompt_tokens + r.output_tokens - 1;
  std::int64_t blocks = ceil_div(tokens, pool_.block_tokens);
  if (r.output_tokens > 1) {
    blocks = std::max(blocks, ceil_div(tokens - 1, pool_.block_tokens) + spare_);
  }
  const std::int64_t needed = blocks + pool_.fixed_blocks + watermark_;
  if (needed <= pool_.num_blocks) return {};
  return fmt::format(
      "needs {} KV blocks ({} prompt + {} output - 1 = {} tokens in blocks of {}{}{}), the pool "
      "has "
      "{}",
      needed, r.prompt_tokens, r.output_tokens, tokens, pool_.block_tokens,
      pool_.fixed_blocks > 0 ? fmt::format(", {} of state", pool_.fixed_blocks) : "",
      watermark_ > 0 ? fmt::format(", a watermark of {}", watermark_) : "", pool_.num_blocks);
}

// In list order each sequence finds `spare` blocks free, and takes what it needs. The last one
// decides: those before it found at least as many.
bool TailPolicy::fits(const State& state) const {
  const std::int64_t need = state.decodes.blocks_needed(0, 1);
  if (need > state.pool.free()) return false;
  if (spare_ == 0 || state.decodes.size() == 0) return true;
  Slot last = state.newest;
  while (!state[last].decoding) last = state[last].previous;
  const std::int64_t computed = state.decodes.computed(state[last]);
  const std::int64_t own = state.blocks_for(computed + 1) - state.blocks_for(computed);
  return state.pool.free() - (need - own) >= spare_;
}

bool TailPolicy::append(State& state, Ticks now, Plan& plan) {
  bool preempted = false;
  while (!fits(state)) {
    const Slot victim = state.newest;
    left(state, victim);
    evict(state, victim, now, plan);
    preempted = true;
  }
  state.pool.allocate(state.decodes.blocks_needed(0, 1));
  return preempted;
}

void TailPolicy::evict(State& state, Slot victim, Ticks now, Plan& /*plan*/) {
  state.preempt(victim, true, now);
  state.enqueue_front(victim);
}

// May be too short by a step that just fits: the plan then finds nothing to change.
std::int64_t TailPolicy::horizon(const State& state) const {
  const std::int64_t free = state.pool.free() - spare_;
  return free < 0 ? 1 : 1 + state.decodes.steps_within(1, free);
}

}  // namespace servegrid::engine
