// TensorRT-LLM's two capacity policies on runs worked out by hand (times as in vllm_test.cpp).
#include <catch2/catch.hpp>

#include "harness.hpp"

using namespace servegrid;
using namespace servegrid::test;

namespace {
Scenario toy() {
  Scenario s;
  s.config.policy = catalog::Policy::trtllm;
  s.config.pool = {8, 4, 0};
  s.config.knobs.max_num_seqs = 8;
  s.config.knobs.max_num_batched_tokens = 100;
  s.config.knobs.enable_prefix_caching = false;
  s.times.base = 10;
  s.times.prefill_base = 10;
  s.times.per_prefill_token = 1;
  s.requests = {request(0, 0, 8, 8), request(1, 0, 8, 8), request(2, 0, 4, 4)};
  return s;
}
}  // namespace

TEST_CASE("TensorRT-LLM, no evict: admission books prompt and output") {
  const Scenario s = toy();
  const Outcome o = run(s, true);
  // 4 + 4 blocks of 8 are booked until 28 + 7 * 10.
  CHECK(o.lines.at(5) == "98 finished 0");
  CHECK(o.lines.at(6) == "98 finished 1");
  CHECK(o.lines.at(7) == "98 scheduled 2 cached 0");
  CHECK(o.counters.preemptions == 0);
}

TEST_CASE("TensorRT-LLM, max utilization: admits what fits now, pauses the last started") {
  Scenario s = toy();
  s.config.knobs.guaranteed_no_evict = false;
  Outcome o = run(s, true);
  // 33: 5 of 8 blocks held, each takes one more. 63: 2 ends and leaves its two for 0 and 1.
  CHECK(o.lines.at(2) == "0 scheduled 2 cached 0");
  CHECK(o.counters.preemptions == 0);
  CHECK(o.counters.completed == 3);
  // With 7 blocks, 8 are wanted at 33: 2, the last started, is paused after its first token.
  s.config.pool.num_blocks = 7;
  o = run(s, true);
  CHECK(o.lines.at(6) == "33 preempted 2");
  CHECK(o.counters.completed == 3);
}

TEST_CASE("TensorRT-LLM: refusals") {
  Scenario s = toy();
  s.config.knobs.enable_chunked_prefill = false;
  s.config.knobs.max_num_batched_tokens = 16;
  s.requests = {request(0, 0, 17, 1), request(1, 0, 16, 17), request(2, 0, 16, 16)};
  const Outcome o = run(s, true);
  CHECK(o.lines.at(0) ==
        "0 rejected 0: may need 17 tokens in one step, without chunked prefill max_num_tokens is "
        "16");
  CHECK(o.lines.at(1) ==
        "0 rejected 1: needs 9 KV blocks to completion (16 prompt + 17 output tokens in blocks of "
        "4), the pool has 8");
  CHECK(o.counters.completed == 1);
}

TEST_CASE("TensorRT-LLM: prompts wait for more of them while others decode") {
  Scenario s = toy();
  s.config.pool.num_blocks = 40;
  s.config.knobs.batch_wait_timeout_iters = 3;
  s.config.knobs.batch_wait_max_tokens_ratio = 0.9;
  s.requests = {request(0, 0, 8, 20), request(1, 20, 4, 4)};
  Outcome o = run(s, true);
  // Nothing decodes at 0. 1 is seen at 29 and waits three steps: at 59 it is let in.
  CHECK(events(o).at(0) == "0 scheduled 0 cached 0");
  CHECK(events(o).at(2) == "59 scheduled 1 cached 0");
  CHECK(o.lines == run(s, false).lines);
  // 90 tokens are enough to start at once.
  s.requests = {request(0, 0, 8, 20), request(1, 20, 89, 4)};
  CHECK(events(run(s, true)).at(2) == "29 scheduled 1 cached 0");
}
