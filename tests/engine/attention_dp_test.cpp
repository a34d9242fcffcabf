// Ranks of attention data parallelism step together: worked by hand.
#include <catch2/catch.hpp>

#include "harness.hpp"

using namespace servegrid;
using namespace servegrid::test;

namespace {

Scenario two_ranks() {
  Scenario s;
  s.config.policy = catalog::Policy::vllm_v1;
  s.config.ranks = 2;
  s.config.pool = {200, 16, 0};
  s.config.knobs.rank_balance = catalog::RankBalance::fewest_tokens;
  s.times.base = 10;
  s.times.per_token = {1, 0, 0};
  s.times.prefill_base = 10;
  s.times.per_prefill_token = 1;
  return s;
}

}  // namespace

TEST_CASE("the slowest rank sets the pace, and an epoch splits where another one becomes slower") {
  Scenario s = two_ranks();
  // Rank 0 takes the long prompt, rank 1 both short ones (fewest tokens).
  s.requests = {request(0, 0, 20, 30), request(1, 0, 4, 30), request(2, 0, 4, 30)};
  const Outcome o = run(s, true);
  // Prefill: 10 + 20 + 1 on rank 0, 10 + 8 + 2 on rank 1: 31. Then 29 decode steps of
  // max(10 + 21 + j, 10 + 10 + 2 j): rank 0 sets the pace until both take 42 at j = 11, rank 1
  // from there on. 11 * 31 + 55 = 396; 18 * 20 + 2 * (11 + ... + 28) = 1062.
  REQUIRE(o.epochs.size() == 3);
  CHECK(o.epochs[0].first_step == 31);
  CHECK(o.epochs[1].steps == 11);
  CHECK(o.epochs[1].step_growth == 1);
  CHECK(o.epochs[2].steps == 18);
  CHECK(o.epochs[2].first_step == 42);
  CHECK(o.epochs[2].step_growth == 2);
  CHECK(o.epochs[1].sequences == 3);
  CHECK(o.lines.back().find("epoch") != std::string::npos);
  CHECK(o.lines[o.lines.size() - 2] == "1489 finished 2");
  CHECK(o.counters.steps == 30);
  CHECK(o.counters.events == 4);  // start, prefill, two leaps
  CHECK(o.counters.completed == 3);
  CHECK(run(s, false).lines == o.lines);
}

TEST_CASE("each rank has its own pool: a request must fit one rank's share") {
  Scenario s = two_ranks();
  s.config.pool.num_blocks = 20;  // 10 a rank, one of them null: 9 * 16 = 144 tokens
  s.requests = {request(0, 0, 140, 6)};
  Outcome o = run(s, true);
  CHECK(o.counters.rejected == 1);
  CHECK(o.lines[0].find("the pool has 9") != std::string::npos);
  s.requests = {request(0, 0, 140, 5)};
  CHECK(run(s, true).counters.completed == 1);
  // Two of them run at once, one on each rank; a third waits.
  s.requests = {request(0, 0, 140, 5), request(1, 0, 140, 5), request(2, 0, 140, 5)};
  o = run(s, true);
  CHECK(o.counters.peak_running == 2);
  CHECK(o.counters.completed == 3);
}

TEST_CASE("an idle rank waits for the end of a step of the others, and is seen by it") {
  Scenario s = two_ranks();
  s.config.knobs.rank_balance = catalog::RankBalance::round_robin;
  s.times.per_group_row = 100;  // every row of any rank makes the step of all longer
  s.requests = {request(0, 0, 1, 50), request(1, 1000, 1, 2)};
  const Outcome o = run(s, true);
  // Prefill 10 + 1 + 1 + 100 = 112; decode steps 10 + 2 + j + 100: 112, 113, ...: ends at 224, 337,
  // 451, 566, 682, 799, 917, 1036: the first end after 1000 admits the second one.
  bool seen = false;
  for (const auto& line : o.lines) seen = seen || line == "1036 scheduled 1 cached 0";
  CHECK(seen);
  // Its prompt's step has two rows in all: 10 + 1 + 1 + 200 = 212 on its rank, 10 + 10 + 200 on the
  // other.
  for (const auto& e : o.epochs) {
    if (e.start == 1036) CHECK(e.first_step == 220);
  }
  CHECK(run(s, false).lines == o.lines);
}

TEST_CASE("SGLang divides its limits by the ranks") {
  Scenario s = two_ranks();
  s.config.policy = catalog::Policy::sglang;
  s.config.knobs.rank_balance = catalog::RankBalance::round_robin;
  s.config.knobs.max_num_seqs = 2;             // one a rank
  s.config.knobs.max_num_batched_tokens = 64;  // chunks of 32
  s.requests = {request(0, 0, 40, 5), request(1, 0, 8, 5), request(2, 0, 8, 5)};
  const Outcome o = run(s, true);
  CHECK(o.counters.peak_running == 2);
  CHECK(o.epochs[0].prefill_tokens == 32 + 8);
  CHECK(o.counters.completed == 3);
}

TEST_CASE("a round of the pipeline schedules a token budget for each stage") {
  Scenario s = two_ranks();
  s.config.ranks = 1;
  s.config.knobs.max_num_batched_tokens = 16;
  s.requests = {request(0, 0, 64, 2)};
  CHECK(run(s, true).epochs[0].prefill_tokens == 16);
  s.config.stages = 4;
  CHECK(run(s, true).epochs[0].prefill_tokens == 64);
}
