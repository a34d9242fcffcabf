// Tables of parts of the requests, the load over time, and the Chrome trace.
#include "metrics/groups.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "metrics/chrome_trace.hpp"
#include "metrics/series.hpp"

using namespace servegrid;
using namespace servegrid::metrics;

namespace {

RunResult two_classes() {
  RunResult result;
  const auto add = [&](int class_index, int replica, Outcome outcome, double ttft) {
    RequestRecord r;
    r.id = static_cast<std::int64_t>(result.requests.size());
    r.class_index = class_index;
    r.replica = replica;
    r.outcome = outcome;
    r.prompt_tokens = 100;
    r.cached_tokens = 25;
    r.output_tokens = 11;
    r.arrival = to_ticks(1);
    if (outcome == Outcome::completed) {
      r.scheduled = to_ticks(1);
      r.first_token = to_ticks(1 + ttft);
      r.finish = to_ticks(2 + ttft);
    }
    result.requests.push_back(r);
  };
  add(0, 0, Outcome::completed, 0.5);
  add(0, 1, Outcome::completed, 2);
  add(1, 1, Outcome::completed, 3);
  add(1, 1, Outcome::failed, 0);
  add(2, 0, Outcome::in_flight, 0);
  result.end = to_ticks(10);
  result.num_blocks = 100;
  Epoch e;
  e.replica = 1;
  e.start = to_ticks(2);
  e.steps = 5;
  e.sequences = 2;
  e.running = 2;
  e.waiting = 4;
  e.blocks_used = 50;
  e.first_step = to_ticks(1);
  result.timeline.push_back(e);
  return result;
}

Grouping grouping() {
  Grouping g;
  g.replicas = 2;
  g.classes.resize(3);
  g.classes[0].name = "chat";
  g.classes[1].name = "jobs";
  g.classes[2].name = "more";
  g.classes[0].tenant = g.classes[2].tenant = "acme";
  g.classes[1].tenant = "globex";
  g.classes[0].objectives.ttft = 1;
  return g;
}

double of(const Group& g, const std::string& key) {
  for (const auto& [name, value] : g.summary) {
    if (name == key) return value;
  }
  FAIL("no " << key << " in " << g.name);
  return 0;
}

bool has(const Group& g, const std::string& key) {
  for (const auto& [name, value] : g.summary) {
    if (name == key) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("classes meet their own objectives", "[metrics]") {
  const auto groups = by_class(two_classes(), grouping());
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].name == "chat");
  CHECK(of(groups[0], "completed") == 2);
  CHECK(of(groups[0], "request_goodput") == Approx(0.1));
  CHECK(of(groups[0], "slo_attainment") == Approx(0.5));
  CHECK(of(groups[0], "mean_ttft_ms") == Approx(1250));
  CHECK(of(groups[0], "cached_prompt_share") == Approx(0.25));
  CHECK(of(groups[1], "failed") == 1);
  CHECK_FALSE(has(groups[1], "request_goodput"));
  CHECK(of(groups[2], "in_flight") == 1);
  CHECK_FALSE(has(groups[2], "mean_ttft_ms"));
}

TEST_CASE("a tenant is all its classes; a replica what it served", "[metrics]") {
  const auto tenants = by_tenant(two_classes(), grouping());
  REQUIRE(tenants.size() == 2);
  CHECK(tenants[0].name == "acme");
  CHECK(of(tenants[0], "requests") == 3);
  const auto replicas = by_replica(two_classes(), grouping());
  REQUIRE(replicas.size() == 2);
  CHECK(of(replicas[1], "requests") == 3);
  CHECK(of(replicas[1], "busy_fraction") == Approx(0.5));
  CHECK(of(replicas[1], "mean_waiting") == Approx(2));
  CHECK(of(replicas[1], "mean_kv_cache_usage") == Approx(0.25));
  CHECK(of(replicas[0], "busy_fraction") == 0);
}

TEST_CASE("a warm-up is left out of the latencies only", "[metrics]") {
  Grouping g = grouping();
  g.measured = {false, true, true, true, true};
  const auto groups = by_class(two_classes(), g);
  CHECK(of(groups[0], "completed") == 2);
  CHECK(of(groups[0], "mean_ttft_ms") == Approx(2000));
}

TEST_CASE("the load over time is exact in every part", "[metrics]") {
  const auto parts = series_of(two_classes(), 2, 4);  // parts of 2.5 s; the epoch is [2, 7)
  REQUIRE(parts.size() == 4);
  CHECK(parts[1].start == Approx(2.5));
  CHECK(parts[0].running == Approx(2 * 0.5 / 2.5));
  CHECK(parts[1].waiting == Approx(4));
  CHECK(parts[1].kv == Approx(0.25));  // half of one of two pools
  CHECK(parts[2].busy == Approx(2.0 / 2.5 / 2));
  CHECK(parts[3].running == 0);
  double tokens = 0;
  for (const auto& p : parts) tokens += p.output_tokens * 2.5;
  CHECK(tokens == Approx(10));
}

TEST_CASE("a Chrome trace is JSON whose spans begin and end", "[metrics]") {
  std::string text;
  write_chrome_trace(two_classes(), 2, [&](std::string_view piece) { text += piece; });
  const auto json = nlohmann::json::parse(text);
  int open = 0, steps = 0;
  for (const auto& e : json.at("traceEvents")) {
    const std::string phase = e.at("ph");
    if (phase == "b") ++open;
    if (phase == "e") --open;
    if (phase == "X") {
      ++steps;
      CHECK(e.at("ts") == 2000000.0);
      CHECK(e.at("dur") == 5000000.0);
      CHECK(e.at("pid") == 1);
      CHECK(e.at("args").at("steps") == 5);
    }
  }
  CHECK(open == 0);
  CHECK(steps == 1);
}
