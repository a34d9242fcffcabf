// Faults, restarts and autoscaling: nothing is lost, and leaps change nothing.
#include <catch2/catch.hpp>
#include <map>

#include "pools.hpp"

using namespace servegrid;
using Kind = catalog::WorkloadSpec::Kind;
using catalog::FaultSpec;

namespace {

const toy::Steps steps(0.01, 1e-6);

metrics::RunResult run(const catalog::Scenario& s, bool leap = true, std::int64_t blocks = 200) {
  cluster::RunOptions options;
  options.leap = leap;
  return cluster::simulate(s, {toy::model(steps, blocks)}, options);
}

std::map<metrics::Outcome, int> outcomes(const metrics::RunResult& result) {
  std::map<metrics::Outcome, int> count;
  for (const auto& r : result.requests) ++count[r.outcome];
  return count;
}

FaultSpec::Event lost(double at, int replica, double duration) {
  FaultSpec::Event event;
  event.at = at;
  event.index = replica;
  event.duration = duration;
  return event;
}

catalog::Scenario three_replicas() {
  catalog::Scenario s = toy::small_servers(Kind::open);
  s.replicas = 3;
  s.workload.rate = 10;
  s.workload.requests = 600;
  return s;
}

}  // namespace

TEST_CASE("a replica that is lost fails its requests, or they are tried again", "[operations]") {
  catalog::Scenario s = three_replicas();
  catalog::ClusterSpec spec;
  spec.faults.events = {lost(20, 1, 5)};
  toy::set(s, spec);
  auto result = run(s);
  auto count = outcomes(result);
  CHECK(result.counters.faults == 1);
  CHECK(count[metrics::Outcome::failed] > 0);
  CHECK(count[metrics::Outcome::failed] + count[metrics::Outcome::completed] == 600);
  for (const auto& r : result.requests) {
    if (r.outcome != metrics::Outcome::failed) continue;
    CHECK(r.finish == to_ticks(20));
    CHECK(r.replica == -1);
    CHECK(r.reason == "its replica was lost");
  }
  spec.faults.attempts = 2;
  spec.faults.retry_delay = 0.5;
  toy::set(s, spec);
  result = run(s);
  count = outcomes(result);
  CHECK(count[metrics::Outcome::completed] == 600);
  CHECK(result.counters.retries > 0);
  CHECK(result.counters.tokens_lost > 0);
  for (const auto& r : result.requests) {
    if (r.attempts > 1) CHECK(r.scheduled >= to_ticks(20.5));
  }
}

TEST_CASE("a lost replica takes nothing until it is repaired and has loaded", "[operations]") {
  catalog::Scenario s = three_replicas();
  catalog::ClusterSpec spec;
  spec.faults.events = {lost(10, 0, 8)};
  spec.operations.load_bandwidth = 5e9;  // 10 GB: 2 s
  spec.operations.warm_up = 3;
  toy::set(s, spec);
  const auto result = run(s);
  int before = 0, after = 0;
  for (const auto& e : result.timeline) {
    if (e.replica != 0) continue;
    CHECK((e.start < to_ticks(10) || e.start >= to_ticks(23)));
    (e.start < to_ticks(10) ? before : after) += 1;
  }
  CHECK(before > 0);
  CHECK(after > 0);
  CHECK(to_seconds(result.replicas[0].ready) == Approx(to_seconds(result.end) - 13));
}

TEST_CASE("without a replica requests wait, and fail when none will come", "[operations]") {
  catalog::Scenario s = toy::small_servers(Kind::open);
  s.workload.requests = 200;
  catalog::ClusterSpec spec;
  spec.faults.events = {lost(10, 0, 20)};
  spec.faults.attempts = 5;
  toy::set(s, spec);
  auto count = outcomes(run(s));
  CHECK(count[metrics::Outcome::completed] == 200);
  spec.faults.events = {lost(10, 0, 0)};
  toy::set(s, spec);
  const auto result = run(s);
  count = outcomes(result);
  CHECK(count[metrics::Outcome::completed] > 0);
  CHECK(count[metrics::Outcome::failed] > 0);
  CHECK(count[metrics::Outcome::failed] + count[metrics::Outcome::completed] == 200);
}

TEST_CASE("a straggler's steps take as many times as long", "[operations]") {
  catalog::Scenario s = toy::small_servers(Kind::closed);
  s.workload.concurrent = 1;
  s.workload.prompt = toy::fixed(10);
  s.workload.output = toy::fixed(100);
  s.workload.requests = 30;
  catalog::ClusterSpec spec;
  FaultSpec::Event slow = lost(5, 0, 10);
  slow.slowdown = 2;
  spec.faults.events = {slow};
  toy::set(s, spec);
  const toy::Steps even(0.01);
  const auto result = cluster::simulate(s, {toy::model(even, 100)});
  // 1 s a request, 10 s of them at half the speed.
  CHECK(to_seconds(result.end) == Approx(30 + 5).margin(0.05));
}

TEST_CASE("a rolling restart goes round once and loses nothing that drains", "[operations]") {
  catalog::Scenario s = three_replicas();
  catalog::ClusterSpec spec;
  spec.operations.warm_up = 2;
  spec.operations.rolling_restart = {10, 30};
  toy::set(s, spec);
  const auto result = run(s);
  CHECK(outcomes(result)[metrics::Outcome::completed] == 600);
  CHECK(result.counters.retries == 0);
  for (const auto& r : result.replicas) CHECK(to_seconds(result.end - r.ready) > 2);
}

TEST_CASE("autoscaling follows the queue and gives GPUs back", "[operations]") {
  catalog::Scenario s = toy::small_servers(Kind::open);
  s.replicas = 4;
  s.knobs.max_num_seqs = 4;
  s.workload.rate = 8;
  s.workload.requests = 1500;
  catalog::ClusterSpec spec;
  catalog::AutoscaleSpec scale;
  scale.low_replicas = 1;
  scale.high_replicas = 4;
  scale.above = 2;
  scale.below = 0.25;
  scale.interval = 2;
  scale.delay = 3;
  spec.operations.autoscale = {scale};
  toy::set(s, spec);
  const auto result = run(s);
  CHECK(outcomes(result)[metrics::Outcome::completed] == 1500);
  CHECK(result.replicas[0].held == result.end);
  CHECK(result.replicas[1].held > 0);
  CHECK(result.replicas[1].held < result.end);
}

TEST_CASE("leaps change nothing under faults, restarts and any router", "[operations]") {
  for (const char* router :
       {"round-robin", "least-kv", "power-of-two", "session-affinity", "prefix-aware", "vllm-dp"}) {
    for (const Kind kind : {Kind::open, Kind::conversations}) {
      catalog::Scenario s = three_replicas();
      s.workload.kind = kind;
      s.router = router;
      catalog::ClusterSpec spec;
      FaultSpec::Event slow = lost(7.3, 2, 6.1);
      slow.slowdown = 1.7;
      spec.faults.events = {lost(4.567, 1, 3.21), slow, lost(15.43, 0, 1)};
      spec.faults.mttf = 60;
      spec.faults.mttr = 4;
      spec.faults.attempts = 3;
      spec.faults.retry_delay = 0.123;
      spec.operations.warm_up = 0.7;
      spec.operations.rolling_restart = {25.1, 0.3};
      toy::set(s, spec);
      INFO(router);
      const auto leap = run(s, true, 90);
      const auto steps_taken = run(s, false, 90);
      CHECK((toy::text(leap) == toy::text(steps_taken)));
      CHECK(leap.counters.faults == steps_taken.counters.faults);
      CHECK(leap.counters.tokens_lost == steps_taken.counters.tokens_lost);
      CHECK(leap.counters.blocks_allocated == steps_taken.counters.blocks_allocated);
      CHECK(leap.counters.faults > 3);
    }
  }
}
