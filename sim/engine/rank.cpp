#include "engine/rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "units/error.hpp"

namespace servegrid::engine {
namespace {

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

}  // namespace

Rank::Rank(const ReplicaConfig& config, const roofline::StepTimes& steps, Listener& listener)
    : state(config, pool_rules(config), steps, listener),
      policy_(make_policy(config)),
      first_token_steps_(std::llround(std::ldexp(steps.first_token_steps(), 20))) {}

std::string Rank::refusal(const workload::Request& r) const {
  if (r.prompt_tokens < 1 || r.output_tokens < 1) {
    return fmt::format("has {} prompt and {} output tokens: each must be at least 1",
                       r.prompt_tokens, r.output_tokens);
  }
  const std::int64_t limit = state.config.knobs.max_model_len;
  if (limit > 0 && r.prompt_tokens + r.output_tokens > limit) {
    return fmt::format("{} prompt + {} output = {} tokens exceed max_model_len {}", r.prompt_tokens,
                       r.output_tokens, r.prompt_tokens + r.output_tokens, limit);
  }
  return policy_->refusal(r);
}

bool Rank::submit(const workload::Request& request, Ticks now) {
  ++state.counters.requests;
  if (const std::string reason = refusal(request); !reason.empty()) {
    ++state.counters.rejected;
    state.listener.rejected(request.id, now, reason);
    return false;
  }
  state.inbox.push_back(state.create(request, now));
  prompt_tokens_ += request.prompt_tokens;
  state.counters.peak_waiting = std::max(state.counters.peak_waiting, state.in_queue());
  return true;
}

// First boundary of the epoch at which the head of the queue may be admitted.
std::int64_t Rank::first_chance(const Clock& clock, std::int64_t steps) const {
  std::int64_t first = no_step;
  if (!state.waiting.empty()) {
    first = policy_->may_admit(state, state.waiting.front(), 1);
    if (!policy_->reorders()) return first;
  }
  // Where the queue has an order of its own, anyone unseen may come to its front.
  for (const Slot slot : state.inbox) {
    const std::int64_t k = clock.seen_at(state[slot].submitted, steps);
    if (k < std::min(first, steps)) {
      first = std::min(first, policy_->may_admit(state, slot, k));
    }
    if (!policy_->reorders()) break;
  }
  return first;
}

std::int64_t Rank::chance_of_arrival(const Clock& clock, std::int64_t steps) const {
  if (plan_.steps == 0) {  // it runs nothing, while other ranks do
    return state.inbox.empty() ? no_step
                               : clock.seen_at(state[state.inbox.front()].submitted, steps);
  }
  const bool first = state.waiting.empty() && state.inbox.size() == 1;
  return policy_->reorders() || first ? first_chance(clock, steps) : no_step;
}

bool Rank::plan(Ticks now) {
  plan_.chunks.clear();
  plan_.decodes = false;
  plan_.steps = 0;
  plan_.swapped = 0;
  state.loading = 0;
  policy_->plan(state, now, plan_);
  count_blocks();
  const std::int64_t decoded = state.decodes.take_generated();
  state.counters.tokens_generated += decoded;
  state.counters.decoded_tokens += decoded;
  state.counters.peak_waiting = std::max(state.counters.peak_waiting, state.in_queue());
  if (plan_.steps > 0) return true;
  // What waits may wait for blocks that are kept for a transfer.
  const bool frees_later = !kept_.empty() || !releases_.empty();
  if (state.running > 0 || !state.swapped.empty() || (!state.waiting.empty() && !frees_later)) {
    throw RunError(fmt::format("engine: stuck with {} running and {} waiting requests",
                               state.running, state.waiting.size()));
  }
  return false;
}

void Rank::count_blocks() {  // giving back takes blocks too: copies that the cache now knows
  state.counters.blocks_allocated = state.pool.allocated();
  state.counters.blocks_freed = state.pool.freed();
}

void Rank::idle() {
  policy_->idle();
  if (state.inbox.empty()) aborts_.clear();
}

std::int64_t Rank::rows() const {
  std::int64_t rows = plan_.decodes ? decode_rows() : 0;
  for (const Chunk& c : plan_.chunks) rows += c.tokens;
  return rows;
}

Steps Rank::times(Ticks start, std::int64_t rows) {
  if (plan_.chunks.empty()) {
    if (state.decodes.size() == 0) throw RunError("engine: a step without work");
    Steps steps = decode_steps(start, rows);
    steps.first += plan_.swapped * state.config.swap.per_block;
    return steps;
  }
  std::int64_t n = plan_.decodes ? state.decodes.size() : 0;
  roofline::ContextTokens context =
      plan_.decodes ? state.decodes.context() : roofline::ContextTokens{};
  chunks_.clear();
  for (const Chunk& c : plan_.chunks) {
    if (!state.is_loaded(c)) {
      chunks_.push_back({c.tokens, c.cached, c.cached + c.tokens == state[c.slot].tokens()});
      continue;
    }
    ++n;  // its prompt came from elsewhere: it decodes from this step on
    context[0] += c.cached + 1;
    std::size_t k = 1;
    for (const std::int64_t window : state.steps.windows())
      context.at(k++) += std::min(c.cached + 1, window);
  }
  if (!chunks_.empty()) {
    const Ticks step = state.config.ranks > 1 ? state.steps.mixed_rank(chunks_, n, context, rows)
                                              : state.steps.mixed(chunks_, n, context);
    // Loading goes layer by layer, ahead of the layers that need it.
    return {start, std::max((step * slow_) >> slow_bits, state.loading), 0};
  }
  if (n == 0) throw RunError("engine: a step without work");
  const roofline::DecodeCost cost = decode_cost(n, rows);
  Steps steps{start, cost.base, 0};
  for (std::size_t c = 0; c < context.size(); ++c) steps.first += cost.per_token[c] * context[c];
  steps.first = std::max(steps.first, state.loading);
  steps.first += plan_.swapped * state.config.swap.per_block;
  return steps;
}

roofline::DecodeCost Rank::decode_cost(std::int64_t sequences, std::int64_t rows) const {
  roofline::DecodeCost cost = state.config.ranks > 1 ? state.steps.decode_rank(sequences, rows)
                                                     : state.steps.decode(sequences);
  if (slow_ == std::int64_t{1} << slow_bits) return cost;
  cost.base = (cost.base * slow_) >> slow_bits;
  for (Ticks& t : cost.per_token) t = (t * slow_) >> slow_bits;
  return cost;
}

// The decode steps of the sequences present. Time per token is rounded to units of the pace, so
// that growth is the same in every step.
Steps Rank::decode_steps(Ticks start, std::int64_t rows) const {
  const Pace& pace = state.decodes.pace();
  const roofline::DecodeCost cost = decode_cost(state.decodes.size(), rows);
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

std::int64_t Rank::horizon(const Clock& clock, std::int64_t most) {
  if (!plan_.chunks.empty()) return 1;
  std::int64_t steps = most;
  if (plan_.steps > 0) {
    steps = std::min(
        {most, plan_.steps, state.decodes.steps_to_finish(), state.decodes.steps_to_change()});
    if (plan_.swapped > 0) steps = 1;
    if (!state.config.leap || state.decodes.pace().sampled()) steps = 1;
    if (steps > 1) steps = std::min(steps, first_chance(clock, steps));
  } else if (!state.inbox.empty()) {
    steps = std::min(steps, clock.seen_at(state[state.inbox.front()].submitted, steps));
  }
  if (!aborts_.empty()) steps = std::min(steps, clock.seen_at(aborts_.front().at, steps));
  return steps;
}

void Rank::complete(std::int64_t steps) {
  if (plan_.decodes) {
    const std::int64_t rest = std::max<std::int64_t>(0, steps - 1 - state.caught_up);
    state.pool.allocate(state.growth(1 + state.caught_up, rest));
    state.caught_up = 0;
    state.counters.drafts += steps * state.decodes.size();
    state.decodes.advance(steps);
    policy_->decoded(steps);
    if (state.decodes.pace().sampled()) accept_drafts();
  }
  state.release_held(plan_);
  promoted_.clear();
  for (const Chunk& c : plan_.chunks) {
    if (state[c.slot].computed < state[c.slot].tokens()) continue;
    state.promote(c.slot);
    policy_->decodes(state, c.slot);
    promoted_.push_back(c.slot);
  }
}

void Rank::report(Ticks looked, Ticks now, std::int64_t rows) {
  report_first_tokens(now, rows);
  see_arrivals(looked);
  finish(now);
  see_aborts(looked, now);
}

// A step of drawn acceptance took blocks for all its rows; those of drafts not accepted go back.
void Rank::accept_drafts() {
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
    policy_->gains(state, slot);
    surplus -= state.decodes.bump(slot, accepted);
    policy_->gained(state, slot);
  }
  state.pool.give_back(surplus);
}

// What the client sees later than the engine: a delay, and R times the duration of the decode step
// that the sequences decoding now would take. The stream stays that far behind until its end, so
// that time per output token is the engine's. With stream_interval the first token leaves with the
// bundle it is in: so many more of those steps.
void Rank::report_first_tokens(Ticks now, std::int64_t rows) {
  Ticks step = -1, delay = 0;
  for (const Slot slot : promoted_) {
    Sequence& s = state[slot];
    if (s.generated != 1) continue;
    if (step < 0) {
      step = decode_steps(now, rows).first;
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

void Rank::finish(Ticks now) {
  for (Slot slot = state.decodes.finished(); slot >= 0; slot = state.decodes.finished()) {
    policy_->left(state, slot);
    ++state.counters.completed;
    const Sequence& s = state[slot];
    prompt_tokens_ -= s.request.prompt_tokens;
    if (s.request.hold) {
      state.keep(slot);
      policy_->kept(state, slot);
      kept_.emplace(s.request.id, slot);
      state.listener.prefilled(s.request.id, now);
      continue;
    }
    state.stop(slot, true);
    state.listener.finished(s.request.id, std::max(now + s.delay, s.first_token));
    state.destroy(slot);
  }
}

void Rank::see_arrivals(Ticks looked) {
  while (!state.inbox.empty() && state[state.inbox.front()].submitted < looked) {
    state.enqueue(state.inbox.front());
    state.inbox.pop_front();
  }
}

void Rank::see_aborts(Ticks looked, Ticks now) {
  std::size_t seen = 0;
  for (; seen < aborts_.size() && aborts_[seen].at < looked; ++seen) {
    const Slot slot = state.find(aborts_[seen].id);
    if (slot < 0) continue;
    if (!state.dequeue(slot)) {
      policy_->left(state, slot);
      state.stop(slot, true);
    }
    ++state.counters.aborted;
    const Sequence& s = state[slot];
    prompt_tokens_ -= s.request.prompt_tokens;
    state.listener.aborted(s.request.id, now, s.generated);
    state.destroy(slot);
  }
  aborts_.erase(aborts_.begin(), aborts_.begin() + static_cast<std::ptrdiff_t>(seen));
}

void Rank::catch_up(std::int64_t begun) {
  if (!plan_.decodes || begun <= state.caught_up) return;
  state.pool.allocate(state.growth(1 + state.caught_up, begun - state.caught_up));
  state.caught_up = begun;
}

void Rank::give_back(Slot slot) {
  state.free_kept(slot);
  policy_->given_back(state, slot);
  state.destroy(slot);
}

void Rank::release(workload::RequestId id, Ticks now, bool later) {
  const auto it = kept_.find(id);
  const Slot slot = it->second;
  kept_.erase(it);
  if (later) {
    releases_.emplace_back(now, slot);
    return;
  }
  give_back(slot);
  count_blocks();
}

bool Rank::release_before(Ticks now) {
  std::size_t done = 0;
  for (; done < releases_.size() && releases_[done].first < now; ++done)
    give_back(releases_[done].second);
  releases_.erase(releases_.begin(), releases_.begin() + static_cast<std::ptrdiff_t>(done));
  return done > 0;
}

bool Rank::release_all() {
  const bool freed = !releases_.empty() && !state.waiting.empty();
  for (const auto& [at, slot] : releases_) give_back(slot);
  releases_.clear();
  count_blocks();
  return freed;
}

void Rank::lose(std::vector<workload::RequestId>& ids) {
  const std::int64_t decoded = state.decodes.take_generated();
  state.counters.tokens_generated += decoded;
  state.counters.decoded_tokens += decoded;
  const std::size_t before = ids.size();
  std::int64_t tokens = 0, counted = 0;  // what a sequence decodes is counted when it stops
  const auto lost = [&](Slot slot) {
    const Sequence& s = state[slot];
    ids.push_back(s.request.id);
    tokens += s.decoding ? state.decodes.generated(s) : s.generated;
    counted += s.generated;
  };
  for (Slot slot = state.oldest; slot >= 0; slot = state[slot].next) lost(slot);
  for (const std::deque<Slot>* queue : {&state.waiting, &state.inbox, &state.swapped}) {
    for (const Slot slot : *queue) lost(slot);
  }
  for (const auto& [id, slot] : kept_) lost(slot);
  metrics::Counters& c = state.counters;
  c.aborted += static_cast<std::int64_t>(ids.size() - before);
  c.tokens_generated -= counted;
  c.tokens_lost += tokens;
  c.blocks_allocated = c.blocks_freed = state.pool.allocated();
}

void Rank::append_running(std::vector<Running>& list) const {
  for (Slot slot = state.oldest; slot >= 0; slot = state[slot].next) {
    const Sequence& s = state[slot];
    const std::int64_t blocks = plan_.decodes && s.decoding ? state.held_in_step(s) : state.held(s);
    list.push_back({s.request.id, blocks, s.decoding});
  }
}

PoolRules pool_rules(const ReplicaConfig& config) {
  PoolRules rules;
  // vLLM keeps one null block (v1/core/block_pool.py); its duplicates stay hashed when freed.
  if (config.policy == catalog::Policy::vllm_v1) rules.null_blocks = 1;
  rules.keep_duplicates = config.policy != catalog::Policy::sglang;
  if (config.policy == catalog::Policy::sglang) {
    rules.eviction = Eviction::runs;  // mem_cache/radix_cache.py: whole leaves of the tree
    rules.clip = sglang_clip_tokens;
  }
  rules.reserved =
      config.policy == catalog::Policy::orca || config.policy == catalog::Policy::static_batch;
  return rules;
}

}  // namespace servegrid::engine
