// The horizon oracle: planning at every step and leaping over horizons give the same run, in random
// scenarios whose coarse times make ties common.
#include <algorithm>
#include <array>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "harness.hpp"

using namespace servegrid;
using namespace servegrid::test;

namespace {

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : rng_(seed) {}
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return boost::random::uniform_int_distribution<std::int64_t>(low, high)(rng_);
  }
  bool one_in(std::int64_t n) { return in(1, n) == 1; }

 private:
  boost::random::mt19937 rng_;
};

void random_requests(Dice& d, Scenario& s, std::int64_t longest) {
  const std::int64_t count = d.in(1, 24);
  const std::int64_t gap = d.in(0, 120);
  const bool streams = d.one_in(2), leaving = d.one_in(3);
  std::map<std::int64_t, std::int64_t> said;  // tokens of each stream so far
  const std::int64_t shared = d.one_in(2) ? d.in(1, 20) : 0;
  Ticks at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    at += d.one_in(3) ? 0 : d.in(0, gap);
    workload::Request r = request(i, at, d.in(1, 60), d.in(1, longest));
    if (streams && !d.one_in(4)) {
      r.stream = d.in(1, 5);
      auto& tokens = said[r.stream];
      r.prompt_tokens = std::min<std::int64_t>(tokens, 150) + d.in(1, 20);
      tokens = r.prompt_tokens + r.output_tokens;
    }
    if (shared > 0 && !d.one_in(3)) {
      r.shared_stream = 100;
      // One stream normally has one prefix; sometimes it has another.
      r.shared_prefix = d.one_in(20) ? d.in(1, 30) : shared;
      r.prompt_tokens += r.shared_prefix;
    }
    r.priority = static_cast<int>(d.in(0, 2)) * (d.one_in(2) ? 1 : 20);
    if (d.one_in(4)) r.max_tokens = r.output_tokens + d.in(0, 30);
    s.requests.push_back(r);
    if (leaving && d.one_in(3)) s.aborts.push_back({at + d.in(1, 300), i});
  }
  std::sort(s.aborts.begin(), s.aborts.end(), [](const Gone& a, const Gone& b) {
    return std::tie(a.at, a.id) < std::tie(b.at, b.id);
  });
  const Ticks step = d.in(1, 30);
  for (Ticks t = 0; t < at + 400; t += step) s.observe_at.push_back(t);
}

// Speculation in expectation: 1 to 4 tokens a step in halves to eighths, drafts that take KV.
void random_pace(Dice& d, Scenario& s) {
  engine::Pace& pace = s.config.pace;
  pace.shift = static_cast<int>(d.in(1, 3));
  pace.positions = d.in(1, 3);
  pace.rows = pace.positions + 1;
  pace.reach = pace.positions;
  pace.units = d.in(std::int64_t{1} << pace.shift, pace.rows << pace.shift);
  for (Ticks& t : s.times.per_token) t <<= pace.shift;
  if (!d.one_in(4)) return;
  pace.shift = 0;  // drawn step by step
  pace.units = 1;
  pace.reach = 0;
  pace.seed = static_cast<std::uint64_t>(d.in(1, 1000));
  for (std::int64_t i = 0; i < pace.positions; ++i) {
    pace.acceptance.push_back(0.9 / static_cast<double>(i + 1));
  }
}

Scenario random_scenario(std::uint32_t seed) {
  Dice d(seed);
  Scenario s;
  constexpr std::array policies = {catalog::Policy::vllm_v1, catalog::Policy::sglang,
                                   catalog::Policy::trtllm,  catalog::Policy::vllm_v0,
                                   catalog::Policy::sarathi, catalog::Policy::orca,
                                   catalog::Policy::atom,    catalog::Policy::static_batch};
  s.config.policy = policies[static_cast<std::size_t>(d.in(0, policies.size() - 1))];
  auto& k = s.config.knobs;
  s.config.pool.block_tokens = d.one_in(3) ? 1 : d.in(2, 16);
  s.config.pool.num_blocks = d.in(30, 400) / s.config.pool.block_tokens + 4;
  s.config.pool.fixed_blocks = d.one_in(6) ? d.in(1, 3) : 0;
  k.max_num_seqs = d.one_in(3) ? d.in(1, 4) : 16;
  k.max_num_batched_tokens = d.one_in(2) ? d.in(16, 40) : 200;
  k.enable_prefix_caching = !d.one_in(4);
  k.enable_chunked_prefill = !d.one_in(5);
  k.long_prefill_token_threshold = d.one_in(5) ? d.in(1, 20) : 0;
  k.reserve_full_isl = !d.one_in(4);
  k.watermark = d.one_in(4) ? 0.1 : 0.0;
  k.max_model_len = d.one_in(3) ? 200 : 0;
  k.max_prefill_tokens = d.in(20, 200);
  k.schedule_conservativeness = d.one_in(2) ? 1.0 : 0.3;
  k.guaranteed_no_evict = d.one_in(2);
  const bool has_priorities =
      s.config.policy == catalog::Policy::vllm_v1 || s.config.policy == catalog::Policy::sglang;
  k.by_priority = has_priorities && d.one_in(3);
  k.longest_prefix = !k.by_priority && d.one_in(2);
  k.swap_preempted = d.one_in(2);
  s.config.swap = {1'000'000, d.in(0, 5)};
  switch (s.config.policy) {
    case catalog::Policy::vllm_v0:
      k.max_num_batched_tokens = 400;
      break;
    case catalog::Policy::orca:
    case catalog::Policy::static_batch:
      k.max_model_len = d.in(40, 120);
      [[fallthrough]];
    case catalog::Policy::sarathi:
      k.enable_prefix_caching = false;
      break;
    default:
      break;
  }
  auto& t = s.times;
  t.base = d.in(1, 12);
  t.per_sequence = d.in(0, 2);
  t.per_token = {d.in(0, 1), 0, 0};
  t.prefill_base = d.in(1, 12);
  t.per_prefill_token = d.in(0, 2);
  t.delay = d.in(0, 5);
  t.steps_added = d.one_in(2) ? 0 : 2.5;
  k.scheduler_recv_interval = d.one_in(3) ? d.in(2, 9) : 1;
  if (d.one_in(3)) {
    k.batch_wait_timeout_iters = d.in(1, 20);
    k.batch_wait_max_tokens_ratio = 0.1 * static_cast<double>(d.in(1, 10));
  }
  for (std::int64_t w = d.in(0, 2), tokens = 0; w > 0; --w) {
    tokens += d.in(1, 60);
    t.window_tokens.push_back(tokens);
    t.per_token[t.window_tokens.size()] = d.in(0, 2);
  }
  if (d.one_in(3) && (has_priorities || s.config.policy == catalog::Policy::trtllm)) {
    random_pace(d, s);
  }
  if (d.one_in(3)) {  // ranks of attention data parallelism
    s.config.ranks = static_cast<int>(d.in(2, 4));
    s.config.pool.num_blocks *= s.config.ranks;
    k.rank_balance = static_cast<catalog::RankBalance>(d.in(0, 3));
    s.times.per_group_row = d.in(0, 1);
  }
  if (d.one_in(8)) s.config.stages = static_cast<int>(d.in(2, 4));
  std::int64_t longest = d.one_in(8) ? 300 : 40;
  if (d.one_in(50)) {  // outputs beyond SGLang's clip of 4096, ratios that decay to their minimum
    longest = d.in(1000, 6000);
    s.config.pool.num_blocks = d.in(7000, 20000) / s.config.pool.block_tokens;
    if (s.config.policy != catalog::Policy::orca &&
        s.config.policy != catalog::Policy::static_batch) {
      k.max_model_len = 0;
    }
    if (s.config.policy == catalog::Policy::vllm_v0) k.max_num_batched_tokens = 10000;
  }
  random_requests(d, s, longest);
  return s;
}

// The number after `word` in a line of the log, or -1.
std::int64_t number(const std::string& line, const std::string& word) {
  const auto at = line.find(" " + word + " ");
  return at == std::string::npos ? -1 : std::stoll(line.substr(at + word.size() + 2));
}

void check_conservation(const Scenario& s, const Outcome& o) {
  const auto& c = o.counters;
  CHECK(c.requests == static_cast<std::int64_t>(s.requests.size()));
  CHECK(c.completed + c.rejected + c.aborted == c.requests);
  CHECK(c.blocks_allocated == c.blocks_freed);
  CHECK(c.swapped_in <= c.swapped_out);
  if (c.aborted == 0) CHECK(c.swapped_in == c.swapped_out);
  std::int64_t output = 0, prompts = 0, rejected = 0;
  std::map<std::int64_t, bool> refused;
  std::map<std::int64_t, std::int64_t> cut;
  for (const auto& line : o.lines) {
    if (const auto id = number(line, "rejected"); id >= 0) refused[id] = true;
    if (const auto id = number(line, "aborted"); id >= 0) cut[id] = number(line, "after");
  }
  for (const auto& r : s.requests) {
    if (refused.count(r.id) != 0) {
      ++rejected;
      continue;
    }
    output += cut.count(r.id) != 0 ? cut[r.id] : r.output_tokens;
    prompts += r.prompt_tokens;
  }
  CHECK(rejected == c.rejected);
  CHECK(c.tokens_generated == output);
  if (c.aborted == 0) CHECK(c.tokens_prefilled + c.tokens_cached == prompts);
  std::int64_t steps = 0;
  for (const auto& e : o.epochs) {
    steps += e.steps;
    CHECK(e.blocks_used <= s.config.pool.num_blocks);
    CHECK(e.running <= s.config.ranks * s.config.knobs.max_num_seqs);
  }
  CHECK(steps == c.steps);
}

// First admissions happen in the order of arrival, within a class where there are priorities.
void check_fcfs(const Scenario& s, const Outcome& o) {
  const bool sglang = s.config.policy == catalog::Policy::sglang;
  if (s.config.ranks > 1) return;  // each rank has a queue of its own
  if (sglang && s.config.knobs.longest_prefix && s.config.knobs.enable_prefix_caching) return;
  std::map<int, std::int64_t> last;
  for (const auto& line : o.lines) {
    const auto id = number(line, "scheduled");
    if (id < 0) continue;
    const int priority = s.requests[static_cast<std::size_t>(id)].priority;
    const int group = s.config.knobs.by_priority ? priority : 0;
    if (last.count(group) != 0) CHECK(id > last[group]);
    last[group] = id;
  }
}

constexpr std::array catalog_names = {"vllm_v1", "sglang", "trtllm",       "vllm_v0",
                                      "sarathi", "orca",   "static_batch", "atom"};

// The first line in which two runs differ; empty when they are the same.
std::string difference(const Outcome& a, const Outcome& b) {
  const auto [x, y] = std::mismatch(a.lines.begin(), a.lines.end(), b.lines.begin(), b.lines.end());
  if (x == a.lines.end() && y == b.lines.end()) return {};
  return "line " + std::to_string(x - a.lines.begin()) + ": " +
         (x == a.lines.end() ? "(end)" : *x) + " <> " + (y == b.lines.end() ? "(end)" : *y);
}

void compare(std::uint32_t first, std::uint32_t last) {
  std::int64_t leaps = 0, steps = 0, preemptions = 0, hits = 0, swaps = 0, aborts = 0;
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    const Scenario s = random_scenario(seed);
    INFO("seed " << seed << " of " << catalog_names.at(static_cast<std::size_t>(s.config.policy)));
    const Outcome leap = run(s, true);
    const Outcome step = run(s, false);
    REQUIRE(difference(leap, step) == "");
    REQUIRE(difference(run(s, true, false), run(s, false, false)) == "");
    REQUIRE(leap.counters.steps == step.counters.steps);
    REQUIRE(leap.counters.blocks_allocated == step.counters.blocks_allocated);
    REQUIRE(leap.counters.tokens_recomputed == step.counters.tokens_recomputed);
    REQUIRE(leap.counters.prefix_hits == step.counters.prefix_hits);
    REQUIRE(leap.counters.swapped_out == step.counters.swapped_out);
    REQUIRE(leap.counters.peak_waiting == step.counters.peak_waiting);
    REQUIRE(leap.counters.peak_running == step.counters.peak_running);
    check_conservation(s, leap);
    check_fcfs(s, leap);
    leaps += leap.counters.events;
    steps += step.counters.events;
    preemptions += leap.counters.preemptions;
    hits += leap.counters.prefix_hits;
    swaps += leap.counters.swapped_in;
    aborts += leap.counters.aborted;
  }
  // The scenarios must reach what they are meant to test.
  CHECK(leaps * 5 < steps);
  CHECK(preemptions > 5000);
  CHECK(hits > 50000);
  CHECK(swaps > 1000);
  CHECK(aborts > 1000);
}

}  // namespace

TEST_CASE("a leap equals its steps, bit for bit, in 6,000 random scenarios", "[leap]") {
  compare(1, 6000);
}

// A batch at time 0 knows no other clock than the GPU's: on one that is three times as slow all
// happens three times as late.
TEST_CASE("a slower GPU is slower by as much, for a batch at once", "[property]") {
  for (std::uint32_t seed = 1; seed <= 500; ++seed) {
    Scenario s = random_scenario(seed);
    s.observe_at.clear();
    s.aborts.clear();
    for (auto& r : s.requests) r.arrival = 0;
    s.times.steps_added = 0;  // rounded
    const Outcome fast = run(s, true);
    ToyTimes& t = s.times;
    for (Ticks* time : {&t.base, &t.per_sequence, &t.prefill_base, &t.per_prefill_token, &t.delay,
                        &t.per_token[0], &t.per_token[1], &t.per_token[2], &t.per_sample,
                        &t.per_group_row, &s.config.swap.per_block}) {
      *time *= 3;
    }
    const Outcome slow = run(s, true);
    INFO("seed " << seed);
    std::size_t finished = 0;
    REQUIRE(fast.lines.size() == slow.lines.size());
    for (std::size_t i = 0; i < fast.lines.size(); ++i) {
      if (number(fast.lines[i], "finished") < 0) continue;
      ++finished;
      REQUIRE(number(slow.lines[i], "finished") == number(fast.lines[i], "finished"));
      REQUIRE(std::stoll(slow.lines[i]) == 3 * std::stoll(fast.lines[i]));
    }
    REQUIRE(static_cast<std::int64_t>(finished) == fast.counters.completed);
  }
}

// Not part of a plain run: test_engine "[soak]".
TEST_CASE("a leap equals its steps in 40,000 more random scenarios", "[.][soak]") {
  compare(100001, 140000);
}
