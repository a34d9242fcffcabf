// Runs that are stopped: with what they had, and the same every time where events decide.
#include "cluster/limits.hpp"

#include <catch2/catch.hpp>

#include "metrics/request_sums.hpp"
#include "pools.hpp"

using namespace servegrid;
using Kind = catalog::WorkloadSpec::Kind;

namespace {

const toy::Steps steps(0.01, 1e-6);

metrics::RunResult run(const catalog::Scenario& s, const cluster::Limits& limits,
                       bool records = true) {
  cluster::RunOptions options;
  options.limits = limits;
  options.requests = records;
  return cluster::simulate(s, {toy::model(steps, 90)}, options);
}

}  // namespace

TEST_CASE("so many events, then it stops with what it has", "[limits]") {
  for (const Kind kind : {Kind::closed, Kind::open, Kind::conversations}) {
    catalog::Scenario s = toy::scenario(kind);
    s.replicas = 2;
    cluster::Limits limits;
    limits.events = 500;
    const auto stopped = run(s, limits);
    CHECK(stopped.partial == "stopped by --max-events after 500 events");
    CHECK((toy::text(run(s, limits)) == toy::text(stopped)));
    CHECK(stopped.counters.completed > 0);
    CHECK(stopped.requests.size() < 300);
    // What ended before the stop ended as it does in a whole run.
    const auto whole = run(s, {});
    CHECK(whole.partial.empty());
    for (const auto& r : stopped.requests) {
      if (r.outcome != metrics::Outcome::completed || kind != Kind::open) continue;
      CHECK(r.finish == whole.requests[static_cast<std::size_t>(r.id)].finish);
    }
  }
}

TEST_CASE("stopped at each of its events, whatever it was doing", "[limits]") {
  catalog::Scenario s = toy::small_servers(Kind::open);
  s.replicas = 3;
  s.workload.requests = 120;
  catalog::ClusterSpec spec;
  spec.faults.mttf = 20;
  spec.faults.mttr = 3;
  spec.faults.attempts = 3;
  spec.operations.warm_up = 1;
  toy::set(s, spec);
  std::int64_t events = 0;
  for (bool partial = true; partial; ++events) {
    cluster::Limits limits;
    limits.events = events + 1;
    const auto result = run(s, limits);  // throws when something was lost
    partial = !result.partial.empty();
  }
  CHECK(events > 300);
}

TEST_CASE("a limit that is not reached changes nothing", "[limits]") {
  const catalog::Scenario s = toy::scenario(Kind::open);
  cluster::Limits limits;
  limits.events = 1'000'000;
  limits.seconds = 1e6;
  limits.bytes = 1e15;
  CHECK((toy::text(run(s, limits)) == toy::text(run(s, {}))));
}

TEST_CASE("time and memory stop a run too", "[limits]") {
  catalog::Scenario s = toy::scenario(Kind::open);
  s.workload.requests = 1'000'000'000;
  cluster::Limits time;
  time.seconds = 0.05;
  CHECK(run(s, time).partial == "stopped by --max-time after 0.05 s");
  cluster::Limits memory;
  memory.bytes = cluster::resident_bytes() + 20e6;
  CHECK(run(s, memory).partial.find("--max-memory") != std::string::npos);
}

TEST_CASE("without the table what is in flight at the stop is counted", "[limits]") {
  catalog::Scenario s = toy::scenario(Kind::closed);
  cluster::Limits limits;
  limits.events = 400;
  const auto kept = run(s, limits);
  const auto passing = run(s, limits, false);
  REQUIRE(passing.request_sums != nullptr);
  CHECK(passing.request_sums->in_flight > 0);
  CHECK(passing.request_sums->completed == kept.counters.completed);
  CHECK(passing.request_sums->requests == static_cast<std::int64_t>(kept.requests.size()));
}
