#include "engine/replica.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/policy.hpp"
#include "units/error.hpp"

namespace servegrid::engine {
namespace {

/// Steps whose durations grow by the same amount each: step j lasts first + j * growth.
struct Steps {
  Ticks start = 0, first = 0, growth = 0;
  /// End of step k - 1, that is the boundary after k steps.
  [[nodiscard]] Ticks boundary(std::int64_t k) const {
    const Ticks n = k;
    return start + n * first + growth * (n * (n - 1) / 2);
  }
  /// Smallest k in [low, high] whose boundary is >= t (or > t when `strictly`); high + 1 if none.
  [[nodiscard]] std::int64_t first_boundary(Ticks t, bool strictly, std::int64_t low,
                                            std::int64_t high) const {
    ++high;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const Ticks b = boundary(middle);
      if (strictly ? b > t : b >= t) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

std::unique_ptr<Policy> make_policy(const ReplicaConfig& config) {
  switch (config.policy) {
    case catalog::Policy::vllm_v1:
      return make_vllm(config);
    case catalog::Policy::sglang:
      return make_sglang(config);
    case catalog::Policy::trtllm:
      return make_trtllm(config);
    case catalog::Policy::vllm_v0:
      return make_vllm_v0(config);
    case catalog::Policy::sarathi:
      return make_sarathi(config);
    case catalog::Policy::orca:
      return make_orca(config);
    case catalog::Policy::static_batch:
      return make_static_batch(config);
    case catalog::Policy::atom:
      return make_atom(config);
  }
  throw RunError("engine: unknown scheduling policy");
}

void check(const ReplicaConfig& c, const roofline::StepTimes& steps) {
  const auto require = [](bool ok, const char* what) {
    if (!ok) throw InputError(what);
  };
  require(c.pool.block_tokens >= 1, "block_size must be at least 1 token");
  require(c.pool.num_blocks >= 1, "the KV pool must have at least 1 block");
  require(c.pool.fixed_blocks >= 0, "state blocks per sequence must not be negative");
  require(c.knobs.max_num_seqs >= 1, "max_num_seqs must be at least 1");
  require(c.knobs.max_num_batched_tokens >= 1, "max_num_batched_tokens must be at least 1");
  require(c.knobs.max_num_batched_tokens >= c.pace.rows,
          "max_num_batched_tokens must hold the tokens that one sequence verifies in a step");
  require(c.knobs.long_prefill_token_threshold >= 0,
          "long_prefill_token_threshold must not be negative");
  require(c.knobs.stream_interval >= 1, "stream_interval must be at least 1");
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

}  // namespace

struct Replica::Impl {
  Impl(const ReplicaConfig& config, const roofline::StepTimes& steps, Listener& listener)
      : state(config, pool_rules(config), steps, listener),
        policy(make_policy(config)),
        poll_(std::max<std::int64_t>(1, steps.arrival_poll_steps())),
        first_token_steps_(std::llround(std::ldexp(steps.first_token_steps(), 20))) {}

  void submit(const workload::Request& request, Ticks now);
  void abort(workload::RequestId id, Ticks now);
  void advance(Ticks now);
  [[nodiscard]] Ticks next_event() const;
  [[nodiscard]] std::vector<Running> running() const;
  [[nodiscard]] Observation observe(Ticks t) const;
  [[nodiscard]] Ticks open_since() const { return open_ ? record_.start : never; }

  State state;
  std::unique_ptr<Policy> policy;

 private:
  enum class Mode { idle, starting, stepping };
  [[nodiscard]] std::string refusal(const workload::Request& request) const;
  void complete(Ticks now);
  void accept_drafts();
  [[nodiscard]] Steps decode_steps(Ticks start) const;
  void report_first_tokens(Ticks now);
  void finish(Ticks now);
  [[nodiscard]] Ticks last_look();
  void see_arrivals(Ticks looked);
  void see_aborts(Ticks looked, Ticks now);
  [[nodiscard]] std::int64_t seen_at(Ticks submitted) const;
  void begin(Ticks now);
  void set_times(Ticks now);
  void limit_horizon();
  [[nodiscard]] std::int64_t first_chance() const;
  void record();
  void close_record();

  Mode mode_ = Mode::idle;
  Plan plan_;
  Steps now_;                       // the epoch in progress ends after plan_.steps of its steps
  Ticks start_at_ = 0;              // mode starting
  std::int64_t poll_, phase_ = 0;   // steps since arrivals were looked at
  std::int64_t first_token_steps_;  // in 2^-20
  struct Abort {
    workload::RequestId id;
    Ticks at;
  };
  std::vector<Abort> aborts_;                   // not yet seen, in time order
  std::vector<Slot> promoted_;                  // scratch
  std::vector<roofline::PrefillChunk> chunks_;  // scratch

  // The same epochs joined while nothing changed: equal with and without leaps.
  bool open_ = false;
  metrics::Epoch record_;
  std::int64_t record_counter_ = 0;  // step counter at its start
  Observation at_start_;
};

std::string Replica::Impl::refusal(const workload::Request& r) const {
  if (r.prompt_tokens < 1 || r.output_tokens < 1) {
    return fmt::format("has {} prompt and {} output tokens: each must be at least 1",
                       r.prompt_tokens, r.output_tokens);
  }
  const std::int64_t limit = state.config.knobs.max_model_len;
  if (limit > 0 && r.prompt_tokens + r.output_tokens > limit) {
    return fmt::format("{} prompt + {} output = {} tokens exceed max_model_len {}", r.prompt_tokens,
                       r.output_tokens, r.prompt_tokens + r.output_tokens, limit);
  }
  return policy->refusal(r);
}

void Replica::Impl::submit(const workload::Request& request, Ticks now) {
  ++state.counters.requests;
  if (const std::string reason = refusal(request); !reason.empty()) {
    ++state.counters.rejected;
    state.listener.rejected(request.id, now, reason);
    return;
  }
  state.inbox.push_back(state.create(request, now));
  state.counters.peak_waiting = std::max(state.counters.peak_waiting, state.in_queue());
  if (mode_ == Mode::idle) {
    mode_ = Mode::starting;
    start_at_ = now;
  } else if (mode_ == Mode::stepping && plan_.steps > 1 &&
             (policy->reorders() || (state.waiting.empty() && state.inbox.size() == 1))) {
    plan_.steps = std::min(plan_.steps, first_chance());
  }
}

void Replica::Impl::abort(workload::RequestId id, Ticks now) {
  if (mode_ == Mode::idle) return;
  aborts_.push_back({id, now});
  if (mode_ == Mode::stepping && plan_.steps > 1) plan_.steps = std::min(plan_.steps, seen_at(now));
}

// The boundary of the epoch that sees what happened at `t` (its end or later: beyond it).
std::int64_t Replica::Impl::seen_at(Ticks t) const {
  const std::int64_t k = now_.first_boundary(t, true, 1, plan_.steps);
  return ceil_div(phase_ + k, poll_) * poll_ - phase_;
}

std::vector<Running> Replica::Impl::running() const {
  std::vector<Running> list;
  if (mode_ != Mode::stepping) return list;
  for (Slot slot = state.oldest; slot >= 0; slot = state[slot].next) {
    const Sequence& s = state[slot];
    const std::int64_t blocks = plan_.decodes && s.decoding ? state.held_in_step(s) : state.held(s);
    list.push_back({s.request.id, blocks, s.decoding});
  }
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
  return now_.boundary(plan_.steps);
}

// First boundary of the epoch at which the head of the queue may be admitted. A boundary sees what
// was submitted strictly before it, whatever the order of calls at one instant.
std::int64_t Replica::Impl::first_chance() const {
  std::int64_t first = no_step;
  if (!state.waiting.empty()) {
    first = policy->may_admit(state, state.waiting.front(), 1);
    if (!policy->reorders()) return first;
  }
  // Where the queue has an order of its own, anyone unseen may come to its front.
  for (const Slot slot : state.inbox) {
    const std::int64_t k = seen_at(state[slot].submitted);
    if (k < std::min(first, plan_.steps)) {
      first = std::min(first, policy->may_admit(state, slot, k));
    }
    if (!policy->reorders()) break;
  }
  return first;
}

void Replica::Impl::advance(Ticks now) {
  if (now != next_event()) throw RunError("engine: advanced at a time that is not its next event");
  ++state.counters.events;
  if (mode_ == Mode::starting) {
    see_arrivals(never);
    phase_ = 0;
    see_aborts(now, now);
    begin(now);
    return;
  }
  complete(now);
  begin(now);
}

void Replica::Impl::complete(Ticks now) {
  const std::int64_t steps = plan_.steps;
  state.counters.steps += steps;
  if (open_) record_.steps += steps;
  if (plan_.decodes) {
    state.pool.allocate(state.growth(1, steps - 1));
    state.counters.drafts += steps * state.decodes.size();
    state.decodes.advance(steps);
    policy->decoded(steps);
    if (state.decodes.pace().sampled()) accept_drafts();
  }
  state.release_held(plan_);
  promoted_.clear();
  for (const Chunk& c : plan_.chunks) {
    if (state[c.slot].computed < state[c.slot].tokens()) continue;
    state.promote(c.slot);
    policy->decodes(state, c.slot);
    promoted_.push_back(c.slot);
  }
  report_first_tokens(now);
  const Ticks looked = last_look();
  see_arrivals(looked);
  finish(now);
  see_aborts(looked, now);
}

// A step of drawn acceptance took blocks for all its rows; those of drafts not accepted go back.
void Replica::Impl::accept_drafts() {
  const Pace& pace = state.decodes.pace();
  auto& accepted_at = state.counters.accepted_at;
  accepted_at.resize(static_cast<std::size_t>(pace.positions), 0);
  std::int64_t surplus =
      state.decodes.blocks_needed(-1, pace.rows) - state.decodes.blocks_needed(-1, 1);
  for (Slot slot = state.oldest; slot >= 0; slot = state[slot].next) {
    const Sequence& s = state[slot];
    if (!s.decoding) continue;
    const std::int64_t accepted = draw_accepted(pace, s.request.id, state.decodes.generated(s));
    if (accepted == 0) continue;
    for (std::int64_t i = 0; i < accepted; ++i) ++accepted_at[static_cast<std::size_t>(i)];
    policy->gains(state, slot);
    surplus -= state.decodes.bump(slot, accepted);
    policy->gained(state, slot);
  }
  state.pool.give_back(surplus);
}

// The decode steps of the sequences present. Time per token is rounded to units of the pace, so
// that growth is the same in every step.
Steps Replica::Impl::decode_steps(Ticks start) const {
  const Pace& pace = state.decodes.pace();
  const roofline::DecodeCost cost = state.steps.decode(state.decodes.size());
  const roofline::ContextTokens context = state.decodes.context_units();
  Steps steps{start, cost.base, 0};
  for (int c = 0; c < roofline::max_context_classes; ++c) {
    const auto i = static_cast<std::size_t>(c);
    const Ticks half = pace.shift > 0 ? Ticks{1} << (pace.shift - 1) : 0;
    const Ticks unit = (cost.per_token[i] + half) >> pace.shift;
    steps.first += unit * context[i];
    steps.growth += unit * pace.units * state.decodes.growing(c);
  }
  return steps;
}

// What the client sees later than the engine: a delay, and R times the duration of the decode step
// that the sequences decoding now would take. The stream stays that far behind until its end, so
// that time per output token is the engine's. With stream_interval the first token leaves with the
// bundle it is in: so many more of those steps.
void Replica::Impl::report_first_tokens(Ticks now) {
  Ticks step = -1, delay = 0;
  for (const Slot slot : promoted_) {
    Sequence& s = state[slot];
    if (s.generated != 1) continue;
    if (step < 0) {
      step = decode_steps(now).first;
      delay = state.steps.first_token_delay() + ((step * first_token_steps_) >> 20);
    }
    const std::int64_t bundle =
        std::min(state.config.knobs.stream_interval, s.request.output_tokens);
    s.delay = delay;
    const Pace& pace = state.decodes.pace();
    s.first_token = now + delay + step * ceil_div((bundle - 1) << pace.shift, pace.units);
    state.listener.first_token(s.request.id, s.first_token);
  }
}

void Replica::Impl::finish(Ticks now) {
  for (Slot slot = state.decodes.finished(); slot >= 0; slot = state.decodes.finished()) {
    policy->left(state, slot);
    state.stop(slot, true);
    ++state.counters.completed;
    const Sequence& s = state[slot];
    state.listener.finished(s.request.id, std::max(now + s.delay, s.first_token));
    state.destroy(slot);
  }
}

// The scheduler looks at arrivals every poll_ steps while anything runs. All looks of a leap are
// caught up here: the last one decides what was seen. 0: there was none.
Ticks Replica::Impl::last_look() {
  const std::int64_t k = (phase_ + plan_.steps) / poll_ * poll_ - phase_;
  phase_ = (phase_ + plan_.steps) % poll_;
  return k < 1 ? 0 : now_.boundary(k);
}

void Replica::Impl::see_arrivals(Ticks looked) {
  while (!state.inbox.empty() && state[state.inbox.front()].submitted < looked) {
    state.enqueue(state.inbox.front());
    state.inbox.pop_front();
  }
}

void Replica::Impl::see_aborts(Ticks looked, Ticks now) {
  std::size_t seen = 0;
  for (; seen < aborts_.size() && aborts_[seen].at < looked; ++seen) {
    const Slot slot = state.find(aborts_[seen].id);
    if (slot < 0) continue;
    if (!state.dequeue(slot)) {
      policy->left(state, slot);
      state.stop(slot, true);
    }
    ++state.counters.aborted;
    const Sequence& s = state[slot];
    state.listener.aborted(s.request.id, now, s.generated);
    state.destroy(slot);
  }
  aborts_.erase(aborts_.begin(), aborts_.begin() + static_cast<std::ptrdiff_t>(seen));
}

void Replica::Impl::begin(Ticks now) {
  plan_.chunks.clear();
  plan_.decodes = false;
  plan_.steps = 0;
  plan_.swapped = 0;
  policy->plan(state, now, plan_);
  state.counters.blocks_allocated = state.pool.allocated();
  state.counters.blocks_freed = state.pool.freed();
  const std::int64_t decoded = state.decodes.take_generated();
  state.counters.tokens_generated += decoded;
  state.counters.decoded_tokens += decoded;
  state.counters.peak_waiting = std::max(state.counters.peak_waiting, state.in_queue());
  if (plan_.steps == 0) {
    if (state.running > 0 || !state.waiting.empty() || !state.swapped.empty()) {
      throw RunError(fmt::format("engine: stuck with {} running and {} waiting requests",
                                 state.running, state.waiting.size()));
    }
    close_record();
    policy->idle();
    if (state.inbox.empty()) aborts_.clear();
    mode_ = state.inbox.empty() ? Mode::idle : Mode::starting;
    start_at_ = now;
    return;
  }
  mode_ = Mode::stepping;
  set_times(now);
  limit_horizon();
  record();
}

void Replica::Impl::set_times(Ticks now) {
  if (plan_.chunks.empty()) {
    if (state.decodes.size() == 0) throw RunError("engine: a step without work");
    now_ = decode_steps(now);
    now_.first += plan_.swapped * state.config.swap.per_block;
    return;
  }
  const std::int64_t n = plan_.decodes ? state.decodes.size() : 0;
  const roofline::ContextTokens context =
      plan_.decodes ? state.decodes.context() : roofline::ContextTokens{};
  chunks_.clear();
  for (const Chunk& c : plan_.chunks) {
    chunks_.push_back({c.tokens, c.cached, c.cached + c.tokens == state[c.slot].tokens()});
  }
  now_ = {now, state.steps.mixed(chunks_, n, context), 0};
}

void Replica::Impl::limit_horizon() {
  if (!plan_.chunks.empty()) return;
  plan_.steps =
      std::min({plan_.steps, state.decodes.steps_to_finish(), state.decodes.steps_to_change()});
  if (plan_.swapped > 0) plan_.steps = 1;
  if (!state.config.leap || state.decodes.pace().sampled()) plan_.steps = 1;
  if (plan_.steps > 1) plan_.steps = std::min(plan_.steps, first_chance());
  if (!aborts_.empty()) plan_.steps = std::min(plan_.steps, seen_at(aborts_.front().at));
}

void Replica::Impl::record() {
  const bool prefill = !plan_.chunks.empty();
  const std::int64_t n = plan_.decodes ? state.decodes.size() : 0;
  if (open_ && !prefill && record_.prefill_tokens == 0 && record_.sequences == n &&
      record_.running == state.running && record_.step_growth == now_.growth &&
      record_.first_step + record_.steps * record_.step_growth == now_.first) {
    return;
  }
  close_record();
  open_ = true;
  record_ = {};
  record_.replica = state.config.index;
  record_.start = now_.start;
  record_.sequences = n;
  for (const Chunk& c : plan_.chunks) {
    record_.prefill_tokens += c.tokens;
    record_.prefill_context += c.cached;
  }
  const std::int64_t context = state.decodes.context()[0];
  record_.context_tokens = plan_.decodes ? context : 0;
  record_.waiting = state.in_queue();
  record_.running = state.running;
  record_.blocks_used = state.pool.used();
  record_.first_step = now_.first;
  record_.step_growth = now_.growth;
  record_counter_ = state.decodes.counter();
  at_start_.running = state.running;
  at_start_.blocks_used = state.pool.used();
  at_start_.context_tokens = context + state.partial_tokens;
}

void Replica::Impl::close_record() {
  if (open_) state.listener.epoch(record_);
  open_ = false;
}

Observation Replica::Impl::observe(Ticks t) const {
  Observation o;
  o.waiting = state.in_queue();
  if (mode_ != Mode::stepping) return o;
  const std::int64_t waiting = o.waiting;
  o = at_start_;
  o.waiting = waiting;
  if (record_.prefill_tokens > 0) return o;
  // Steps begun before t, the first one excepted.
  const Steps joined{record_.start, record_.first_step, record_.step_growth};
  const std::int64_t last = record_.steps + plan_.steps - 1;
  const std::int64_t begun = joined.first_boundary(t, false, 1, last) - 1;
  const Pace& pace = state.decodes.pace();
  o.context_tokens += (begun * record_.sequences * pace.units) >> pace.shift;
  o.blocks_used += state.growth(record_counter_ + 1 - state.decodes.counter(), begun);
  return o;
}

PoolRules pool_rules(const ReplicaConfig& config) {
  PoolRules rules;
  // vLLM keeps one null block (v1/core/block_pool.py); its duplicates stay hashed when freed.
  if (config.policy == catalog::Policy::vllm_v1) rules.null_blocks = 1;
  rules.keep_duplicates = config.policy != catalog::Policy::sglang;
  if (config.policy == catalog::Policy::sglang) rules.clip = sglang_clip_tokens;
  rules.reserved =
      config.policy == catalog::Policy::orca || config.policy == catalog::Policy::static_batch;
  return rules;
}

Replica::Replica(const ReplicaConfig& config, const roofline::StepTimes& steps, Listener& listener)
    : impl_((check(config, steps), std::make_unique<Impl>(config, steps, listener))) {}
Replica::~Replica() = default;
Replica::Replica(Replica&&) noexcept = default;

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
Observation Replica::observe(Ticks t) const {
  return impl_->observe(t);
}
Ticks Replica::open_since() const {
  return impl_->open_since();
}
const metrics::Counters& Replica::counters() const {
  return impl_->state.counters;
}

}  // namespace servegrid::engine
