// What is told of a replica: epochs joined while nothing changed, observations, counters.
#include <algorithm>

#include "engine/replica_impl.hpp"

namespace servegrid::engine {

metrics::Epoch Replica::Impl::planned() const {
  metrics::Epoch e;
  e.replica = config_.index;
  e.start = clock_.now.start;
  e.first_step = clock_.now.first;
  e.step_growth = clock_.now.growth;
  for (const auto& rank : ranks_) {
    const State& state = rank->state;
    const Plan& plan = rank->planned();
    for (const Chunk& c : plan.chunks) {
      e.prefill_tokens += c.tokens;
      e.prefill_context += c.cached;
    }
    if (plan.decodes) {
      e.sequences += state.decodes.size();
      e.context_tokens += state.decodes.context()[0];
    }
    e.waiting += state.in_queue();
    e.running += state.running;
    e.blocks_used += state.pool.used();
  }
  return e;
}

void Replica::Impl::record() {
  const metrics::Epoch e = planned();
  peak_running_ = std::max(peak_running_, e.running);
  peak_waiting_ = std::max(peak_waiting_, e.waiting);
  if (open_ && e.prefill_tokens == 0 && record_.prefill_tokens == 0 &&
      record_.sequences == e.sequences && record_.running == e.running &&
      record_.step_growth == e.step_growth &&
      record_.first_step + record_.steps * record_.step_growth == e.first_step) {
    return;
  }
  close_record();
  open_ = true;
  record_ = e;
  at_start_ = {e.running, 0, e.blocks_used, 0};
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const State& state = ranks_[i]->state;
    record_counters_[i] = state.decodes.counter();
    at_start_.context_tokens += state.decodes.context()[0] + state.partial_tokens;
  }
}

// A replica lost in the instant in which its epoch began leaves none: of two epochs with one start,
// nobody could say which came first.
void Replica::Impl::close_record() {
  if (open_ && record_.steps > 0) listener_.epoch(record_);
  open_ = false;
}

Observation Replica::Impl::observe(Ticks t) const {
  Observation o;
  if (mode_ == Mode::stepping) o = at_start_;
  o.waiting = in_queue();
  if (mode_ != Mode::stepping || record_.prefill_tokens > 0) return o;
  // Steps begun before t, the first one excepted.
  const Steps joined{record_.start, record_.first_step, record_.step_growth};
  const std::int64_t last = record_.steps + steps_ - 1;
  const std::int64_t begun = joined.first_boundary(t, false, 1, last) - 1;
  o.context_tokens += (begun * record_.sequences * config_.pace.units) >> config_.pace.shift;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const State& state = ranks_[i]->state;
    if (!ranks_[i]->planned().decodes) continue;
    o.blocks_used += state.growth(record_counters_[i] + 1 - state.decodes.counter(), begun);
  }
  return o;
}

const metrics::Counters& Replica::Impl::counters() const {
  if (ranks_.size() == 1) return ranks_.front()->state.counters;
  sum_ = {};
  for (const auto& rank : ranks_) sum_ += rank->state.counters;
  sum_.peak_running = peak_running_;
  sum_.peak_waiting = peak_waiting_;
  return sum_;
}

}  // namespace servegrid::engine
