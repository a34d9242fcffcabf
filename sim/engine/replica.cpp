#include "engine/replica.hpp"

#include <algorithm>
#include <utility>

#include "engine/rank.hpp"
#include "units/error.hpp"

namespace servegrid::engine {
namespace {

void check(const ReplicaConfig& c, const roofline::StepTimes& steps) {
  const auto require = [](bool ok, const char* what) {
    if (!ok) throw InputError(what);
  };
  require(c.pool.block_tokens >= 1, "block_size must be at least 1 token");
  require(c.ranks >= 1 && c.stages >= 1, "a replica has at least one rank and one stage");
  require(c.pool.num_blocks >= c.ranks, "the KV pool must have at least 1 block a rank");
  require(c.pool.fixed_blocks >= 0, "state blocks per sequence must not be negative");
  require(c.knobs.max_num_seqs >= 1, "max_num_seqs must be at least 1");
  require(c.knobs.max_num_batched_tokens >= 1, "max_num_batched_tokens must be at least 1");
  require(c.knobs.max_num_batched_tokens >= c.pace.rows,
          "max_num_batched_tokens must hold the tokens that one sequence verifies in a step");
  require(c.knobs.long_prefill_token_threshold >= 0,
          "long_prefill_token_threshold must not be negative");
  require(c.knobs.stream_interval >= 1, "stream_interval must be at least 1");
  require(c.knobs.scheduler_recv_interval >= 1, "scheduler_recv_interval must be at least 1");
  require(c.knobs.watermark >= 0 && c.knobs.watermark < 1, "watermark must be in [0, 1)");
  require(steps.windows().size() < roofline::max_context_classes, "too many sliding windows");
  if (c.policy == catalog::Policy::sglang) {
    require(c.knobs.max_num_batched_tokens >= c.pool.block_tokens,
            "chunked_prefill_size must be at least page_size");
    require(c.knobs.max_prefill_tokens >= 1, "max_prefill_tokens must be at least 1");
    require(!c.knobs.by_priority || !c.knobs.longest_prefix,
            "enable_priority_scheduling needs schedule_policy fcfs");
    require(c.knobs.schedule_conservativeness >= 0,
            "schedule_conservativeness must not be negative");
  }
}

// What one rank of attention data parallelism has of the replica's blocks, and its knobs. SGLang
// divides its limits by the ranks and books less (srt/server_args.py: chunked_prefill_size //
// dp_size, schedule_conservativeness * 0.3; managers/scheduler.py: max_running_requests).
ReplicaConfig of_rank(ReplicaConfig config) {
  // One round of the pipeline schedules a batch for each stage.
  if (config.knobs.enable_chunked_prefill) {
    config.knobs.max_num_batched_tokens *= config.stages;
    config.knobs.max_prefill_tokens *= config.stages;
  }
  if (config.ranks == 1) return config;
  config.pool.num_blocks /= config.ranks;
  config.swap.host_blocks /= config.ranks;
  catalog::Knobs& k = config.knobs;
  if (config.policy == catalog::Policy::sglang) {
    k.max_num_seqs = std::max<std::int64_t>(1, k.max_num_seqs / config.ranks);
    k.max_num_batched_tokens = std::max(
        {std::int64_t{1}, config.pool.block_tokens, k.max_num_batched_tokens / config.ranks});
    k.schedule_conservativeness *= 0.3;
  }
  return config;
}

}  // namespace

struct Replica::Impl {
  Impl(const ReplicaConfig& config, const roofline::StepTimes& steps, Listener& listener)
      : config_(config), listener_(listener) {
    clock_.poll = config.knobs.scheduler_recv_interval;
    for (int i = 0; i < config.ranks; ++i) {
      ranks_.push_back(std::make_unique<Rank>(of_rank(config), steps, listener));
    }
    record_counters_.resize(ranks_.size());
  }

  void submit(const workload::Request& request, Ticks now);
  void abort(workload::RequestId id, Ticks now);
  void advance(Ticks now);
  std::vector<Left> cut(Ticks now);
  [[nodiscard]] Ticks next_event() const;
  [[nodiscard]] std::vector<Running> running() const;
  [[nodiscard]] Observation observe(Ticks t) const;
  [[nodiscard]] Ticks open_since() const { return open_ ? record_.start : never; }
  [[nodiscard]] const metrics::Counters& counters() const;
  void catch_up(Ticks t);
  [[nodiscard]] std::int64_t cached_tokens(const workload::Request& request, Ticks now);
  void release(workload::RequestId id, Ticks now);
  void set_slowdown(double factor, Ticks now);
  std::vector<workload::RequestId> lose(Ticks now);

 private:
  enum class Mode { idle, starting, stepping };
  [[nodiscard]] Rank& choose();
  [[nodiscard]] std::int64_t in_queue() const;
  void complete(Ticks now);
  void begin(Ticks now);
  void stop(Ticks now);
  void change_soon(Ticks now);
  void slow_down(std::int64_t factor);
  void apply_changes(Ticks now);
  [[nodiscard]] std::int64_t set_times(Ticks now);
  [[nodiscard]] metrics::Epoch planned() const;
  void record();
  void close_record();

  const ReplicaConfig config_;
  Listener& listener_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::size_t turn_ = 0;
  Mode mode_ = Mode::idle;
  Clock clock_;
  std::int64_t steps_ = 0;  // of the epoch in progress
  Ticks start_at_ = 0;      // mode starting
  std::int64_t peak_running_ = 0, peak_waiting_ = 0;
  // A change from outside, seen by the first step boundary after it; factor 0: none pending.
  Ticks slow_at_ = 0;
  std::int64_t next_slow_ = 0;
  mutable metrics::Counters sum_;

  // The same epochs joined while nothing changed: equal with and without leaps.
  bool open_ = false;
  metrics::Epoch record_;
  std::vector<std::int64_t> record_counters_;  // step counters at its start
  Observation at_start_;
};

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

Replica::Replica(const ReplicaConfig& config, const roofline::StepTimes& steps, Listener& listener)
    : impl_((check(config, steps), std::make_unique<Impl>(config, steps, listener))) {}
Replica::~Replica() = default;
Replica::Replica(Replica&&) noexcept = default;
Replica& Replica::operator=(Replica&&) noexcept = default;

void Replica::submit(const workload::Request& request, Ticks now) {
  impl_->submit(request, now);
}
Ticks Replica::next_event() const {
  return impl_->next_event();
}
void Replica::advance(Ticks now) {
  impl_->advance(now);
}
void Replica::abort(workload::RequestId id, Ticks now) {
  impl_->abort(id, now);
}
std::vector<Running> Replica::running() const {
  return impl_->running();
}
std::vector<Left> Replica::cut(Ticks now) {
  return impl_->cut(now);
}
Observation Replica::observe(Ticks t) const {
  return impl_->observe(t);
}
Ticks Replica::open_since() const {
  return impl_->open_since();
}
std::int64_t Replica::cached_tokens(const workload::Request& request, Ticks now) const {
  return impl_->cached_tokens(request, now);
}
void Replica::release(workload::RequestId id, Ticks now) {
  impl_->release(id, now);
}
void Replica::set_slowdown(double factor, Ticks now) {
  impl_->set_slowdown(factor, now);
}
std::vector<workload::RequestId> Replica::lose(Ticks now) {
  return impl_->lose(now);
}
const metrics::Counters& Replica::counters() const {
  return impl_->counters();
}

}  // namespace servegrid::engine
