// Runs that keep no record of each request.
#include <catch2/catch.hpp>
#include <map>

#include "metrics/request_sums.hpp"
#include "metrics/summary.hpp"
#include "toy.hpp"
#include "units/error.hpp"

using namespace servegrid;
using Kind = catalog::WorkloadSpec::Kind;

TEST_CASE("without the table the summary is the same, quantiles within 0.1 %", "[cluster]") {
  const toy::Steps steps(0.01, 1e-6);
  for (const Kind kind : {Kind::closed, Kind::open, Kind::conversations}) {
    catalog::Scenario s = toy::scenario(kind);
    s.workload.requests = 2000;
    s.replicas = 2;
    s.slo.ttft = 0.5;
    s.knobs.max_model_len = 600;  // some are rejected
    cluster::RunOptions options;
    const auto kept = cluster::simulate(s, steps, 90, 0, options);
    options.requests = false;
    const auto passing = cluster::simulate(s, steps, 90, 0, options);
    CHECK(passing.requests.empty());
    CHECK(passing.timeline.empty());
    REQUIRE(passing.request_sums != nullptr);
    metrics::SummaryOptions summary;
    summary.grouping.classes = {{"all", "all", {s.slo.ttft, {}, {}}}};
    summary.replicas = s.replicas;
    auto exact = metrics::summarize(kept, summary);
    // Confidence needs the requests in order.
    std::erase_if(exact, [](const auto& m) { return m.first.ends_with("_ci95"); });
    const auto sums = metrics::summarize(passing, summary);
    REQUIRE(exact.size() == sums.size());
    for (std::size_t i = 0; i < exact.size(); ++i) {
      INFO(exact[i].first);
      CHECK(sums[i].first == exact[i].first);
      CHECK(sums[i].second == Approx(exact[i].second).epsilon(0.001));
    }
  }
}

TEST_CASE("the warm-up is left out without the table too", "[cluster]") {
  const toy::Steps steps(0.01, 1e-6);
  catalog::Scenario s = toy::scenario(Kind::closed);
  s.workload.warmup_fraction = 0.25;
  cluster::RunOptions options;
  options.requests = false;
  const auto result = cluster::simulate(s, steps, 1000, 0, options);
  CHECK(result.request_sums->completed == 300);
  CHECK(result.request_sums->ttft.sketch.count() == 225);
}
