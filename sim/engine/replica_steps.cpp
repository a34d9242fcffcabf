// The steps of a replica: its ranks plan and step together.
#include <algorithm>
#include <utility>

#include "engine/replica_impl.hpp"
#include "units/error.hpp"

namespace servegrid::engine {
std::int64_t Replica::Impl::in_queue() const {
  std::int64_t sum = 0;
  for (const auto& rank : ranks_) sum += rank->state.in_queue();
  return sum;
}

// The rank of a new request. What it goes by does not change within an epoch, so that leaping over
// it chooses alike.
Rank& Replica::Impl::choose() {
  if (ranks_.size() == 1) return *ranks_.front();
  const catalog::RankBalance balance = config_.knobs.rank_balance;
  if (balance == catalog::RankBalance::round_robin) return *ranks_[turn_++ % ranks_.size()];
  const auto load = [balance](const Rank& rank) {
    switch (balance) {
      case catalog::RankBalance::fewest_requests:
        return rank.requests();
      case catalog::RankBalance::fewest_tokens:
        return rank.prompt_tokens();
      default:
        return rank.score();
    }
  };
  return **std::min_element(ranks_.begin(), ranks_.end(), [&](const auto& a, const auto& b) {
    return load(*a) < load(*b);  // the first of equals
  });
}

void Replica::Impl::submit(const workload::Request& request, Ticks now) {
  Rank& rank = choose();
  if (!rank.submit(request, now)) return;
  peak_waiting_ = std::max(peak_waiting_, in_queue());
  if (mode_ == Mode::idle) {
    mode_ = Mode::starting;
    start_at_ = now;
  } else if (mode_ == Mode::stepping && steps_ > 1) {
    steps_ = std::min(steps_, rank.chance_of_arrival(clock_, steps_));
  }
}

void Replica::Impl::abort(workload::RequestId id, Ticks now) {
  if (mode_ == Mode::idle) return;
  Rank* rank = ranks_.front().get();
  for (std::size_t i = 1; i < ranks_.size() && !rank->has(id); ++i) rank = ranks_[i].get();
  rank->abort(id, now);
  if (mode_ == Mode::stepping && steps_ > 1) steps_ = std::min(steps_, clock_.seen_at(now, steps_));
}

std::vector<Running> Replica::Impl::running() const {
  std::vector<Running> list;
  if (mode_ != Mode::stepping) return list;
  for (const auto& rank : ranks_) rank->append_running(list);
  return list;
}

Ticks Replica::Impl::next_event() const {
  switch (mode_) {
    case Mode::idle:
      return never;
    case Mode::starting:
      return start_at_;
    case Mode::stepping:
      break;
  }
  return clock_.now.boundary(steps_);
}

void Replica::Impl::advance(Ticks now) {
  if (now != next_event()) throw RunError("engine: advanced at a time that is not its next event");
  ++ranks_.front()->state.counters.events;
  if (mode_ == Mode::starting) {
    clock_.phase = 0;
    for (const auto& rank : ranks_) {
      rank->see_arrivals(never);
      rank->see_aborts(now, now);
    }
  } else {
    complete(now);
  }
  begin(now);
}

void Replica::Impl::complete(Ticks now) {
  ranks_.front()->state.counters.steps += steps_;
  if (open_) record_.steps += steps_;
  std::int64_t rows = 0;
  for (const auto& rank : ranks_) {
    rank->complete(steps_);
    rows += rank->decode_rows();
  }
  const Ticks looked = clock_.last_look(steps_);
  for (const auto& rank : ranks_) rank->report(looked, now, rows);
  apply_changes(now);
}

// Takes the blocks of the steps begun before t, which a leap puts off to its end: what that evicts
// is then seen at t as if the steps had been taken one by one.
void Replica::Impl::catch_up(Ticks t) {
  if (mode_ != Mode::stepping || steps_ < 2) return;
  const std::int64_t begun = clock_.now.first_boundary(t, false, 1, steps_ - 1) - 1;
  for (const auto& rank : ranks_) rank->catch_up(begun);
}

// Of the rank that has most of it.
std::int64_t Replica::Impl::cached_tokens(const workload::Request& request, Ticks now) {
  catch_up(now);
  std::int64_t most = 0;
  for (const auto& rank : ranks_) {
    const State& state = rank->state;
    const std::int64_t block = state.config.pool.block_tokens;
    most = std::max(
        most, state.pool.match(request, (request.prompt_tokens - 1) / block).blocks() * block);
  }
  return most;
}

void Replica::Impl::begin(Ticks now) {
  bool any = false;
  for (const auto& rank : ranks_) any = rank->plan(now) || any;
  if (!any) {
    stop(now);
    return;
  }
  mode_ = Mode::stepping;
  steps_ = set_times(now);
  // Those that run something first: they bound the epoch.
  for (const bool runs : {true, false}) {
    for (const auto& rank : ranks_) {
      if ((rank->planned().steps > 0) == runs) steps_ = rank->horizon(clock_, steps_);
    }
  }
  record();
}

void Replica::Impl::stop(Ticks now) {
  close_record();
  bool arrived = false;
  for (const auto& rank : ranks_) {
    rank->idle();
    const bool freed = rank->release_all();
    arrived = arrived || freed || !rank->state.inbox.empty();
  }
  if (next_slow_ > 0) slow_down(next_slow_);
  next_slow_ = 0;
  mode_ = arrived ? Mode::starting : Mode::idle;
  start_at_ = now;
}

// Ranks step together: the slowest one sets the pace of each step. Its steps hold until another one
// grows past it; returns how many that are.
std::int64_t Replica::Impl::set_times(Ticks now) {
  if (ranks_.size() == 1) {
    clock_.now = ranks_.front()->times(now, 0);
    return no_step;
  }
  std::int64_t rows = 0;
  for (const auto& rank : ranks_) rows += rank->rows();
  std::vector<Steps> all;
  const Steps* slowest = nullptr;
  all.reserve(ranks_.size());
  for (const auto& rank : ranks_) {
    if (rank->planned().steps == 0) continue;
    all.push_back(rank->times(now, rows));
    const Steps& one = all.back();
    if (slowest == nullptr ||
        std::pair(one.first, one.growth) > std::pair(slowest->first, slowest->growth)) {
      slowest = &one;
    }
  }
  Ticks until = no_step;
  for (const Steps& one : all) {
    if (one.growth <= slowest->growth) continue;
    // The first step of which both take as long is the other one's, as it is when planned there.
    const Ticks ahead = slowest->first - one.first, gain = one.growth - slowest->growth;
    until = std::min(until, (ahead + gain - 1) / gain);
  }
  clock_.now = *slowest;
  return static_cast<std::int64_t>(until);
}

}  // namespace servegrid::engine
