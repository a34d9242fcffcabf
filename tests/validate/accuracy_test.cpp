#include "validate/accuracy.hpp"

#include <catch2/catch.hpp>

using namespace servegrid::validate;

TEST_CASE("error statistics follow NumPy's linear rule") {
  const auto s = error_stats({-10, 0, 10, 20, 30});
  CHECK(s.n == 5);
  CHECK(s.median_signed == Approx(10));
  CHECK(s.median_ape == Approx(10));
  CHECK(s.mape == Approx(14));
  CHECK(s.p90_ape == Approx(26));  // between 20 and 30 at 0.6
  CHECK(s.signed_p5 == Approx(-8));
  CHECK(error_stats({}).n == 0);
}

namespace {

MeasuredRow row(std::int64_t concurrency, int gpus, double ttft, double tpot) {
  MeasuredRow r;
  r.isl = r.osl = 1000;
  r.concurrency = concurrency;
  r.gpus = gpus;
  r.ttft_ms = ttft;
  r.tpot_ms = tpot;
  return r;
}

Scored score(const MeasuredRow& r, const std::string& gpu, double ttft, double tpot) {
  Scored s{&r, gpu, "vllm", "m", "fp8", {}};
  s.prediction.ttft_ms = ttft;
  s.prediction.tpot_ms = tpot;
  return s;
}

}  // namespace

TEST_CASE("decisions: order, regret and the pairs that are too close to call") {
  const MeasuredRow slow = row(16, 1, 100, 20), fast = row(16, 1, 100, 10),
                    near_slow = row(16, 1, 100, 19.5);
  SECTION("ordered rightly: no regret") {
    const auto d = decisions_of({score(slow, "a", 90, 22), score(fast, "b", 90, 11)}, 50);
    CHECK(d.overall.pairs == 1);
    CHECK(d.overall.right == 1);
    CHECK(d.across_gpus.pairs == 1);
    CHECK(d.median_regret == Approx(0).margin(1e-9));
  }
  SECTION("ordered wrongly: the regret is the throughput given away") {
    const auto d = decisions_of({score(slow, "a", 90, 9), score(fast, "b", 90, 11)}, 50);
    CHECK(d.overall.right == 0);
    CHECK(d.median_regret == Approx(100 * (1 - (100 + 999 * 10.0) / (100 + 999 * 20.0))));
  }
  SECTION("within 10 % is no decision") {
    const auto d = decisions_of({score(slow, "a", 90, 9), score(near_slow, "b", 90, 11)}, 50);
    CHECK(d.overall.pairs == 0);
  }
}

TEST_CASE("largest concurrency at a TPOT limit, interpolated") {
  const MeasuredRow r1 = row(8, 1, 100, 10), r2 = row(16, 1, 100, 15), r3 = row(32, 1, 100, 25);
  const auto exact =
      decisions_of({score(r1, "a", 1, 10), score(r2, "a", 1, 15), score(r3, "a", 1, 25)}, 20);
  CHECK(exact.concurrency_cases == 1);
  CHECK(exact.concurrency_median_error == Approx(0).margin(1e-9));
  const auto off =
      decisions_of({score(r1, "a", 1, 10), score(r2, "a", 1, 30), score(r3, "a", 1, 40)}, 20);
  CHECK(off.concurrency_median_error == Approx(100 * (1 - 8 * 1.41421356 / (16 * 1.41421356))));
}
