#include "plan/objectives.hpp"

#include <catch2/catch.hpp>

#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::plan;

TEST_CASE("objectives are read as people write them, and print as they read") {
  const Objective o = parse_objective("p99 ttft <= 2 s");
  CHECK(o.metric == Metric::ttft);
  CHECK(o.percentile == 99.0);
  CHECK(o.limit == 2.0);
  CHECK(o.text() == "p99 TTFT <= 2 s");
  CHECK(o.name() == "p99_ttft_ms");
  CHECK(parse_objective("mean_tpot<=50ms").limit == Approx(0.05));
  CHECK_FALSE(parse_objective("mean tpot <= 50 ms").percentile);
  CHECK(parse_objective("median E2EL <= 1 min").percentile == 50.0);
  CHECK(parse_objective("p99.9 itl <= 100 ms").percentile == Approx(99.9));
  for (const char* text : {"p99 ttft <= 2 s", "mean TPOT <= 50 ms", "p99.9 ITL <= 0.1 s"})
    CHECK(parse_objective(parse_objective(text).text()).limit == parse_objective(text).limit);
}

TEST_CASE("what is no objective says what one looks like") {
  for (const char* text :
       {"", "ttft 2 s", "ttft <= 2 s", "p99 ttft <= 2", "p0 ttft <= 2 s", "p100 ttft <= 2 s",
        "p99 speed <= 2 s", "p99 ttft <= -1 s", "p99 ttft <= 0 s", "p99 ttft <= 1e308 s",
        "best tpot <= 50 ms", "p99 ttft >= 2 s", "p1e400 ttft <= 2 s", "pnan ttft <= 2 s"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_objective(text), InputError);
  }
  try {
    parse_objective("p99 ttft <= 2");
    FAIL();
  } catch (const InputError& e) {
    CHECK(std::string(e.what()).find("p99 ttft <= 2 s") != std::string::npos);
  }
}
