// Speculative decoding: worked by hand, and drawn acceptance against its expectation.
#include <catch2/catch.hpp>

#include "harness.hpp"

using namespace servegrid;
using namespace servegrid::test;

namespace {

catalog::Speculation drafts(std::vector<double> acceptance, bool sampled = false) {
  catalog::Speculation s;
  s.method = catalog::Speculation::Method::mtp;
  s.passes = static_cast<std::int64_t>(acceptance.size());
  s.verified = s.passes + 1;
  s.acceptance = std::move(acceptance);
  s.sampled = sampled;
  return s;
}

Scenario one_request(const engine::Pace& pace) {
  Scenario s;
  s.config.policy = catalog::Policy::vllm_v1;
  s.config.pool = {100, 4, 0};
  s.config.pace = pace;
  s.times.base = 1000;
  s.times.per_token = {1 << 16, 0, 0};  // a token of context: 65,536 ticks
  s.times.prefill_base = 50;
  s.requests = {request(0, 0, 10, 10)};
  return s;
}

}  // namespace

TEST_CASE("two drafts, half of the firsts accepted and all of the seconds they lead to") {
  // E = 1 + 0.75 + 0.75 = 2.5 tokens a step.
  const auto pace = engine::pace_of(drafts({0.75, 0.75}), 1);
  CHECK(pace.units == 5 << 15);
  CHECK(pace.rows == 3);
  CHECK(pace.reach == 2);
  // At its end a sequence may hold ceil(2.5) - 1 tokens too many, and 2 drafts.
  CHECK(pace.overshoot() == 4);
  const Scenario s = one_request(pace);
  const Outcome o = run(s, true);
  // The prompt's step gives the first token; after k more there are 1 + floor(2.5 k): 1, 3, 6, 8,
  // 11: the tenth comes with step 4. Context of the steps: 11, 13.5, 16, 18.5 tokens.
  const Ticks prefill = 50 + 1, token = 1 << 16;
  const Ticks decode = 4 * 1000 + token * 59;
  REQUIRE(o.lines.size() == 5);
  CHECK(o.lines[1] == "51 first_token 0");
  CHECK(o.lines[3] == std::to_string(static_cast<long long>(prefill + decode)) + " finished 0");
  CHECK(o.counters.steps == 5);
  CHECK(o.counters.events == 3);  // start, prefill, one leap of four steps
  CHECK(o.counters.drafts == 4);
  CHECK(o.counters.decoded_tokens == 9);  // the eleventh token is not wanted
  CHECK(o.counters.tokens_generated == 10);
  // Blocks of 4: the prompt and 2 drafts hold 3. Tokens with KV after the steps: 12, 15, 17, 20 and
  // 2 drafts: 4, 5, 5, 6 blocks.
  CHECK(o.counters.blocks_allocated == 6);
  CHECK(o.counters.blocks_freed == 6);
  CHECK(run(s, false).lines == o.lines);
}

TEST_CASE("the token budget counts the verified tokens of each sequence") {
  Scenario s = one_request(engine::pace_of(drafts({0.5, 0.25}), 1));
  s.config.knobs.max_num_batched_tokens = 8;  // two sequences of 3 tokens, and 2 of a prompt
  s.requests = {request(0, 0, 2, 30), request(1, 1, 2, 30), request(2, 2, 2, 30)};
  const Outcome o = run(s, true);
  CHECK(o.counters.peak_running == 2);
  s.config.knobs.max_num_batched_tokens = 2;
  CHECK_THROWS_WITH(run(s, true), Catch::Matchers::Contains("max_num_batched_tokens"));
}

TEST_CASE("a request whose drafts cannot be held is refused with the arithmetic") {
  Scenario s = one_request(engine::pace_of(drafts({0.75, 0.75}), 1));
  s.config.pool.num_blocks = 6;  // 5 less the null block: 19 tokens and 4 of drafts need 6
  const Outcome o = run(s, true);
  CHECK(o.counters.rejected == 1);
  CHECK(o.lines[0].find("needs 6 KV blocks") != std::string::npos);
  CHECK(o.lines[0].find("4 tokens of drafts") != std::string::npos);
  s.config.pool.num_blocks = 7;
  CHECK(run(s, true).counters.completed == 1);
}

TEST_CASE("drawn acceptance: by position as asked for, and every block comes back") {
  Scenario s = one_request(engine::pace_of(drafts({0.8, 0.6, 0.3}, true), 7));
  s.times.per_token = {1, 0, 0};
  s.requests.clear();
  for (std::int64_t i = 0; i < 40; ++i) s.requests.push_back(request(i, i * 50, 10 + i, 500));
  for (const auto policy :
       {catalog::Policy::vllm_v1, catalog::Policy::sglang, catalog::Policy::trtllm}) {
    s.config.policy = policy;
    s.config.pool.num_blocks = 1500;  // some preempt
    const Outcome o = run(s, true);
    CHECK(o.counters.completed == 40);
    CHECK(o.counters.tokens_generated == 40 * 500);
    CHECK(o.counters.blocks_allocated == o.counters.blocks_freed);
    const auto n = static_cast<double>(o.counters.drafts);
    REQUIRE(o.counters.accepted_at.size() == 3);
    // 7,000 draws: three standard deviations are below 0.018.
    CHECK(static_cast<double>(o.counters.accepted_at[0]) / n == Approx(0.8).margin(0.018));
    CHECK(static_cast<double>(o.counters.accepted_at[1]) / n == Approx(0.6).margin(0.018));
    CHECK(static_cast<double>(o.counters.accepted_at[2]) / n == Approx(0.3).margin(0.018));
    CHECK(run(s, false).lines == o.lines);
    Scenario other = s;
    other.config.pace.seed = 8;
    CHECK(run(other, true).lines != o.lines);
  }
}

TEST_CASE("expected and drawn acceptance take as long on average") {
  Scenario s = one_request(engine::pace_of(drafts({0.8, 0.6, 0.3}), 7));
  s.times.per_token = {};
  s.config.pool.num_blocks = 100000;
  s.config.knobs.max_num_seqs = 1;
  s.requests = {request(0, 0, 10, 200000)};
  const Outcome expected = run(s, true);
  s.config.pace = engine::pace_of(drafts({0.8, 0.6, 0.3}, true), 7);
  const Outcome drawn = run(s, true);
  CHECK(static_cast<double>(drawn.counters.steps) ==
        Approx(static_cast<double>(expected.counters.steps)).epsilon(0.01));
  CHECK(expected.counters.steps == 1 + 74074);  // the first k with floor(2.7 k) >= 199,999
  CHECK(expected.counters.events == 3);
}
