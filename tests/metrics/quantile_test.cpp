#include "metrics/quantile.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace servegrid;
using metrics::Range;

TEST_CASE("quantiles follow NumPy's linear rule", "[metrics]") {
  std::vector<double> v = {4, 1, 3, 2};
  CHECK(metrics::quantile(v, 0.5) == Approx(2.5));    // np.percentile([1, 2, 3, 4], 50)
  CHECK(metrics::quantile(v, 0.9) == Approx(3.7));    // 90
  CHECK(metrics::quantile(v, 0.99) == Approx(3.97));  // 99
  CHECK(metrics::quantile(v, 0) == 1);
  CHECK(metrics::quantile(v, 1) == 4);
  std::vector<double> one = {7};
  CHECK(metrics::quantile(one, 0.99) == 7);
  CHECK(metrics::moments({1, 2, 3, 4}).mean == Approx(2.5));
  CHECK(metrics::moments({1, 2, 3, 4}).std == Approx(1.118033988749895));
}

TEST_CASE("quantiles of ranges equal those of the values listed one by one", "[metrics]") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Range> ranges;
    std::vector<double> listed;
    for (std::uint64_t i = 0, n = 1 + random() % 6; i < n; ++i) {
      Range r;
      r.first = static_cast<Ticks>(random() % 1000);
      r.growth = static_cast<Ticks>(random() % 4);
      r.steps = static_cast<std::int64_t>(1 + random() % 20);
      r.weight = static_cast<std::int64_t>(1 + random() % 3);
      ranges.push_back(r);
      for (std::int64_t j = 0; j < r.steps * r.weight; ++j) {
        listed.push_back(static_cast<double>(r.first + r.growth * (j / r.weight)));
      }
    }
    REQUIRE(metrics::count(ranges) == static_cast<std::int64_t>(listed.size()));
    for (const double q : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
      CHECK(metrics::quantile(ranges, q) == Approx(metrics::quantile(listed, q)).margin(1e-9));
    }
    CHECK(metrics::moments(ranges).mean == Approx(metrics::moments(listed).mean));
    CHECK(metrics::moments(ranges).std == Approx(metrics::moments(listed).std).margin(1e-9));
  }
}
