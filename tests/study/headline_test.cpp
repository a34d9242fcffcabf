#include <catch2/catch.hpp>

#include "study/compare.hpp"

using namespace servegrid;
using study::Point;

namespace {

Point point(const std::string& set_up, std::int64_t users, double tpot_ms, double rate) {
  Point p;
  p.set_up = set_up;
  p.gpu = set_up;
  p.users = users;
  p.resident = set_up == "a" ? 10 : 25;
  p.context_tokens = 8192;
  p.slo_tpot = 0.050;
  p.summary = {{"mean_tpot_ms", tpot_ms}, {"output_throughput", rate}};
  return p;
}

// A catalogue is needed for prices only; GPUs called "a" and "b" are on no sheet.
std::vector<study::SetUp> set_ups(const std::vector<Point>& points) {
  return study::set_ups_of(points, catalog::Catalog(SERVEGRID_SOURCE_DIR));
}

}  // namespace

TEST_CASE("users at an objective: between two points, linear") {
  const auto s = set_ups({point("a", 10, 40, 100), point("a", 20, 60, 150)});
  REQUIRE(s.size() == 1);
  REQUIRE(s[0].at_slo);
  CHECK(s[0].at_slo->users == Approx(15));
  CHECK(s[0].at_slo->interpolated);
  CHECK_FALSE(s[0].at_slo->at_least);
  CHECK(s[0].best_users == 20);
  CHECK(s[0].best_tokens_per_second == Approx(150));
}

TEST_CASE("users at an objective: never met, and met by every point") {
  const auto none = set_ups({point("a", 1, 51, 10)});
  REQUIRE(none[0].at_slo);
  CHECK(none[0].at_slo->none);
  const auto all = set_ups({point("a", 1, 20, 10), point("a", 64, 50, 90)});
  CHECK(all[0].at_slo->at_least);
  CHECK(all[0].at_slo->users == Approx(64));
}

TEST_CASE("users who wait in a standing queue do not count, whatever the TPOT") {
  Point queued = point("a", 20, 41, 100);
  queued.load.waiting = 9;
  const auto s = set_ups({point("a", 10, 40, 100), queued});
  // From 1 below one in ten (of at least one) to 7 above it.
  CHECK(s[0].at_slo->users == Approx(10 + 10 * 1.0 / 8));
  CHECK(s[0].at_slo->interpolated);
  CHECK_FALSE(s[0].at_slo->at_least);
}

TEST_CASE("a queue just above the limit takes away next to nothing") {
  Point near = point("a", 50, 45, 100), before = point("a", 30, 40, 90);
  before.load.waiting = 2;
  near.load.waiting = 5.03;
  CHECK(set_ups({before, near})[0].at_slo->users == Approx(30 + 20 * 1.0 / 1.03));
  near.slo_tpot = before.slo_tpot = 0.0425;  // the TPOT is what gives out first
  CHECK(set_ups({before, near})[0].at_slo->users == Approx(40));
}

TEST_CASE("users at an objective: the order of the points does not matter") {
  const auto s = set_ups({point("a", 20, 60, 150), point("a", 10, 40, 100)});
  CHECK(s[0].at_slo->users == Approx(15));
}

TEST_CASE("a set-up with no feasible point is left out, and one alone has a sentence") {
  Point bad = point("b", 1, 1, 1);
  bad.feasible = false;
  const auto s = set_ups({point("a", 1, 20, 10), bad});
  REQUIRE(s.size() == 1);
  const auto text = study::headline(s, 0.050);
  REQUIRE(text.size() == 1);
  CHECK(text[0].find("10.00 resident conversations of 8,192 tokens") != std::string::npos);
}

TEST_CASE("the sentence compares with the first set-up") {
  const auto s = set_ups({point("a", 10, 40, 100), point("b", 10, 30, 250)});
  const auto text = study::headline(s, 0.050);
  REQUIRE(text.size() == 1);
  CHECK(text[0].find("b against a: 2.5x as many resident conversations") == 0);
  CHECK(text[0].find("2.5x the output tokens/s (250 at 10 users to 100 at 10)") !=
        std::string::npos);
  CHECK(text[0].find("at least 10 users at mean TPOT <= 50 ms without a standing queue to at "
                     "least 10") != std::string::npos);
}

TEST_CASE("a point survives its text") {
  Point p = point("a", 7, 1.0 / 3.0, 2.0 / 3.0);
  p.prices = {"x"};
  p.reason = "line \"one\"\nline two";
  p.load.seconds_by_bound = {1, 2, 3, 4, 5};
  p.slo_ttft.reset();
  const Point q = study::from_text(study::to_text(p));
  CHECK(study::to_text(q) == study::to_text(p));
  CHECK(q.metric("mean_tpot_ms") == p.metric("mean_tpot_ms"));
  CHECK_FALSE(q.slo_ttft);
  CHECK(q.load.seconds_by_bound == p.load.seconds_by_bound);
  CHECK_THROWS(study::from_text("{}"));
}

TEST_CASE("pools are rented one by one, and their costs add up") {
  Point p = point("a", 10, 40, 1000);
  p.prices = {"per-gpu-2026-11"};
  const auto sheet = catalog::Catalog(SERVEGRID_SOURCE_DIR).prices("per-gpu-2026-11");
  const double b200 = sheet.find("b200", 2)->month(2), h100 = sheet.find("h100-sxm", 8)->month(8);
  p.pools = {{"new", "b200", 2, 1, 0}, {"old", "h100-sxm", 24, 4, 0}};
  const auto rented = set_ups({p})[0].costs;
  REQUIRE(rented.size() == 1);
  CHECK(rented[0].per_month == Approx(b200 + 3 * h100));
  REQUIRE(rented[0].pools.size() == 2);
  CHECK(rented[0].pools[1].first == "old");
  CHECK(rented[0].pools[1].second == Approx(3 * h100));
  CHECK(rented[0].per_million_tokens ==
        Approx((b200 + 3 * h100) / (1000 * 3600.0 * catalog::hours_per_month) * 1e6));

  p.currency = "USD";
  p.pools[1].per_gpu_month = 100;
  CHECK(set_ups({p})[0].costs.at(0).per_month == Approx(b200 + 2400));
  p.pools[0].per_gpu_month = 1000;
  const auto own = set_ups({p})[0].costs;
  REQUIRE(own.size() == 1);
  CHECK(own[0].sheet == "own prices");
  CHECK(own[0].per_month == Approx(2000 + 2400));

  p.pools[0] = {"new", "unheard-of", 2, 1, 0};
  const auto none = set_ups({p})[0];
  CHECK(none.costs.empty());
  CHECK(none.unpriced == std::vector<std::string>{"per-gpu-2026-11"});
}

TEST_CASE("what a point says of its pools survives the way between processes") {
  Point p = point("a", 10, 40, 1000);
  p.pools = {{"new", "b200", 2, 1, 0}, {"old", "h100-sxm", 8, 4, 450.5}};
  p.currency = "USD";
  const Point back = study::from_text(study::to_text(p));
  REQUIRE(back.pools.size() == 2);
  CHECK(back.pools[0].per_gpu_month == 0);
  CHECK(back.pools[1].name == "old");
  CHECK(back.pools[1].gpus == 8);
  CHECK(back.pools[1].group == 4);
  CHECK(back.pools[1].per_gpu_month == 450.5);
  CHECK(back.currency == "USD");
}
