// Sarathi-Serve (microsoft/sarathi-serve, core/scheduler/sarathi_scheduler.py): decoding sequences,
// then chunks of prompts, in one batch of at most chunk_size tokens. See docs/engines.md.
#include <algorithm>

#include "engine/policy_tail.hpp"

namespace servegrid::engine {
namespace {

class Sarathi final : public TailPolicy {
 public:
  explicit Sarathi(const ReplicaConfig& config) : TailPolicy(config, true) {}

  void plan(State& state, Ticks now, Plan& plan) override {
    const bool preempted = append(state, now, plan);
    std::int64_t budget = budget_ - state.decodes.size();
    for (const Slot slot : state.partials) {
      const Sequence& s = state[slot];
      const std::int64_t tokens = std::min(s.tokens() - s.computed, budget);
      if (tokens <= 0) break;
      budget -= tokens;
      state.schedule_chunk(slot, tokens, plan);
    }
    admit(state, now, plan, budget);
    plan.decodes = state.decodes.size() > 0;
    plan.steps = plan.decodes || !plan.chunks.empty() ? 1 : 0;
    if (plan.chunks.empty() && plan.decodes && !preempted && state.partials.empty()) {
      plan.steps = horizon(state);
    }
  }

  [[nodiscard]] std::int64_t may_admit(const State& state, Slot head,
                                       std::int64_t from) const override {
    if (state.running >= max_sequences_ || state.decodes.size() >= budget_) return no_step;
    const std::int64_t free = state.free_at_plan() - state.growth(1, from);
    return demand(state, state[head]) <= free ? from : no_step;
  }

 private:
  // A prompt takes all of its blocks at admission. Preemption does not end the step's admissions.
  void admit(State& state, Ticks now, Plan& plan, std::int64_t budget) const {
    while (!state.waiting.empty() && state.running < max_sequences_ && budget > 0) {
      const Slot slot = state.waiting.front();
      if (demand(state, state[slot]) > state.pool.free()) return;
      state.waiting.pop_front();
      state.admit(slot, {}, now);
      state.reserve(slot, state.blocks_for(state[slot].tokens()));
      const std::int64_t tokens = std::min(state[slot].tokens(), budget);
      budget -= tokens;
      state.schedule_chunk(slot, tokens, plan);
    }
  }
};

}  // namespace

std::unique_ptr<Policy> make_sarathi(const ReplicaConfig& config) {
  return std::make_unique<Sarathi>(config);
}

}  // namespace servegrid::engine
