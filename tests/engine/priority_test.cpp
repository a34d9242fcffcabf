// Priorities, SGLang's lpm order and clients that go away, worked out on paper.
#include <catch2/catch.hpp>

#include "worked_example.hpp"

using namespace servegrid;
using namespace servegrid::test;

namespace {

workload::Request with_priority(std::int64_t id, Ticks arrival, std::int64_t prompt,
                                std::int64_t output, int priority) {
  workload::Request r = request(id, arrival, prompt, output);
  r.priority = priority;
  return r;
}

workload::Request of_stream(std::int64_t id, Ticks arrival, std::int64_t prompt,
                            workload::StreamId stream) {
  workload::Request r = request(id, arrival, prompt, 2);
  r.stream = stream;
  return r;
}

Lines starting(const Outcome& o, const std::string& what) {
  Lines out;
  for (const auto& line : o.lines) {
    const auto at = line.find(" " + what + " ");
    if (at != std::string::npos) out.push_back(line.substr(0, line.find(" cached")));
  }
  return out;
}

}  // namespace

// Six blocks of four tokens, steps of ten ticks. Lower is sooner; among equals the later arrival
// goes first, and of one instant the higher number.
TEST_CASE("worked example: vLLM by priority", "[worked]") {
  Scenario s;
  s.config.pool = {7, 4, 0};
  s.config.knobs.max_num_seqs = 4;
  s.config.knobs.max_num_batched_tokens = 16;
  s.config.knobs.enable_prefix_caching = false;
  s.config.knobs.by_priority = true;
  s.requests = {with_priority(0, 0, 8, 8, 2), with_priority(1, 5, 8, 6, 1),
                with_priority(2, 5, 4, 6, 0), with_priority(3, 5, 4, 3, 2),
                with_priority(4, 5, 4, 3, 1), with_priority(5, 5, 8, 2, 0),
                with_priority(6, 5, 4, 2, 1), with_priority(7, 5, 4, 2, 2),
                with_priority(8, 5, 4, 2, 0), with_priority(9, 5, 4, 2, 1)};
  CHECK(steps(s) ==
        Lines{"1: 0(2)*",
              "2: 0(3) 2(1)* 5(2)*",         // class 0 is 2, 5 and 8; nothing is left for 8
              "3: 2(2) 5(3) | preempted 0",  // 0 is first in the list and lowest in priority
              "4: 2(2) 8(1)* 1(2)* 4(1)*",   // 8, then class 1
              // 8 takes the block of 4; 1 finds none, and nobody is lower
              "5: 2(2) 8(2) | preempted 4 | preempted 1",
              "6: 2(2) 1(3)* 4(1)*",  // 1 with its first token again
              "7: 2(3) 1(3) | preempted 4", "8: 1(3) 4(2)* 6(1)*", "9: 1(3) 4(2) | preempted 6",
              "10: 1(4) 6(2)*",
              "11: 9(1)* 0(3)* 3(1)*",  // class 1 is done; 2 of the 4 tokens of 3
              "12: 9(2) 0(3) 3(1)*", "13: 0(3) 3(2) 7(1)*", "14: 0(4) 3(2) | preempted 7",
              "15: 0(4) 7(2)*", "16: 0(4)"});
}

// Each runs alone. 41 tokens of stream 1 are cached when 0 ends: 3 and 5 find them all, 9 the 40
// before its last. 4 shares 50 tokens with 2, which stands before it, and waits for it; 8 shares
// only 30 with 7.
TEST_CASE("worked example: SGLang, lpm", "[worked]") {
  Scenario s;
  s.config.policy = catalog::Policy::sglang;
  s.config.pool = {600, 1, 0};
  s.config.knobs.max_num_seqs = 1;
  s.config.knobs.longest_prefix = true;
  s.requests = {of_stream(0, 0, 40, 1), of_stream(1, 5, 10, -1), of_stream(2, 5, 50, 2),
                of_stream(3, 5, 60, 1), of_stream(4, 5, 60, 2),  of_stream(5, 5, 45, 1),
                of_stream(6, 5, 5, -1), of_stream(7, 5, 30, 3),  of_stream(8, 5, 31, 3),
                of_stream(9, 5, 41, 1)};
  const Outcome o = run(s, true);
  Lines order;
  for (const auto& line : starting(o, "scheduled")) order.push_back(line.substr(line.rfind(' ')));
  CHECK(order == Lines{" 0", " 3", " 5", " 9", " 1", " 2", " 4", " 6", " 7", " 8"});
  CHECK(o.counters.tokens_cached == 41 + 44 + 40 + 51 + 30);
}

// Both slots are taken. 2 is lower by 15 and takes that of the later of the two; 3 is lower by only
// 5 than what runs then.
TEST_CASE("SGLang: a much higher priority takes a slot", "[worked]") {
  Scenario s;
  s.config.policy = catalog::Policy::sglang;
  s.config.pool = {200, 1, 0};
  s.config.knobs.max_num_seqs = 2;
  s.config.knobs.by_priority = true;
  s.config.knobs.enable_prefix_caching = false;
  s.requests = {with_priority(0, 0, 10, 20, 20), with_priority(1, 0, 10, 20, 20),
                with_priority(2, 25, 10, 5, 5), with_priority(3, 27, 10, 5, 15)};
  // Prompts of 0 and 1 end at 12; decode steps at 22 and 32. 32: 2 for 1, done 43 + 4 * 10; then 3.
  const Outcome o = run(s, true);
  CHECK(starting(o, "scheduled") ==
        Lines{"0 scheduled 0", "0 scheduled 1", "32 scheduled 2", "83 scheduled 3"});
  CHECK(starting(o, "preempted") == Lines{"32 preempted 1"});
  CHECK(run(s, false).lines == o.lines);
}

TEST_CASE("a client that goes away frees its place at the next boundary", "[worked]") {
  Scenario s = ten_requests(catalog::Policy::vllm_v1);
  s.config.pool.num_blocks = 16;
  s.config.knobs.max_num_seqs = 1;
  s.requests = {request(0, 0, 16, 40), request(1, 0, 8, 4), request(2, 0, 8, 4)};
  // One at a time. The prompt of 0 ends at 11. 1 leaves the queue at 25; 0 leaves at 45, which the
  // boundary at 51 sees: 5 tokens. At 70 it is no more, and 2 is done before 400.
  s.aborts = {{25, 1}, {45, 0}, {70, 0}, {400, 2}};
  const Outcome o = run(s, true);
  CHECK(starting(o, "aborted") == Lines{"31 aborted 1 after 0", "51 aborted 0 after 5"});
  CHECK(starting(o, "scheduled") == Lines{"0 scheduled 0", "51 scheduled 2"});
  CHECK(o.counters.completed == 1);
  CHECK(o.counters.aborted == 2);
  CHECK(o.counters.blocks_allocated == o.counters.blocks_freed);
  CHECK(run(s, false).lines == o.lines);
}
