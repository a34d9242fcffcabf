// vLLM V1, TensorRT-LLM and SGLang on the worked example.
#include <catch2/catch.hpp>

#include "worked_example.hpp"

using namespace servegrid;
using namespace servegrid::test;

TEST_CASE("worked example: vLLM V1", "[worked]") {
  Scenario s = ten_requests(catalog::Policy::vllm_v1);
  s.config.pool.num_blocks = 11;  // one is the null block
  CHECK(steps(s) ==
        Lines{"1: 0(2)* 1(2)*",  // 16 tokens of budget
                                 // 14 left: 2 whole, 10 of the 12 of 3, whose 3 blocks are the last
              "2: 0(3) 1(3) 2(1)* 3(3)*",
              // 2 wants its second block: the tail goes, and nobody is admitted
              "3: 0(3) 1(3) 2(2) | preempted 3",
              // 3 wants 3 blocks of 2, and stands before the small 4
              "4: 0(3) 1(3) 2(2)", "5: 0(3) 1(3) 2(2)",
              "6: 0(4) 1(4) 2(2)",  // the sixth and last tokens of 0 and 1
              // 15 left: 12 of 3, 3 of the 4 of 4
              "7: 2(3) 3(3)* 4(1)*", "8: 2(3) 3(4) 4(1)* 5(2)*",
              "9: 2(3) 4(2) 5(3) 6(1)*",  // four run
              "10: 4(2) 5(3) 6(2)",       // 7 wants 4 blocks of 3
              "11: 4(2) 5(3) 7(4)*",      // 14 of 16 tokens
              "12: 7(4)* 8(1)* 9(2)*", "13: 7(5) 8(2) 9(3)", "14: 8(2) 9(3)", "15: 8(2)",
              "16: 8(2)", "17: 8(3)"});
}

TEST_CASE("worked example: TensorRT-LLM, GUARANTEED_NO_EVICT", "[worked]") {
  Scenario s = ten_requests(catalog::Policy::trtllm);
  s.config.knobs.enable_chunked_prefill = false;
  // To completion they need 4, 4, 3, 4, 2, 3, 2, 5, 3 and 3 blocks.
  CHECK(steps(s) == Lines{"1: 0(2)* 1(2)*",  // 4 + 4 are booked, 2 wants 3 more
                          "2: 0(3) 1(3)",
                          "3: 0(3) 1(3)",
                          "4: 0(3) 1(3)",
                          "5: 0(3) 1(3)",
                          "6: 0(4) 1(4)",
                          "7: 2(1)* 3(3)*",      // 3 + 4
                          "8: 2(2) 3(4) 4(1)*",  // + 2; 5 wants 3
                          "9: 2(2) 4(2) 5(2)* 6(1)*",
                          "10: 2(2) 4(2) 5(3) 6(2)",
                          "11: 2(2) 4(2) 5(3)",  // 8 are booked, 7 wants 5
                          "12: 2(3) 5(3)",       // 6
                          "13: 2(3)",
                          "14: 2(3)",  // 3, but 7 has 16 tokens and 2 takes one of the 16
                          "15: 7(4)*",
                          "16: 7(5) 8(1)*",
                          "17: 8(2) 9(2)*",
                          "18: 8(2) 9(3)",
                          "19: 8(2) 9(3)",
                          "20: 8(2)",
                          "21: 8(3)"});
}

TEST_CASE("worked example: TensorRT-LLM, MAX_UTILIZATION", "[worked]") {
  Scenario s = ten_requests(catalog::Policy::trtllm);
  s.config.knobs.enable_chunked_prefill = false;
  s.config.knobs.guaranteed_no_evict = false;
  s.config.pool.num_blocks = 9;
  CHECK(steps(s) ==
        Lines{"1: 0(2)* 1(2)*",
              "2: 0(3) 1(3) 2(1)*",  // the 12 tokens of 3 are more than the 10 left
              "3: 0(3) 1(3) 2(2)",   // and now it wants 3 blocks of 1
              "4: 0(3) 1(3) 2(2)", "5: 0(3) 1(3) 2(2)",
              "6: 0(4) 1(4) | preempted 2",  // two wanted, one free: the last started pauses
              "7: 2(2)*",                    // its 4 + 4 tokens again; 12 do not go beside them
              "8: 2(3) 3(3)*", "9: 2(3) 3(4) 4(1)*", "10: 2(3) 4(2) 5(2)* 6(1)*",

              // 7 was refused: paused before its last token it would have 17 in one step
              "11: 4(2) 5(3) 6(2) 8(1)*", "12: 4(2) 5(3) 8(2) 9(2)*", "13: 5(3) 8(2) 9(3)",
              "14: 8(2) 9(3)", "15: 8(2)", "16: 8(3)"});
}

// Pages of one token. A request asks for prompt + output + 1 tokens; the decoding ones keep 0.7 of
// what they may still generate.
TEST_CASE("worked example: SGLang", "[worked]") {
  Scenario s = ten_requests(catalog::Policy::sglang);
  s.config.pool = {40, 1, 0};
  CHECK(steps(s) == Lines{"1: 0(8)* 1(8)*",      // 15 of 40, 15 of 25
                          "2: 0(8) 1(8) 2(4)*",  // 13 < 24 - 0.7 * 10; 15 is not < 4
                          "3: 0(9) 1(9) 2(5)",   // 15 is not < 20 - 0.7 * 17: decode
                          "4: 0(10) 1(10) 2(6)", "5: 0(11) 1(11) 2(7)", "6: 0(12) 1(12) 2(8)",
                          "7: 0(13) 1(13) 2(9)",
                          "8: 2(9) 3(12)* 4(4)*",        // 31 - 1.4: 15, then 9; 16 tokens
                          "9: 2(10) 3(13) 4(5)",         // 13 is not < 15 - 4.2
                          "10: 2(10) 4(5) 5(8)* 6(4)*",  // four run
                          "11: 2(11) 4(6) 5(9) 6(5)", "12: 4(6) 5(9) 7(16)*",  // 19 < 25 - 2.1
                          "13: 4(7) 5(10) 7(17)", "14: 5(10) 8(4)* 9(8)*", "15: 5(11) 8(5) 9(9)",
                          "16: 8(6) 9(10)", "17: 8(7)", "18: 8(8)", "19: 8(9)"});
}

// schedule_conservativeness 0: what decoding sequences may still generate counts for nothing, until
// a retraction sets the ratio to min(1, (8 + 20 * 2) / (14 + 1)) = 1.
TEST_CASE("worked example: SGLang retracts", "[worked]") {
  Scenario s = ten_requests(catalog::Policy::sglang);
  s.config.pool = {30, 1, 0};
  s.config.knobs.schedule_conservativeness = 0;
  CHECK(steps(s) ==
        Lines{"1: 0(8)*", "2: 0(8) 1(8)*", "3: 0(8) 1(8) 2(4)*",  // 13 < 14
              "4: 0(9) 1(9) 2(5)", "5: 0(10) 1(10) 2(6)", "6: 0(11) 1(11) 2(7)",
              // three tokens wanted, one free; all have four of output: longest input, newest
              "7: 0(12) 2(8) | preempted 1", "8: 0(13) 2(9)", "9: 2(9) 3(12)*", "10: 2(10) 3(13)",
              "11: 2(10) 4(4)*", "12: 2(11) 4(5)",  // 13 is not < 16 - 4
              "13: 4(5) 5(8)* 6(4)*", "14: 4(6) 5(9) 6(5)", "15: 4(7) 5(10)",
              "16: 5(11)",  // 19 is not < 20 - 1
              "17: 7(16)*", "18: 7(16) 8(4)*", "19: 7(17) 8(5)",
              "20: 8(5) 9(8)*",  // 1 is last in the queue: 12 + 2 + 1 are not < 9
              "21: 8(6) 9(9)", "22: 8(7) 9(10)", "23: 8(7) 1(12)*", "24: 8(8) 1(13)", "25: 8(9)"});
}
