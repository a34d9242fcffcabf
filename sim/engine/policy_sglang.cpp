// SGLang (managers/scheduler.py, managers/schedule_policy.py, managers/schedule_batch.py,
// managers/scheduler_components/new_token_ratio_tracker.py): see docs/engines.md.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "engine/policy.hpp"
#include "engine/sglang_order.hpp"
#include "units/error.hpp"

namespace servegrid::engine {
namespace {

constexpr std::int64_t clip_tokens = sglang_clip_tokens;
constexpr std::int64_t ratio_one = 1LL << 32;  // the new-token ratio is an integer in 2^-32
constexpr double initial_ratio = 0.7, minimum_share = 0.14;
constexpr std::int64_t decay_steps = 600, retract_decode_steps = 20;
constexpr int preemption_threshold = 10;  // priority_scheduling_preemption_threshold

// The ratio after d decode steps without a retraction: exact, so that leaps and steps agree.
struct NewTokenRatio {
  std::int64_t anchor = 0, minimum = 0, decay = 0;
  std::int64_t steps = 0;  // decode steps since the anchor was set
  [[nodiscard]] std::int64_t after(std::int64_t ahead) const {
    return std::max(minimum, anchor - decay * std::max<std::int64_t>(0, steps + ahead));
  }
  [[nodiscard]] std::int64_t steps_to_minimum() const {
    if (decay == 0 || anchor <= minimum) return 0;
    return std::max<std::int64_t>(0, ceil_div(anchor - minimum, decay) - steps);
  }
};

class SglangPolicy final : public Policy {
 public:
  explicit SglangPolicy(const ReplicaConfig& config)
      : pool_(config.pool),
        max_running_(config.knobs.max_num_seqs),
        chunk_size_(config.knobs.enable_chunked_prefill ? config.knobs.max_num_batched_tokens : 0),
        max_prefill_(config.knobs.max_prefill_tokens),
        by_priority_(config.knobs.by_priority),
        longest_prefix_(config.knobs.longest_prefix && config.knobs.enable_prefix_caching),
        reach_(whole_pages(config.pace.reach)),
        overshoot_(config.pace.overshoot()),
        one_a_step_(config.pace.shift == 0) {
    const double first = std::min(1.0, initial_ratio * config.knobs.schedule_conservativeness);
    initial_ = std::llround(first * static_cast<double>(ratio_one));
    ratio_.minimum = std::llround(first * minimum_share * static_cast<double>(ratio_one));
    ratio_.decay = (initial_ - ratio_.minimum) / decay_steps;
    ratio_.anchor = initial_;
  }

  [[nodiscard]] std::string refusal(const workload::Request& r) const override;
  void plan(State& state, Ticks now, Plan& plan) override;
  [[nodiscard]] std::int64_t may_admit(const State& state, Slot head,
                                       std::int64_t from) const override;
  [[nodiscard]] bool reorders() const override { return by_priority_ || longest_prefix_; }
  void decoded(std::int64_t steps) override { ratio_.steps += steps; }
  void decodes(const State& state, Slot slot) override { by_length_.insert(key(state, slot)); }
  void left(const State& state, Slot slot) override {
    if (state[slot].decoding) by_length_.erase(key(state, slot));
  }
  void gains(const State& state, Slot slot) override { by_length_.erase(key(state, slot)); }
  void gained(const State& state, Slot slot) override { by_length_.insert(key(state, slot)); }
  void idle() override {
    ratio_.anchor = initial_;
    ratio_.steps = 0;
  }

 private:
  // Shortest output first, then longest input, then the newest: the order of retraction. The output
  // of all decoding sequences grows alike, so the order does not change while they decode.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, Slot>;
  static Key key(const State& state, Slot slot) {
    const Sequence& s = state[slot];
    const std::int64_t prompt = s.request.prompt_tokens;
    return {s.offset - (prompt << state.config.pace.shift), -prompt, -s.order, slot};
  }
  struct Budget {
    std::int64_t total;  // tokens in 2^-32: what admission may still book
    std::int64_t input, chunk;
  };
  [[nodiscard]] std::int64_t whole_pages(std::int64_t tokens) const {
    return ceil_div(tokens, pool_.block_tokens) * pool_.block_tokens;
  }
  /// Tokens that must be available for `s` to be admitted, its hit's idle blocks included.
  [[nodiscard]] std::int64_t demand(const Sequence& s, std::int64_t active_blocks) const {
    const std::int64_t left = s.request.output_cap() - s.generated;
    return s.tokens() - active_blocks * pool_.block_tokens + std::min(left, clip_tokens) +
           pool_.block_tokens + pool_.fixed_blocks * pool_.block_tokens + reach_;
  }
  /// Available less what the running ones are expected to take, `k` steps after the plan whose own
  /// step's blocks are taken (k = 0: at the plan, before).
  [[nodiscard]] std::int64_t room(const State& state, std::int64_t k) const;
  void prefill(State& state, Ticks now, Plan& plan);
  bool prefill_chunked(State& state, Plan& plan, Budget& budget);
  bool prefill_next(State& state, Ticks now, Plan& plan, Budget& budget, Slot slot);
  bool make_room(State& state, Ticks now, Budget& budget, Slot head);
  [[nodiscard]] bool may_displace(const State& state, Slot head) const;
  [[nodiscard]] std::int64_t least_demand(const State& state, Slot head) const;
  void take_away(State& state, Ticks now, Slot victim);
  bool retract(State& state, Ticks now);

  const Pool pool_;
  const std::int64_t max_running_, chunk_size_, max_prefill_;
  const bool by_priority_, longest_prefix_;
  const std::int64_t reach_, overshoot_;  // KV tokens of drafts: while running, at the end
  const bool one_a_step_;
  std::int64_t initial_ = 0;
  NewTokenRatio ratio_;
  std::set<Key> by_length_;
};

std::string SglangPolicy::refusal(const workload::Request& r) const {
  // Alone, and retracted just before its end: what it books must be less than the pool.
  const std::int64_t output = std::min(r.output_cap(), r.output_tokens - 1 + clip_tokens);
  const std::int64_t needed = r.prompt_tokens + output + overshoot_ + reach_ + pool_.block_tokens +
                              pool_.fixed_blocks * pool_.block_tokens;
  const std::int64_t capacity = pool_.num_blocks * pool_.block_tokens;
  if (needed >= capacity) {
    return fmt::format(
        "needs {} KV tokens ({} prompt + {} output + one page of {}{}), which must be less than "
        "the "
        "pool's {}",
        needed, r.prompt_tokens, output, pool_.block_tokens,
        pool_.fixed_blocks > 0
            ? fmt::format(" + {} of state", pool_.fixed_blocks * pool_.block_tokens)
            : "",
        capacity);
  }
  return {};
}

std::int64_t SglangPolicy::room(const State& state, std::int64_t k) const {
  const std::int64_t taken = k > 0 ? state.decodes.blocks_needed(1, k - 1) : 0;
  const std::int64_t available = (state.free_at_plan() - taken) * pool_.block_tokens;
  return available * ratio_one - state.decodes.clipped_remainder(k) * ratio_.after(k);
}

bool SglangPolicy::prefill_chunked(State& state, Plan& plan, Budget& budget) {
  const Slot slot = state.partials.front();
  const Sequence& s = state[slot];
  const std::int64_t page = pool_.block_tokens;
  std::int64_t tokens = std::min(s.tokens() - s.computed, budget.chunk);
  const std::int64_t fits = (s.blocks + state.pool.free()) * page - s.computed - reach_;
  if (tokens > fits) tokens = fits / page * page;
  if (tokens <= 0) return false;
  const bool last = s.computed + tokens == s.tokens();
  const std::int64_t cap = std::min(s.request.output_cap(), clip_tokens);
  const std::int64_t booked = whole_pages(tokens) + (last ? cap : 0) + page;
  state.schedule_chunk(slot, tokens, plan);
  budget.total -= booked * ratio_one;
  budget.input -= whole_pages(tokens);
  budget.chunk -= whole_pages(tokens);
  return last;
}

bool SglangPolicy::prefill_next(State& state, Ticks now, Plan& plan, Budget& budget, Slot slot) {
  const std::int64_t page = pool_.block_tokens;
  const Sequence& s = state[slot];
  const PrefixCache::Match match = state.match(s);
  if (demand(s, match.active) * ratio_one >= budget.total) return false;
  const std::int64_t extend = s.tokens() - state.known(s, match);
  if (whole_pages(extend) >= budget.input && !plan.chunks.empty()) return false;
  std::int64_t tokens = extend;
  if (chunk_size_ > 0 && whole_pages(extend) > budget.chunk) {
    tokens = std::min(extend, budget.chunk / page * page);
    if (tokens <= 0) return false;
  }
  const bool last = tokens == extend;
  const std::int64_t idle_hit = (match.blocks() - match.active) * page;
  const std::int64_t came = state.known(s, match) - match.blocks() * page;  // takes pages as well
  const std::int64_t cap = std::min(s.request.output_cap(), clip_tokens);
  state.dequeue(slot);
  state.admit(slot, match, now);
  state.schedule_chunk(slot, tokens, plan);
  budget.total -= (whole_pages(came + tokens) + (last ? cap : 0) + page + idle_hit + reach_ +
                   pool_.fixed_blocks * page) *
                  ratio_one;
  budget.input -= whole_pages(tokens);
  budget.chunk -= whole_pages(tokens);
  return last && budget.total > 0 && budget.input > 0 && (chunk_size_ == 0 || budget.chunk > 0);
}

void SglangPolicy::prefill(State& state, Ticks now, Plan& plan) {
  Budget budget{room(state, 0), max_prefill_, chunk_size_};
  // One chunked request at a time: nobody else is admitted beside one that does not end here.
  if (!state.partials.empty()) {
    if (!prefill_chunked(state, plan, budget)) return;
    if (budget.total <= 0 || budget.input <= 0 || budget.chunk <= 0) return;
  }
  const bool sorted = longest_prefix_ && state.waiting.size() <= most_sorted;
  std::vector<Slot> order;
  if (sorted) order = by_longest_prefix(state);
  for (std::size_t i = 0; sorted ? i < order.size() : !state.waiting.empty(); ++i) {
    const Slot slot = sorted ? order[i] : state.waiting.front();
    if (state.running >= max_running_ && !(by_priority_ && make_room(state, now, budget, slot))) {
      return;
    }
    if (!prefill_next(state, now, plan, budget, slot)) return;
  }
}

void SglangPolicy::take_away(State& state, Ticks now, Slot victim) {
  left(state, victim);
  state.preempt(victim, false, now);
  state.enqueue(victim);
}

// enable_priority_scheduling: with all slots taken, running requests whose priority is lower by
// more than the threshold make room, the lowest and latest first, if that gives the head its
// tokens.
bool SglangPolicy::make_room(State& state, Ticks now, Budget& budget, Slot head) {
  const Sequence& h = state[head];
  std::vector<Slot> running;
  for (const Key& k : by_length_) running.push_back(std::get<Slot>(k));
  std::sort(running.begin(), running.end(), [&state](Slot a, Slot b) {
    const Sequence& x = state[a];
    const Sequence& y = state[b];
    return std::tie(x.request.priority, x.submitted, x.request.id) >
           std::tie(y.request.priority, y.submitted, y.request.id);
  });
  const std::int64_t extend = h.tokens() - state.known(h, state.match(h));
  std::int64_t missing =
      (extend + std::min(h.request.output_cap(), clip_tokens)) * ratio_one - budget.total;
  std::int64_t booked = 0;
  std::size_t count = 0;
  while (count < running.size()) {
    const Sequence& s = state[running[count]];
    if (s.request.priority - h.request.priority <= preemption_threshold) break;
    const std::int64_t done = s.offset + state.decodes.counter() - s.request.prompt_tokens;
    const std::int64_t rest =
        std::min(s.request.output_cap() - done, clip_tokens) * ratio_.after(0);
    booked += rest;
    missing -= rest;
    ++count;
    if (missing <= 0) break;
  }
  if (count == 0 || missing > 0) return false;
  const std::int64_t free = state.pool.free();
  for (std::size_t i = 0; i < count; ++i) take_away(state, now, running[i]);
  budget.total += booked + (state.pool.free() - free) * pool_.block_tokens * ratio_one;
  return true;
}

bool SglangPolicy::may_displace(const State& state, Slot head) const {
  return by_priority_ && std::any_of(by_length_.begin(), by_length_.end(), [&](const Key& k) {
           return state[std::get<Slot>(k)].request.priority - state[head].request.priority >
                  preemption_threshold;
         });
}

// With the queue in order of cached prefixes anyone in it may be first: the one who needs least.
std::int64_t SglangPolicy::least_demand(const State& state, Slot head) const {
  std::int64_t least = demand(state[head], state.match(state[head]).active);
  if (!longest_prefix_ || state.waiting.empty() || head != state.waiting.front()) return least;
  for (const Slot slot : state.waiting) {
    least = std::min(least, demand(state[slot], state.match(state[slot]).active));
  }
  return least;
}

// Returns whether somebody was retracted. The last decoding sequence stays unless a chunked prompt
// holds what it needs; then the chunked one goes (SGLang itself would run out of memory there).
bool SglangPolicy::retract(State& state, Ticks now) {
  if (state.decodes.step_blocks() <= state.pool.free()) return false;
  std::int64_t retracted = 0;
  while (state.decodes.step_blocks() > state.pool.free()) {
    Slot victim = -1;
    if (by_length_.size() > 1) {
      victim = std::get<Slot>(*by_length_.begin());
    } else if (!state.partials.empty()) {
      victim = state.partials.front();
    } else {
      throw RunError("engine: one sequence alone needs more KV blocks than the pool has");
    }
    take_away(state, now, victim);
    ++retracted;
  }
  const std::int64_t decoded =
      state.decodes.tokens_out() + retract_decode_steps * state.decodes.size();
  const std::int64_t asked = state.decodes.tokens_asked() + 1;
  ratio_.anchor = std::min(ratio_one, decoded * (ratio_one / asked));
  ratio_.steps = -1;  // this step does not decay it
  return true;
}

void SglangPolicy::plan(State& state, Ticks now, Plan& plan) {
  prefill(state, now, plan);
  plan.decodes = false;
  plan.steps = 1;
  if (!plan.chunks.empty()) {
    // Sequences whose KV came with them join the decode batch (disaggregation/decode.py: prebuilt).
    const std::int64_t blocks = state.decodes.blocks_needed(0, 1);
    plan.decodes =
        state.decodes.size() > 0 && state.only_loaded(plan) && blocks <= state.pool.free();
    if (plan.decodes) state.pool.allocate(blocks);
    return;
  }
  plan.decodes = state.decodes.size() > 0;
  if (!plan.decodes) {
    plan.steps = 0;
    return;
  }
  const bool retracted = retract(state, now);
  state.pool.allocate(state.decodes.step_blocks());
  if (!retracted && state.partials.empty()) {
    plan.steps += state.decodes.steps_within(1, state.pool.free());
  }
}

std::int64_t SglangPolicy::may_admit(const State& state, Slot head, std::int64_t from) const {
  if (state.running >= max_running_) return may_displace(state, head) ? from : no_step;
  const std::int64_t wanted = least_demand(state, head) * ratio_one;
  const auto admits = [&](std::int64_t k) { return wanted < room(state, k); };
  if (admits(from)) return from;
  // Until the ratio is at its minimum, room is concave in k with pages of one token (a quadratic
  // and no rounding); after that it only shrinks, since the remainders shrink by less than the
  // pool.
  std::int64_t high = ratio_.steps_to_minimum();
  if (pool_.block_tokens > 1 || !one_a_step_) {
    // Whole pages are taken at once: room may still rise within one round of page_size steps. With
    // E tokens a step, j pages in j page_size / E steps free j n page_size tokens of remainder and
    // n E more at most; at the least ratio 0.14 and j = 1 + E that is less than the pages taken.
    const std::int64_t rounds = one_a_step_ ? pool_.block_tokens : 2 * pool_.block_tokens + 2;
    const std::int64_t last = std::max(high, from) + rounds;
    for (std::int64_t k = from + 1; k <= last; ++k) {
      if (admits(k)) return k;
    }
    return no_step;
  }
  if (high <= from) return no_step;
  std::int64_t low = from, peak = high;
  while (low < peak) {
    const std::int64_t middle = low + (peak - low) / 2;
    if (room(state, middle + 1) > room(state, middle)) {
      low = middle + 1;
    } else {
      peak = middle;
    }
  }
  if (!admits(peak)) return no_step;
  low = from;
  high = peak;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (admits(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

std::unique_ptr<Policy> make_sglang(const ReplicaConfig& config) {
  return std::make_unique<SglangPolicy>(config);
}

}  // namespace servegrid::engine
