// SGLang's rules on runs worked out by hand: pages of one token, prefill steps of
// 10 + tokens + 1 for each prompt completed, decode steps of 10.
#include <catch2/catch.hpp>

#include "harness.hpp"

using namespace servegrid;
using namespace servegrid::test;
using Lines = std::vector<std::string>;

namespace {

Scenario toy(std::int64_t tokens) {
  Scenario s;
  s.config.policy = catalog::Policy::sglang;
  s.config.pool = {tokens, 1, 0};
  s.config.knobs.max_num_seqs = 8;
  s.config.knobs.max_num_batched_tokens = 1000;
  s.times.base = 10;
  s.times.prefill_base = 10;
  s.times.per_prefill_token = 1;
  return s;
}

}  // namespace

TEST_CASE("SGLang: prefill goes first and decode waits") {
  Scenario s = toy(100);
  s.requests = {request(0, 0, 10, 5), request(1, 12, 10, 5)};
  const Outcome o = run(s, true);
  CHECK(events(o) == Lines{"0 scheduled 0 cached 0", "21 first_token 0", "21 scheduled 1 cached 0",
                           "42 first_token 1", "82 finished 0", "82 finished 1"});
  REQUIRE(o.epochs.size() == 3);
  CHECK(o.epochs[1].sequences == 0);
  CHECK(o.epochs[2].sequences == 2);
  CHECK(o.epochs[2].steps == 4);
}

TEST_CASE("SGLang: one chunked prompt at a time, alone until its last chunk") {
  Scenario s = toy(200);
  s.config.knobs.max_num_batched_tokens = 10;
  s.requests = {request(0, 0, 24, 1), request(1, 0, 4, 1), request(2, 0, 4, 1)};
  const Outcome o = run(s, true);
  REQUIRE(o.epochs.size() == 4);
  CHECK(o.epochs[0].prefill_tokens == 10);
  CHECK(o.epochs[1].prefill_tokens == 10);
  CHECK(o.epochs[2].prefill_tokens == 10);  // 4 + 4 + 2 of the third
  CHECK(o.epochs[3].prefill_tokens == 2);
}

TEST_CASE("SGLang: retraction takes the shortest output, then the longest input") {
  Scenario s = toy(30);
  s.config.knobs.enable_prefix_caching = false;
  s.config.knobs.schedule_conservativeness = 0;
  s.requests = {request(0, 0, 10, 10), request(1, 0, 8, 8)};
  const Outcome o = run(s, true);
  // 0 books 10 + 10 + 1 of 30, so 1 (8 + 8 + 1) waits for the next batch, where outputs count for
  // nothing. 40: 12 tokens are left for 6 steps. 100: both have 7 tokens; 0 has the longer input.
  // 110: 0 computes 17 tokens again.
  CHECK(events(o) == Lines{"0 scheduled 0 cached 0", "21 first_token 0", "21 scheduled 1 cached 0",
                           "40 first_token 1", "100 preempted 0", "110 finished 1",
                           "158 finished 0"});
  CHECK(o.counters.tokens_recomputed == 17);
}

TEST_CASE("SGLang: the head is admitted at the first step at which the decaying ratio allows it") {
  Scenario s = toy(1100);
  s.requests = {request(0, 0, 10, 1000), request(1, 5, 100, 300)};
  std::int64_t k = 0;
  const double decay = 0.7 * (1 - 0.14) / 600;
  while (1090.0 - static_cast<double>(k) -
             (999.0 - static_cast<double>(k)) * (0.7 - static_cast<double>(k) * decay) <=
         401.0) {
    ++k;
  }
  REQUIRE(k > 5);
  const Outcome o = run(s, true);
  CHECK(events(o).at(2) == std::to_string(21 + 10 * k) + " scheduled 1 cached 0");
  CHECK(o.counters.events < 10);
}

TEST_CASE("SGLang: arrivals are polled every so many steps") {
  Scenario s = toy(500);
  s.config.knobs.scheduler_recv_interval = 4;
  s.requests = {request(0, 0, 4, 50), request(1, 3, 4, 1), request(2, 31, 4, 1)};
  // The prompt of 0 ends at 15, decode steps at 25, 35 and 45: the fourth step sees 1 and 2, whose
  // prompts share one batch.
  CHECK(events(run(s, true)).at(2) == "45 scheduled 1 cached 0");
  CHECK(events(run(s, true)).at(3) == "45 scheduled 2 cached 0");
}

TEST_CASE("SGLang: a remainder above 4096 tokens is booked as 4096") {
  Scenario s = toy(20000);
  s.requests = {request(0, 0, 10, 6000), request(1, 0, 10, 6000), request(2, 0, 10, 4500)};
  const Outcome leap = run(s, true);
  CHECK(leap.lines == run(s, false).lines);
  // Each books 10 + 4096 + 1, and 3 * 4107 < 20000.
  CHECK(leap.lines.at(2) == "0 scheduled 2 cached 0");
}

TEST_CASE("SGLang: what can never be admitted is rejected") {
  Scenario s = toy(30);
  s.requests = {request(0, 0, 20, 9), request(1, 0, 20, 8)};
  const Outcome o = run(s, true);
  CHECK(o.lines.at(0) ==
        "0 rejected 0: needs 30 KV tokens (20 prompt + 9 output + one page of 1), which must be "
        "less than the pool's 30");
  CHECK(o.counters.completed == 1);
}
