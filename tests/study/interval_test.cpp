// 90 % intervals: the arithmetic by hand.
#include "study/interval.hpp"

#include <catch2/catch.hpp>

using namespace servegrid;
using study::Interval;

namespace {

Interval of(const std::vector<Interval>& all, const std::string& metric) {
  for (const auto& i : all)
    if (i.metric == metric) return i;
  return {};
}

// 100 ms to the first token, 900 ms of decoding.
study::Prediction prediction() {
  study::Prediction p;
  p.ttft_ms = 100;
  p.tpot_ms = 10;
  p.e2el_ms = 1000;
  p.throughput = 500;
  p.duration = 50;
  return p;
}

}  // namespace

TEST_CASE("latencies move by their bands, a closed loop by the answer time") {
  const auto all = study::intervals_of(prediction(), {1.0, 0.25});
  CHECK(of(all, "mean_ttft_ms").low == Approx(50));
  CHECK(of(all, "mean_ttft_ms").high == Approx(200));
  CHECK(of(all, "mean_tpot_ms").low == Approx(8));
  CHECK(of(all, "mean_tpot_ms").high == Approx(12.5));
  // Fast: 50 + 900/1.25 = 770 ms; slow: 200 + 1125 = 1325 ms.
  CHECK(of(all, "output_throughput").high == Approx(500 * 1000 / 770.0));
  CHECK(of(all, "output_throughput").low == Approx(500 * 1000 / 1325.0));
}

TEST_CASE("users who think for long hardly feel it") {
  auto p = prediction();
  p.think_ms = 99000;
  const auto all = study::intervals_of(p, {1.0, 0.25});
  CHECK(of(all, "output_throughput").low == Approx(500 * 100000 / 100325.0));
}

TEST_CASE("an open loop serves what arrives unless it queues") {
  auto p = prediction();
  p.closed = false;
  const auto calm = of(study::intervals_of(p, {1.0, 0.25}), "output_throughput");
  CHECK(calm.low == Approx(500 * 50 / 50.325));
  CHECK(calm.high == Approx(500 * 50 / 49.77));
  p.queues = true;
  const auto full = of(study::intervals_of(p, {1.0, 0.25}), "output_throughput");
  CHECK(full.low == Approx(400));
  CHECK(full.high == Approx(625));
}

TEST_CASE("a metric that is undefined has no interval") {
  study::Prediction p = prediction();
  p.tpot_ms = 0;  // one-token outputs
  CHECK(of(study::intervals_of(p, {1, 1}), "mean_tpot_ms").metric.empty());
  CHECK(study::intervals_of(study::Prediction{}, {1, 1}).empty());
}

TEST_CASE("the less is known of a GPU, the wider") {
  catalog::ServingCosts costs;
  costs.tpot_band = 0.1;
  costs.ttft_band = 0.2;
  costs.ttft_queued_band = 0.9;
  const auto measured = study::bands_of(costs, "measured", false);
  CHECK(measured.tpot == Approx(0.1));
  CHECK(measured.ttft == Approx(0.2));
  CHECK(study::bands_of(costs, "measured", true).ttft == Approx(0.9));
  const auto inherited = study::bands_of(costs, "inherited", false);
  const auto data_sheet = study::bands_of(costs, "data sheet", false);
  CHECK(inherited.tpot > measured.tpot);
  CHECK(data_sheet.tpot >= inherited.tpot);
  CHECK(study::bands_of(costs, "what-if", false).tpot == Approx(inherited.tpot));
}
