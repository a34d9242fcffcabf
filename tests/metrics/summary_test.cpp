#include "metrics/summary.hpp"

#include <catch2/catch.hpp>

#include "metrics/steady.hpp"
#include "metrics/survival.hpp"
#include "metrics/token_gaps.hpp"
#include "result.hpp"
#include "units/error.hpp"

using namespace servegrid;
using Catch::Matchers::Contains;

namespace {

std::optional<double> value(const metrics::Summary& summary, const std::string& name) {
  for (const auto& [key, v] : summary) {
    if (key == name) return v;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("the summary of a small run is what one works out by hand", "[metrics]") {
  metrics::SummaryOptions options;
  options.grouping.classes.resize(1);
  options.grouping.classes[0].objectives.ttft = 1;
  options.work = metrics::Work{4e12, 8e9, 2e12, 4e9, {{"host", 1.5}}};
  const auto s = metrics::summarize(small_run(), options);
  const std::vector<std::pair<std::string, double>> expected = {{"completed", 2},
                                                                {"rejected", 1},
                                                                {"duration", 4},
                                                                {"total_input_tokens", 120},
                                                                {"total_output_tokens", 6},
                                                                {"request_throughput", 0.5},
                                                                {"request_goodput", 0.25},
                                                                {"output_throughput", 1.5},
                                                                {"total_token_throughput", 31.5},
                                                                {"mean_ttft_ms", 1750},
                                                                {"p90_ttft_ms", 2750},
                                                                {"mean_tpot_ms", 500},
                                                                {"std_tpot_ms", 0},
                                                                {"mean_itl_ms", 500},
                                                                {"median_itl_ms", 500},
                                                                {"p99_itl_ms", 867.5},
                                                                {"median_e2el_ms", 2750},
                                                                {"preemptions", 0},
                                                                {"mean_running", 0.5625},
                                                                {"mean_waiting", 1},
                                                                {"mean_kv_cache_usage", 0.35},
                                                                {"peak_kv_cache_usage", 0.7},
                                                                {"busy_fraction", 0.5625},
                                                                {"mfu", 0.5},
                                                                {"mbu", 0.5},
                                                                {"seconds_host", 1.5}};
  for (const auto& [name, number] : expected) {
    INFO(name);
    REQUIRE(value(s, name));
    CHECK(*value(s, name) == Approx(number));
  }
  CHECK_FALSE(value(s, "prefix_cache_hit_rate"));
}

TEST_CASE("prompts that run alone lengthen the gaps of those who decode", "[metrics]") {
  metrics::TokenGaps gaps;
  metrics::Epoch e;
  const auto decode = [&](Ticks start, std::int64_t steps, std::int64_t n) {
    e = {};
    e.start = start;
    e.steps = steps;
    e.sequences = n;
    e.first_step = 10;
    e.step_growth = 1;
    return gaps.next(e);
  };
  const auto prompts = [&](Ticks start, Ticks takes) {
    e = {};
    e.start = start;
    e.steps = 1;
    e.prefill_tokens = 100;
    e.first_step = takes;
    return gaps.next(e);
  };
  const auto is = [](const metrics::Range& r, Ticks first, std::int64_t steps,
                     std::int64_t weight) {
    return r.first == first && r.steps == steps && r.weight == weight;
  };
  for (const auto& r : prompts(0, 50)) CHECK(r.weight == 0);
  CHECK(is(decode(50, 3, 2)[0], 10, 3, 2));  // both began with those prompts; ends at 83
  (void)prompts(83, 40);
  (void)prompts(123, 60);
  const auto after = decode(183, 3, 5);  // 2 waited 100, 3 joined; ends at 216
  CHECK(is(after[0], 110, 1, 2));
  CHECK(is(after[1], 10, 1, 3));
  CHECK(is(after[2], 11, 2, 5));
  CHECK(is(decode(216, 1, 4)[0], 10, 1, 4));
  (void)prompts(1000, 40);  // idle from 226 on
  CHECK(is(decode(1040, 1, 4)[0], 10, 1, 4));
}

TEST_CASE("what is undefined is absent", "[metrics]") {
  metrics::RunResult run = small_run();
  run.requests.erase(run.requests.begin());
  run.timeline.clear();
  const auto s = metrics::summarize(run);
  for (const char* name :
       {"mean_tpot_ms", "mean_itl_ms", "p99_itl_ms", "request_goodput", "mfu", "mean_running"}) {
    INFO(name);
    CHECK_FALSE(value(s, name));
  }
  CHECK(value(s, "mean_ttft_ms"));
  const auto nothing = metrics::summarize({});
  CHECK(*value(nothing, "completed") == 0);
  CHECK_FALSE(value(nothing, "mean_ttft_ms"));
  CHECK_FALSE(value(nothing, "request_throughput"));
}

TEST_CASE("the warm-up leaves out the first that finished", "[metrics]") {
  metrics::SummaryOptions options;
  options.grouping.measured = metrics::measured(small_run(), {0.5, 0, false});
  CHECK(*value(metrics::summarize(small_run(), options), "mean_ttft_ms") == Approx(3000));
}

TEST_CASE("each broken invariant is named", "[metrics]") {
  metrics::RunResult run = small_run();
  CHECK_NOTHROW(check_conservation(run));
  const auto breaks = [](const char* invariant, auto change) {
    metrics::RunResult broken = small_run();
    change(broken);
    CHECK_THROWS_WITH(check_conservation(broken), Contains(invariant));
  };
  breaks("'requests'", [](auto& r) { ++r.counters.requests; });
  breaks("'requests'", [](auto& r) { --r.counters.completed; });
  breaks("'tokens'", [](auto& r) { ++r.counters.tokens_generated; });
  breaks("'blocks'", [](auto& r) { --r.counters.blocks_freed; });
  breaks("'preemptions'", [](auto& r) { ++r.counters.preemptions; });
  breaks("'time order'", [](auto& r) { r.requests[0].first_token = 0; });
  breaks("'time order'", [](auto& r) { r.requests[1].finish = 0; });
  const auto with_last = [](metrics::RunResult& r, auto change) {
    std::vector<metrics::Epoch> epochs(r.timeline.begin(), r.timeline.end());
    change(epochs.back());
    r.timeline.clear();
    for (const metrics::Epoch& e : epochs) r.timeline.push_back(e);
  };
  breaks("'time order'", [&](auto& r) { with_last(r, [](auto& e) { e.start = 0; }); });
  breaks("'time order'", [&](auto& r) { with_last(r, [](auto& e) { e.steps = -1; }); });
  breaks("'pool never exceeded'",
         [&](auto& r) { with_last(r, [](auto& e) { e.blocks_used = 11; }); });
}

TEST_CASE("what was cut off counts as at least what it waited", "[metrics]") {
  metrics::Durations d;
  d.seen = {1, 2, 3, 4};
  CHECK(d.quantiles({0.25, 0.5, 1}) == std::vector<std::optional<double>>{1, 2, 4});
  d.at_least = {2.5};
  // Kaplan-Meier by hand: after 1: 4/5 last longer, after 2: 3/5; at 2.5 one is lost; after 3:
  // 3/10.
  CHECK(d.quantiles({0.2, 0.4, 0.5, 0.7, 0.99}) ==
        std::vector<std::optional<double>>{1, 2, 3, 3, 4});
  d.at_least = {9};
  CHECK_FALSE(d.quantiles({0.9})[0]);
  CHECK(d.quantiles({0.8})[0] == 4);
  CHECK(d.bounds().size() == 5);
}

TEST_CASE("requests in flight are in the percentiles", "[metrics]") {
  auto run = small_run();
  metrics::RequestRecord r;
  r.id = 3;
  r.arrival = to_ticks(1);
  r.prompt_tokens = r.output_tokens = 1;
  run.requests.push_back(r);  // has waited 3 s when the run ends
  const auto summary = metrics::summarize(run, {});
  const auto of = [&](const std::string& key) -> std::optional<double> {
    for (const auto& [name, value] : summary) {
      if (name == key) return value;
    }
    return std::nullopt;
  };
  CHECK(of("in_flight") == 1);
  CHECK(of("ttft_at_least") == 1);
  CHECK(*of("mean_ttft_ms") == Approx((500 + 3000 + 3000) / 3.0));
  CHECK(*of("median_ttft_ms") == Approx(3000));
  CHECK(of("p99_ttft_ms") == std::nullopt);
  CHECK(*of("mean_ttft_queue_ms") == Approx(125));
  CHECK(*of("mean_ttft_prefill_ms") == Approx((250 + 3000) / 2.0));
}
