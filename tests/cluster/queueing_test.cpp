// Answers that queueing theory knows.
#include <catch2/catch.hpp>
#include <cmath>

#include "toy.hpp"

using namespace servegrid;
using Kind = catalog::WorkloadSpec::Kind;

TEST_CASE("M/D/1: the mean wait is rho D / (2 (1 - rho))", "[cluster]") {
  // One request at a time, each one prefill step and nine decode steps of 10 ms: D = 0.1 s.
  catalog::Scenario s = toy::scenario(Kind::open);
  s.workload.prompt = toy::fixed(10);
  s.workload.output = toy::fixed(10);
  s.workload.requests = 200000;
  s.workload.rate = 7;
  s.knobs.max_num_seqs = 1;
  cluster::RunOptions options;
  options.timeline = false;
  const auto result = cluster::simulate(s, toy::Steps(0.01), 1000, 0, options);
  double wait = 0;
  for (const auto& r : result.requests) {
    REQUIRE(r.finish - r.scheduled == 10 * to_ticks(0.01));
    wait += to_seconds(r.scheduled - r.arrival);
  }
  wait /= static_cast<double>(result.requests.size());
  const double rho = 0.7;
  CHECK(wait == Approx(rho * 0.1 / (2 * (1 - rho))).epsilon(0.03));
}

TEST_CASE("closed loop: N requests of S steps each take S steps and the throughput is N / S",
          "[cluster]") {
  catalog::Scenario s = toy::scenario(Kind::closed);
  s.workload.concurrent = 8;
  s.workload.prompt = toy::fixed(16);
  s.workload.output = toy::fixed(10);
  s.workload.requests = 800;
  const auto result = cluster::simulate(s, toy::Steps(0.01), 1000, 0);
  CHECK(result.counters.completed == 800);
  CHECK(result.counters.tokens_generated == 8000);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(result.requests[i].first_token == to_ticks(0.01));
    CHECK(result.requests[i].finish == 10 * to_ticks(0.01));
  }
  // A follow-up arrives in the instant in which the next step would begin, so an idle replica
  // starts with it at once: 100 rounds of 10 steps.
  CHECK(result.end == 1000 * to_ticks(0.01));
}

TEST_CASE("closed loop with think time: the interactive response time law", "[cluster]") {
  // N = X (R + Z), exactly over whole cycles; ends cut a cycle of each user.
  catalog::Scenario s = toy::scenario(Kind::closed);
  s.workload.concurrent = 20;
  s.workload.think_time = 3;
  s.workload.think_exponential = true;
  s.workload.requests = 20000;
  const auto result = cluster::simulate(s, toy::Steps(0.01, 1e-6), 1000, 0);
  double response = 0;
  for (const auto& r : result.requests) response += to_seconds(r.finish - r.arrival);
  response /= 20000;
  const double throughput = 20000 / to_seconds(result.end);
  CHECK(throughput * (response + 3) == Approx(20).epsilon(0.02));
}

TEST_CASE("a faster GPU ends no request later, where requests do not share it", "[cluster]") {
  // One at a time in order of arrival: each begins at the later of its arrival and the end of the
  // one before it, so shorter services end all of them earlier (Lindley's recursion). Batches have
  // no such law: who joins whom changes with the times.
  catalog::Scenario s = toy::scenario(Kind::open);
  s.knobs.max_num_seqs = 1;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    s.seed = seed;
    s.workload.rate = 0.2 + 0.05 * static_cast<double>(seed);
    const auto slow = cluster::simulate(s, toy::Steps(0.01, 2e-6), 1000, 0);
    const auto fast = cluster::simulate(s, toy::Steps(0.008, 1e-6), 1000, 0);
    REQUIRE(slow.requests.size() == fast.requests.size());
    for (std::size_t i = 0; i < slow.requests.size(); ++i) {
      REQUIRE(fast.requests[i].arrival == slow.requests[i].arrival);
      REQUIRE(fast.requests[i].finish < slow.requests[i].finish);
      REQUIRE(fast.requests[i].first_token < slow.requests[i].first_token);
    }
  }
}
