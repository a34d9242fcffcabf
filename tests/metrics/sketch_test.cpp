#include "metrics/sketch.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "metrics/quantile.hpp"

using namespace servegrid;
using metrics::QuantileSketch;
using metrics::Range;

namespace {

const std::vector<double> told = {0.0, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0};

// NumPy's rule interpolates between two order statistics; each is within 0.1 %.
void close_to_exact(const QuantileSketch& sketch, std::vector<double> values) {
  for (const double q : told) {
    INFO("q " << q);
    CHECK(sketch.quantile(q) == Approx(metrics::quantile(values, q)).epsilon(0.001));
  }
}

}  // namespace

TEST_CASE("a sketch is within 0.1 % of the exact quantiles", "[metrics]") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 40; ++round) {
    QuantileSketch sketch;
    std::vector<double> values;
    std::lognormal_distribution<double> draw(0, 0.2 + 0.1 * round);
    for (int i = 0; i < 3000; ++i) {
      // From nanoseconds to hours, as ticks.
      const Ticks t = to_ticks(1e-6 * draw(random));
      sketch.add(t);
      values.push_back(static_cast<double>(t));
    }
    close_to_exact(sketch, values);
  }
}

TEST_CASE("small values have a bucket of their own", "[metrics]") {
  QuantileSketch sketch;
  for (int i = 0; i <= 1000; ++i) sketch.add(i);
  CHECK(sketch.quantile(0.5) == 500);
  CHECK(sketch.quantile(0.123) == Approx(123));
  CHECK(sketch.quantile(1) == 1000);
}

TEST_CASE("sketches of parts merge into the sketch of the whole, in any order", "[metrics]") {
  std::mt19937_64 random(5);
  QuantileSketch whole, left, right;
  for (int i = 0; i < 5000; ++i) {
    const auto t = static_cast<Ticks>(random() >> (random() % 60));
    whole.add(t);
    (i % 3 == 0 ? left : right).add(t);
  }
  QuantileSketch merged = right, other = left;
  merged.merge(left);
  other.merge(right);
  CHECK(merged.count() == whole.count());
  for (const double q : told) {
    CHECK(merged.quantile(q) == whole.quantile(q));
    CHECK(other.quantile(q) == whole.quantile(q));
  }
}

TEST_CASE("a range counts as its values one by one", "[metrics]") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    Range r;
    r.first = static_cast<Ticks>(random() >> (random() % 50));
    r.growth = static_cast<Ticks>(random() >> (14 + random() % 50));
    r.steps = static_cast<std::int64_t>(1 + random() % 200);
    r.weight = static_cast<std::int64_t>(1 + random() % 5);
    QuantileSketch range, listed;
    range.add(r);
    for (std::int64_t i = 0; i < r.steps; ++i) listed.add(r.first + i * r.growth, r.weight);
    REQUIRE(range.count() == listed.count());
    for (const double q : told) REQUIRE(range.quantile(q) == listed.quantile(q));
  }
}
