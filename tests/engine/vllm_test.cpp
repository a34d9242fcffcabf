// vLLM V1's rules, step by step, on runs worked out by hand. A step that holds prefill takes
// 10 + its prompt tokens + 1 for each prompt it completes; a decode step takes 10.
#include <catch2/catch.hpp>

#include "harness.hpp"
#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::test;
using Lines = std::vector<std::string>;

namespace {

Scenario toy(std::int64_t usable_blocks) {
  Scenario s;
  s.config.pool = {usable_blocks + 1, 4, 0};  // one null block
  s.config.knobs.max_num_seqs = 8;
  s.config.knobs.max_num_batched_tokens = 100;
  s.config.knobs.enable_prefix_caching = false;
  s.times.base = 10;
  s.times.prefill_base = 10;
  s.times.per_prefill_token = 1;
  return s;
}

}  // namespace

TEST_CASE("one request: its prompt, then a step a token") {
  Scenario s = toy(8);
  s.requests = {request(0, 0, 5, 3)};
  // The first token comes at the end of the prompt's step; 6 tokens take 2 blocks of 4.
  CHECK(run(s, true).lines == Lines{"0 scheduled 0 cached 0", "16 first_token 0",
                                    "0 epoch steps 1 n 0 prefill 5 over 0 context 0 running 1 "
                                    "waiting 0 blocks 2 first 16 growth 0",
                                    "36 finished 0",
                                    "16 epoch steps 2 n 1 prefill 0 over 0 context 6 running 1 "
                                    "waiting 0 blocks 2 first 10 growth "
                                    "0"});
}

TEST_CASE("out of blocks: the tail of running is preempted, recomputed first, not in that step") {
  Scenario s = toy(6);
  s.requests = {request(0, 0, 8, 6), request(1, 0, 8, 6)};
  const Outcome o = run(s, true);
  // 28: both take a third block for tokens 9 to 12. 68: two blocks wanted, none free: 1 goes. 78: 0
  // is done, 1 computes its 8 + 5 tokens again, which gives its sixth.
  CHECK(o.lines == Lines{"0 scheduled 0 cached 0", "0 scheduled 1 cached 0", "28 first_token 0",
                         "28 first_token 1",
                         "0 epoch steps 1 n 0 prefill 16 over 0 context 0 running 2 waiting 0 "
                         "blocks 4 first 28 growth 0",
                         "68 preempted 1",
                         "28 epoch steps 4 n 2 prefill 0 over 0 context 18 running 2 waiting 0 "
                         "blocks 6 first 10 growth "
                         "0",
                         "78 finished 0",
                         "68 epoch steps 1 n 1 prefill 0 over 0 context 13 running 1 waiting 1 "
                         "blocks 4 first 10 growth "
                         "0",
                         "102 finished 1",
                         "78 epoch steps 1 n 0 prefill 13 over 0 context 0 running 1 waiting 0 "
                         "blocks 4 first 24 growth "
                         "0"});
  CHECK(o.counters.preemptions == 1);
  CHECK(o.counters.tokens_recomputed == 13);
  CHECK(o.counters.tokens_prefilled == 16);
  CHECK(o.counters.tokens_generated == 12);
}

TEST_CASE("a preempted sequence finds what was not evicted of its blocks") {
  Scenario s = toy(6);
  s.config.knobs.enable_prefix_caching = true;
  s.requests = {request(0, 0, 8, 6), request(1, 0, 8, 6)};
  s.requests[1].stream = 7;
  // 68: three full blocks of 1 are freed; 0 takes the last of them. 78: 1 finds two blocks and
  // computes 13 - 8 = 5 tokens in 10 + 5 + 1.
  const Outcome o = run(s, true);
  CHECK(events(o) == Lines{"0 scheduled 0 cached 0", "0 scheduled 1 cached 0", "28 first_token 0",
                           "28 first_token 1", "68 preempted 1", "78 finished 0", "94 finished 1"});
  CHECK(o.counters.prefix_hits == 8);
  CHECK(o.counters.tokens_cached == 0);  // nothing that was not computed before
}

TEST_CASE("chunks take what the decoding sequences leave of the budget") {
  Scenario s = toy(20);
  s.config.knobs.max_num_batched_tokens = 8;
  s.requests = {request(0, 0, 4, 10), request(1, 0, 20, 1)};
  const Outcome o = run(s, true);
  CHECK(o.epochs.at(0).prefill_tokens == 8);  // 4 of 0 and 4 of 1: 10 + 8 + 1
  CHECK(o.epochs.at(1).start == 19);
  CHECK(o.epochs.at(1).prefill_tokens == 7);
  CHECK(o.epochs.at(1).prefill_context == 4);
  CHECK(o.epochs.at(1).sequences == 1);
  CHECK(o.epochs.at(2).start == 36);
  CHECK(o.epochs.at(3).start == 53);
  CHECK(o.epochs.at(3).prefill_tokens == 2);
  CHECK(o.lines.at(3) ==
        "0 epoch steps 1 n 0 prefill 8 over 0 context 0 running 2 waiting 0 blocks 2 first "
        "19 growth 0");
  CHECK(events(o).at(3) == "66 first_token 1");
  CHECK(events(o).at(4) == "66 finished 1");
}

TEST_CASE("a last chunk of one token is a prefill step") {
  Scenario s = toy(20);
  s.config.knobs.max_num_batched_tokens = 8;
  s.requests = {request(0, 0, 9, 1)};
  const Outcome o = run(s, true);
  REQUIRE(o.epochs.size() == 2);
  CHECK(o.epochs[1].prefill_tokens == 1);
  CHECK(events(o).back() == "30 finished 0");  // 10 + 8, then 10 + 1 + 1
}

TEST_CASE("long_prefill_token_threshold lets several prompts advance side by side") {
  Scenario s = toy(20);
  s.config.knobs.long_prefill_token_threshold = 4;
  s.requests = {request(0, 0, 10, 1), request(1, 0, 6, 1)};
  const Outcome o = run(s, true);
  CHECK(o.epochs.at(0).prefill_tokens == 8);
  CHECK(o.epochs.at(1).prefill_tokens == 6);  // 4 + 2
  CHECK(o.epochs.at(2).prefill_tokens == 2);
}

TEST_CASE("an arrival is seen at the first step boundary after it") {
  Scenario s = toy(40);
  s.requests = {request(0, 0, 4, 100), request(1, 40, 4, 1)};
  // Boundaries at 15, 25, 35, 45, ...
  CHECK(events(run(s, true)).at(2) == "45 scheduled 1 cached 0");
  CHECK(events(run(s, true)).at(4) == "60 finished 1");
  s.requests[1].arrival = 45;
  CHECK(events(run(s, true)).at(2) == "55 scheduled 1 cached 0");
  CHECK(events(run(s, true, false)).at(2) == "55 scheduled 1 cached 0");
}

TEST_CASE("an arrival that cannot be admitted does not end the epoch") {
  Scenario s = toy(40);
  s.config.knobs.max_num_seqs = 1;
  s.requests = {request(0, 0, 4, 100), request(1, 40, 4, 1)};
  // Start, end of the prompt, end of 99 decode steps, end of the second prompt.
  CHECK(run(s, true).counters.events == 4);
  s.config.knobs.max_num_seqs = 8;
  s.config.pool.num_blocks = 27;  // 26 for request 0 alone; 1 needs one when 0 still needs all
  s.requests[1] = request(1, 1000, 4, 1);
  CHECK(run(s, true).counters.events == 4);
}

TEST_CASE("the full-sequence gate and the watermark hold the head, and all behind it") {
  Scenario s = toy(10);
  s.config.knobs.max_num_batched_tokens = 16;
  s.requests = {request(0, 0, 12, 4), request(1, 0, 32, 1), request(2, 0, 1, 1)};
  // 1 needs 8 blocks and 7 are free: it waits for 0, and 2 behind it though one block would do.
  Outcome o = run(s, true);
  CHECK(events(o).at(1) == "23 first_token 0");
  CHECK(events(o).at(3) == "53 scheduled 1 cached 0");
  // Without the gate its first chunk of 16 - 12 = 4 tokens is let in at once.
  s.config.knobs.reserve_full_isl = false;
  CHECK(events(run(s, true)).at(1) == "0 scheduled 1 cached 0");
  // The watermark (3 of 11 blocks) counts only beside running sequences.
  s = toy(10);
  s.config.knobs.watermark = 0.3;
  s.requests = {request(0, 0, 16, 2), request(1, 0, 12, 1)};
  o = run(s, true);
  CHECK(events(o).at(1) == "0 scheduled 1 cached 0");  // 4 taken; 3 + 3 <= 6
  s.requests[1].prompt_tokens = 16;
  CHECK(events(run(s, true)).at(3) == "37 scheduled 1 cached 0");  // 4 + 3 > 6
}

TEST_CASE("the next turn of a conversation finds whole blocks of its history") {
  Scenario s = toy(40);
  s.config.knobs.enable_prefix_caching = true;
  s.requests = {request(0, 0, 10, 3), request(1, 100, 16, 1), request(2, 200, 16, 1)};
  for (auto& r : s.requests) r.stream = 3;
  const Outcome o = run(s, true);
  // 12 of 13 tokens have KV: 3 blocks. The third request's last token is computed in any case.
  CHECK(events(o).at(3) == "100 scheduled 1 cached 12");
  CHECK(events(o).at(6) == "200 scheduled 2 cached 12");
  CHECK(o.counters.tokens_cached == 24);
}

TEST_CASE("sequences admitted in one step share the prefix that the first of them computes") {
  Scenario s = toy(40);
  s.config.knobs.enable_prefix_caching = true;
  s.requests = {request(0, 0, 20, 1), request(1, 0, 24, 1), request(2, 0, 24, 1)};
  for (auto& r : s.requests) {
    r.shared_stream = 9;
    r.shared_prefix = 18;
  }
  const Outcome o = run(s, true);
  CHECK(o.lines.at(1) == "0 scheduled 1 cached 16");
  CHECK(o.lines.at(2) == "0 scheduled 2 cached 16");
  CHECK(o.epochs.at(0).blocks_used == 5 + 2 + 2);
}

TEST_CASE("a sliding window's context stops growing at the window") {
  Scenario s = toy(40);
  s.times.window_tokens = {6};
  s.times.per_token = {0, 1, 0};
  s.requests = {request(0, 0, 4, 6)};
  const Outcome o = run(s, true);
  CHECK(events(o).back() == "94 finished 0");  // 15, then 15 + 4 * 16
  REQUIRE(o.epochs.size() == 3);
  CHECK(o.epochs[1].step_growth == 1);
  CHECK(o.epochs[1].steps == 1);
  CHECK(o.epochs[2].step_growth == 0);
}

TEST_CASE("reported times: a delay and R steps, the same for every token of a stream") {
  Scenario s = toy(40);
  s.times.delay = 3;
  s.times.steps_added = 2;
  s.requests = {request(0, 0, 4, 3), request(1, 1000, 4, 10)};
  CHECK(events(run(s, true)) == Lines{"0 scheduled 0 cached 0", "38 first_token 0", "58 finished 0",
                                      "1000 scheduled 1 cached 0", "1038 first_token 1",
                                      "1128 finished 1"});
}

TEST_CASE("a stream interval holds the first token back, not the end") {
  Scenario s = toy(40);
  s.config.knobs.stream_interval = 3;
  s.requests = {request(0, 0, 4, 5), request(1, 1000, 4, 2)};
  // 15 and two more steps of 10; the second has one more token only.
  CHECK(events(run(s, true)) == Lines{"0 scheduled 0 cached 0", "35 first_token 0", "55 finished 0",
                                      "1000 scheduled 1 cached 0", "1025 first_token 1",
                                      "1025 finished 1"});
}

TEST_CASE("what can never run is rejected with the arithmetic") {
  Scenario s = toy(6);
  s.config.knobs.max_model_len = 30;
  s.requests = {request(0, 0, 20, 11), request(1, 0, 20, 6), request(2, 0, 20, 5),
                request(3, 0, 0, 1)};
  const Outcome o = run(s, true);
  CHECK(o.lines.at(0) == "0 rejected 0: 20 prompt + 11 output = 31 tokens exceed max_model_len 30");
  CHECK(o.lines.at(1) ==
        "0 rejected 1: needs 7 KV blocks (20 prompt + 6 output - 1 = 25 tokens in blocks of 4), "
        "the pool has 6 (7 less one null block)");
  CHECK(o.lines.at(2) == "0 rejected 3: has 0 prompt and 1 output tokens: each must be at least 1");
  CHECK(o.counters.rejected == 3);
  CHECK(o.counters.completed == 1);  // 24 tokens fill the pool exactly
}

TEST_CASE("state blocks are held whatever the length") {
  Scenario s = toy(10);
  s.config.pool.fixed_blocks = 3;
  s.requests = {request(0, 0, 4, 2), request(1, 0, 4, 1), request(2, 0, 4, 1)};
  const Outcome o = run(s, true);
  CHECK(o.epochs.at(0).blocks_used == 8);
  CHECK(events(o).at(2) == "20 first_token 0");
  CHECK(o.counters.blocks_allocated == o.counters.blocks_freed);
}

TEST_CASE("bad configurations are refused") {
  Scenario s = toy(10);
  s.config.knobs.max_num_seqs = 0;
  CHECK_THROWS_AS(run(s, true), InputError);
  s = toy(10);
  s.config.pool.block_tokens = 0;
  CHECK_THROWS_AS(run(s, true), InputError);
  s = toy(10);
  s.config.knobs.watermark = 1;
  CHECK_THROWS_AS(run(s, true), InputError);
}
