// The classics and ATOM on the worked example.
#include <catch2/catch.hpp>

#include "worked_example.hpp"

using namespace servegrid;
using namespace servegrid::test;

namespace {

Scenario vllm_v0() {
  Scenario s = ten_requests(catalog::Policy::vllm_v0);
  s.config.knobs.max_num_batched_tokens = 24;
  s.config.knobs.watermark = 0.1;  // one block
  return s;
}

// The end of both ways to preempt: from step 9 on nothing tells them apart.
const Lines v0_rest = {"9: 2(3) 4(1)* 5(2)* 6(1)*",
                       "10: 2(3) 4(2) 5(3) 6(2)",
                       "11: 2(3) 4(2) 5(3)",   // 7 wants 4 + 1 of 2
                       "12: 4(2) 5(3) 7(4)*",  // 5 free: 7 alone, the others wait
                       "13: 4(2) 5(3) 7(5)",
                       "14: 8(1)* 9(2)*",
                       "15: 8(2) 9(3)",
                       "16: 8(2) 9(3)",
                       "17: 8(2)",
                       "18: 8(2)",
                       "19: 8(3)"};

Lines joined(Lines a, const Lines& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("worked example: vLLM V0 recomputes", "[worked]") {
  CHECK(steps(vllm_v0()) ==
        joined({"1: 0(2)* 1(2)* 2(1)*",             // 20 of 24 tokens
                "2: 0(2) 1(2) 2(1) 3(3)*",          // 3 + 1 of 5 blocks: prompts first, 0 to 2 wait
                "3: 0(3) 1(3) 2(2) | preempted 3",  // 2 finds nothing free
                "4: 0(3) 1(3) 2(2)",                // 3 has 13 tokens: 4 + 1 of 2
                "5: 0(3) 1(3) 2(2)", "6: 0(3) 1(3) 2(2)",
                "7: 0(4) 1(4) | preempted 2",  // 0 and 1 take the last two, 2 is the tail
                "8: 2(3)* 3(4)*"},             // 9 + 13 tokens; 3 has its second then
               v0_rest));
}

TEST_CASE("worked example: vLLM V0 swaps", "[worked]") {
  Scenario s = vllm_v0();
  s.config.knobs.swap_preempted = true;
  s.config.swap = {8, 7};
  CHECK(steps(s) ==
        joined({"1: 0(2)* 1(2)* 2(1)*", "2: 0(2) 1(2) 2(1) 3(3)*",
                "3: 0(3) 1(3) 2(2) | preempted 3",  // its 3 blocks go to the host
                "4: 0(3) 1(3) 2(2)",  // 3 + 1 + 1 of 2; no prompts while somebody is swapped
                "5: 0(3) 1(3) 2(2)", "6: 0(3) 1(3) 2(2)", "7: 0(4) 1(4) | preempted 2",
                "8: 2(3) 3(4)"},  // both come back, by arrival, and go on
               v0_rest));
  const Outcome o = run(s, true);
  CHECK(o.counters.swapped_out == 5);
  CHECK(o.counters.swapped_in == 5);
  CHECK(o.counters.tokens_recomputed == 0);
  // Step 3 copies 3 blocks, step 7 copies 2, step 8 brings 5 back: 7 ticks each.
  std::int64_t longest = 0;
  for (const auto& e : o.epochs) {
    longest = std::max(longest, static_cast<std::int64_t>(e.first_step));
  }
  CHECK(longest == 10 + 5 * 7);
}

TEST_CASE("worked example: vLLM V0 without room to swap", "[worked]") {
  Scenario s = vllm_v0();
  s.config.knobs.swap_preempted = true;
  s.config.swap = {4, 7};
  CHECK_THROWS_WITH(run(s, true), Catch::Matchers::StartsWith(
                                      "swap_space is full: 3 of 4 blocks are in host memory and "
                                      "request 2 has 2 more."));
}

TEST_CASE("worked example: Sarathi-Serve", "[worked]") {
  Scenario s = ten_requests(catalog::Policy::sarathi);
  s.config.knobs.watermark = 0.1;  // one block
  CHECK(steps(s) ==
        Lines{"1: 0(2)* 1(2)*", "2: 0(3) 1(3) 2(1)*",  // 3 wants 3 + 1 of 3
              "3: 0(3) 1(3) 2(2)", "4: 0(3) 1(3) 2(2)", "5: 0(3) 1(3) 2(2)",
              // 0 and 1 take the last two; 2 needs none, but finds none free
              "6: 0(4) 1(4) | preempted 2",
              "7: 2(2)* 3(3)*",  // 8 and 8 of 12 tokens: 3 has all its blocks at once
              "8: 2(3) 3(3)* 4(1)* 5(2)*",
              "9: 2(3) 3(4) 4(2) | preempted 5",  // 4 finds none free: the tail, a prompt, goes
              "10: 2(3) 4(2) 5(2)* 6(1)*", "11: 4(2) 5(3) 6(2)", "12: 5(3) 7(4)*",
              "13: 5(3) 7(4)* 8(1)*",  // 9 wants 2 + 1 of 2
              "14: 7(5) 8(2) 9(2)*", "15: 8(2) 9(3)", "16: 8(2) 9(3)", "17: 8(2)", "18: 8(3)"});
}

// Five blocks for max_model_len 20: two at a time.
TEST_CASE("worked example: Orca", "[worked]") {
  Scenario s = ten_requests(catalog::Policy::orca);
  s.config.knobs.max_model_len = 20;
  CHECK(steps(s) == Lines{"1: 0(5)* 1(5)*", "2: 0(5) 1(5)",   "3: 0(5) 1(5)",   "4: 0(5) 1(5)",
                          "5: 0(5) 1(5)",   "6: 0(5) 1(5)",   "7: 2(5)* 3(5)*", "8: 2(5) 3(5)",
                          "9: 2(5) 4(5)*",  // 3 is done: 4 joins beside the decoding 2
                          "10: 2(5) 4(5)",  "11: 2(5) 4(5)",  "12: 2(5) 4(5)",  "13: 2(5) 5(5)*",
                          "14: 2(5) 5(5)",  "15: 5(5) 6(5)*", "16: 5(5) 6(5)",  "17: 7(5)* 8(5)*",
                          "18: 7(5) 8(5)",  "19: 8(5) 9(5)*", "20: 8(5) 9(5)",  "21: 8(5) 9(5)",
                          "22: 8(5)"});
}

TEST_CASE("worked example: static batches", "[worked]") {
  Scenario s = ten_requests(catalog::Policy::static_batch);
  s.config.knobs.max_model_len = 20;
  CHECK(steps(s) == Lines{"1: 0(5)* 1(5)*", "2: 0(5) 1(5)",    "3: 0(5) 1(5)",   "4: 0(5) 1(5)",
                          "5: 0(5) 1(5)",   "6: 0(5) 1(5)",    "7: 2(5)* 3(5)*", "8: 2(5) 3(5)",
                          "9: 2(5)",  // 3 is done, but the batch is closed until 2 is
                          "10: 2(5)",       "11: 2(5)",        "12: 2(5)",       "13: 2(5)",
                          "14: 2(5)",       "15: 4(5)* 5(5)*", "16: 4(5) 5(5)",  "17: 4(5) 5(5)",
                          "18: 4(5) 5(5)",  "19: 6(5)* 7(5)*", "20: 6(5) 7(5)",  "21: 8(5)* 9(5)*",
                          "22: 8(5) 9(5)",  "23: 8(5) 9(5)",   "24: 8(5)",       "25: 8(5)",
                          "26: 8(5)"});
}

TEST_CASE("worked example: ATOM", "[worked]") {
  Scenario s = ten_requests(catalog::Policy::atom);
  s.config.knobs.enable_chunked_prefill = false;
  CHECK(
      steps(s) ==
      Lines{
          "1: 0(2)* 1(2)*",
          "2: 0(2) 1(2) 2(1)* 3(3)*",         // prompts first: 4 + 12 tokens
          "3: 0(3) 1(3) 2(2) | preempted 3",  // four blocks wanted, two free
          "4: 0(3) 1(3) 2(2)", "5: 0(3) 1(3) 2(2)", "6: 0(3) 1(3) 2(2)",
          "7: 0(4) 1(4) | preempted 2",
          "8: 2(3)*",  // 9 tokens; the 13 of 3 do not go beside
          "9: 2(3) 3(4)*", "10: 2(3) 4(1)* 5(2)* 6(1)*", "11: 2(3) 4(2) 5(3) 6(2)",

          // 7 was refused (17 tokens in one step when preempted); no watermark: 8 takes one of two
          "12: 2(3) 4(2) 5(3) 8(1)*", "13: 2(3) 4(2) 5(3) 8(2)", "14: 4(2) 5(3) 8(2) 9(2)*",
          "15: 4(2) 5(3) 8(2) 9(3)", "16: 8(2) 9(3)", "17: 8(2)", "18: 8(3)"});
}
