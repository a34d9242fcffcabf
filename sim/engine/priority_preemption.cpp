// vLLM's preemption under scheduling_policy: priority (v1/core/sched/scheduler.py): the lowest
// priority goes, then the latest arrival, wherever it stands in the running list.
#include <algorithm>
#include <tuple>

#include "engine/policy_mixed.hpp"

namespace servegrid::engine {
namespace {

struct Turn {
  Slot slot;
  std::int64_t blocks;  // new ones for this step
  bool gone = false;
};

bool later(const State& state, Slot a, Slot b) {
  const Sequence& x = state[a];
  const Sequence& y = state[b];
  return std::tie(x.request.priority, x.submitted, x.request.id) >
         std::tie(y.request.priority, y.submitted, y.request.id);
}

}  // namespace

// The loop of the engine, turn by turn: only steps that preempt pay for it. A victim that had its
// turn gives its blocks back; one that is its own victim ends the loop, and those behind it in the
// list have no turn in this step.
bool MixedPolicy::preempt_by_priority(State& state, Ticks now, Plan& plan) {
  std::vector<Turn> turns;
  for (Slot slot = state.oldest; slot >= 0; slot = state[slot].next) {
    const Sequence& s = state[slot];
    if (s.decoding) {
      turns.push_back({slot, state.decodes.step_blocks(s)});
      continue;
    }
    const auto wants = std::find_if(wanted_.begin(), wanted_.end(),
                                    [slot](const Wanted& w) { return w.slot == slot; });
    turns.push_back({slot, wants == wanted_.end() ? 0 : wants->blocks});
  }
  std::int64_t taken = 0;  // by those that had their turn
  std::size_t i = 0;
  for (bool stopped = false; i < turns.size() && !stopped; ++i) {
    if (turns[i].gone) continue;
    while (taken + turns[i].blocks > state.pool.free()) {
      std::size_t worst = i;
      for (std::size_t j = 0; j < turns.size(); ++j) {
        if (!turns[j].gone && later(state, turns[j].slot, turns[worst].slot)) worst = j;
      }
      const Slot victim = turns[worst].slot;
      if (worst < i) taken -= turns[worst].blocks;
      turns[worst].gone = true;
      std::erase_if(wanted_, [victim](const Wanted& w) { return w.slot == victim; });
      left(state, victim);
      state.preempt(victim, true, now);
      state.enqueue_front(victim);
      stopped = worst == i;
      if (stopped) break;
    }
    if (!stopped) taken += turns[i].blocks;
  }
  for (; i < turns.size(); ++i) {
    if (turns[i].gone) continue;
    const Slot slot = turns[i].slot;
    if (state[slot].decoding) {
      state.hold_back(slot, plan);
    } else {
      std::erase_if(wanted_, [slot](const Wanted& w) { return w.slot == slot; });
    }
  }
  return true;
}

}  // namespace servegrid::engine
