#include "engine/policy_mixed.hpp"

#include <algorithm>

namespace servegrid::engine {

MixedPolicy::MixedPolicy(const ReplicaConfig& config, std::int64_t token_budget,
                         std::int64_t max_sequences)
    : pool_(config.pool),
      budget_(token_budget),
      rows_(config.pace.rows),
      max_sequences_(std::min(max_sequences, token_budget / rows_)),
      long_threshold_(config.knobs.long_prefill_token_threshold),
      chunked_(config.knobs.enable_chunked_prefill),
      by_priority_(config.knobs.by_priority) {}

std::int64_t MixedPolicy::chunk_of(std::int64_t wanted, std::int64_t budget) const {
  if (long_threshold_ > 0) wanted = std::min(wanted, long_threshold_);
  if (!chunked_ && wanted > budget) return 0;
  return std::min(wanted, budget);
}

bool MixedPolicy::run_running(State& state, Ticks now, Plan& plan) {
  std::int64_t budget = budget_ - rows_ * state.decodes.size();
  chunk_blocks_ = 0;
  wanted_.clear();
  for (const Slot slot : state.partials) {
    const Sequence& s = state[slot];
    std::int64_t tokens = std::min(s.tokens() - s.computed, budget);
    if (long_threshold_ > 0) tokens = std::min(tokens, long_threshold_);
    if (tokens <= 0) break;
    budget -= tokens;
    wanted_.push_back({slot, tokens, state.chunk_blocks(s, tokens)});
    chunk_blocks_ += wanted_.back().blocks;
  }
  bool preempted = false;
  if (chunk_blocks_ + state.decodes.step_blocks() > state.pool.free()) {
    preempted = by_priority_ ? preempt_by_priority(state, now, plan) : preempt_tail(state, now);
  }
  state.pool.allocate(state.decodes.step_blocks());
  for (const Wanted& w : wanted_) state.schedule_chunk(w.slot, w.tokens, plan);
  return preempted;
}

// Running sequences take their blocks in list order and each failure preempts the tail of the list.
// The tail is popped only while what is left of the list does not fit, and stops at the first that
// does, so the outcome is the longest prefix of the list whose needs fit: no loop over the others.
bool MixedPolicy::preempt_tail(State& state, Ticks now) {
  bool preempted = false;
  while (chunk_blocks_ + state.decodes.step_blocks() > state.pool.free()) {
    const Slot victim = state.newest;
    if (!wanted_.empty() && wanted_.back().slot == victim) {
      chunk_blocks_ -= wanted_.back().blocks;
      wanted_.pop_back();
    }
    left(state, victim);
    state.preempt(victim, true, now);
    state.enqueue_front(victim);
    preempted = true;
  }
  return preempted;
}

void MixedPolicy::run_waiting(State& state, Ticks now, Plan& plan) {
  std::int64_t budget = budget_ - rows_ * state.decodes.size();
  for (const Chunk& c : plan.chunks) budget -= c.tokens;
  bool first = true;
  while (!state.waiting.empty() && state.running < max_sequences_ && budget > 0) {
    const Slot slot = state.waiting.front();
    const Sequence& s = state[slot];
    const PrefixCache::Match match = state.match(s);
    const std::int64_t tokens = chunk_of(s.tokens() - state.known(s, match), budget);
    if (tokens <= 0 || !fits(state, s, match, tokens, state.pool.free())) return;
    if (first && holds_back(state)) return;
    first = false;
    state.waiting.pop_front();
    state.admit(slot, match, now);
    joined(state, slot);
    state.schedule_chunk(slot, tokens, plan);
    budget -= tokens;
  }
}

void MixedPolicy::plan(State& state, Ticks now, Plan& plan) {
  bool preempted = run_running(state, now, plan);
  // A victim that was the first in the list leaves a step without work: the next one comes at once.
  while (preempted && plan.chunks.empty() && state.decodes.size() == 0) {
    state.release_held(plan);
    preempted = run_running(state, now, plan);
  }
  if (!preempted) run_waiting(state, now, plan);
  plan.decodes = state.decodes.size() > 0;
  if (!plan.chunks.empty()) {
    plan.steps = 1;
    return;
  }
  if (!plan.decodes) return;
  // The first step's blocks are taken: one step is always possible. After a preemption nobody was
  // admitted, but the next step may admit.
  plan.steps = 1;
  if (!preempted && state.partials.empty()) {
    plan.steps += state.decodes.steps_within(1, state.pool.free());
  }
}

std::int64_t MixedPolicy::may_admit(const State& state, Slot head, std::int64_t from) const {
  const std::int64_t budget = budget_ - rows_ * state.decodes.size();
  if (state.running >= max_sequences_ || budget <= 0) return no_step;
  if (may_fit_later()) return from;
  const Sequence& s = state[head];
  const PrefixCache::Match match = state.match(s);
  const std::int64_t tokens = chunk_of(s.tokens() - state.known(s, match), budget);
  if (tokens <= 0) return no_step;  // a shrinking hit only makes it longer
  // Running sequences come first, so what is free only shrinks while they decode.
  const std::int64_t free = state.free_at_plan() - state.decodes.blocks_needed(1, from);
  return fits(state, s, match, tokens, free) ? from : no_step;
}

}  // namespace servegrid::engine
