// What is done to a replica from outside: a run cut short, blocks given back, slower steps, a loss.
#include <algorithm>
#include <cmath>

#include "engine/replica_impl.hpp"
#include "units/error.hpp"

namespace servegrid::engine {

std::vector<Left> Replica::Impl::cut(Ticks now) {
  if (mode_ == Mode::stepping) {
    const std::int64_t over = clock_.now.first_boundary(now, true, 1, steps_) - 1;
    if (over >= 1) {
      steps_ = over;
      advance(clock_.now.boundary(over));
    }
  }
  close_record();
  std::vector<Left> left;
  for (const auto& rank : ranks_) {
    State& state = rank->state;
    std::int64_t decoded =
        state.decodes.take_generated();  // of those that stopped; and of the rest:
    for (Slot slot = state.oldest; slot >= 0; slot = state[slot].next) {
      const Sequence& s = state[slot];
      const std::int64_t generated =
          s.decoding ? state.decodes.computed(s) + 1 - s.request.prompt_tokens : s.generated;
      decoded += generated - s.generated;
      left.push_back({s.request.id, generated});
    }
    state.counters.tokens_generated += decoded;
    state.counters.decoded_tokens += decoded;
    for (const auto* queue : {&state.waiting, &state.inbox, &state.swapped}) {
      for (const Slot slot : *queue) {
        left.push_back({state[slot].request.id, state[slot].generated});
      }
    }
  }
  return left;
}

// Submissions, releases and slowdowns at one instant are seen by the first boundary after it,
// whether or not a leap would have passed over that boundary.
void Replica::Impl::change_soon(Ticks now) {
  if (mode_ == Mode::stepping)
    steps_ = std::min(steps_, clock_.now.first_boundary(now, true, 1, steps_));
}

void Replica::Impl::slow_down(std::int64_t factor) {
  for (const auto& rank : ranks_) rank->set_slowdown(factor);
}

void Replica::Impl::apply_changes(Ticks now) {
  if (next_slow_ > 0 && slow_at_ < now) {
    slow_down(next_slow_);
    next_slow_ = 0;
  }
  bool freed = false;
  for (const auto& rank : ranks_) freed = rank->release_before(now) || freed;
  if (freed) close_record();  // an observer sees fewer blocks from here on
}

void Replica::Impl::release(workload::RequestId id, Ticks now) {
  const auto rank =
      std::find_if(ranks_.begin(), ranks_.end(), [id](const auto& r) { return r->keeps(id); });
  if (rank == ranks_.end()) throw RunError("engine: releases blocks that are not kept");
  (*rank)->release(id, now, mode_ == Mode::stepping);
  if (mode_ == Mode::stepping) {
    change_soon(now);
  } else if (mode_ == Mode::idle && in_queue() > 0) {
    mode_ = Mode::starting;
    start_at_ = now;
  }
}

void Replica::Impl::set_slowdown(double factor, Ticks now) {
  const std::int64_t scaled = std::llround(std::ldexp(factor, Rank::slow_bits));
  if (mode_ != Mode::stepping) {
    slow_down(scaled);
    return;
  }
  slow_at_ = now;
  next_slow_ = scaled;
  change_soon(now);
}

std::vector<workload::RequestId> Replica::Impl::lose(Ticks now) {
  if (mode_ == Mode::stepping) {
    // The steps of the epoch that are over; none of them ends a request, or it would end there.
    const std::int64_t over = clock_.now.first_boundary(now, true, 1, steps_) - 1;
    if (over >= steps_) throw RunError("engine: lost with an event left behind");
    steps_ = over;
    std::vector<bool> begun;  // blocks of the step in progress are taken already
    for (const auto& rank : ranks_) begun.push_back(rank->state.caught_up >= over);
    if (over > 0) {
      complete(clock_.now.boundary(over));
      for (std::size_t i = 0; i < ranks_.size(); ++i) {
        State& state = ranks_[i]->state;
        if (!begun[i]) state.pool.allocate(state.growth(0, 1));
      }
    }
    close_record();
  }
  std::vector<workload::RequestId> ids;
  for (const auto& rank : ranks_) rank->lose(ids);
  std::sort(ids.begin(), ids.end());
  mode_ = Mode::idle;
  return ids;
}

}  // namespace servegrid::engine
