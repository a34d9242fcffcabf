#include "study/resources.hpp"

#include <catch2/catch.hpp>

#include "metrics/result.hpp"
#include "units/error.hpp"

using namespace servegrid;
using Catch::Matchers::Contains;

namespace {

catalog::Scenario small() {
  catalog::Scenario s;
  s.workload.requests = 1000;
  s.workload.concurrent = 8;
  s.workload.output.mean = 100;
  return s;
}

}  // namespace

TEST_CASE("a scenario that would exhaust the machine is refused with the arithmetic") {
  catalog::Scenario s = small();
  CHECK_NOTHROW(study::check_resources(s, 1000, true));
  s.workload.requests = 1'000'000;
  CHECK_NOTHROW(study::check_resources(s, 1000, true));
  s.workload.requests = 1'000'000'000;
  CHECK_THROWS_AS(study::check_resources(s, 1000, true), InputError);
  CHECK_THROWS_WITH(study::check_resources(s, 1000, true),
                    Contains("1000000000 requests") && Contains("workload.requests=N"));
  s = small();
  s.replicas = 1'000'000;
  CHECK_THROWS_WITH(study::check_resources(s, 1000, true), Contains("--replicas N"));
}

TEST_CASE("as many requests as the refusal says do fit, and one more does not") {
  catalog::Scenario s = small();
  const double each = study::resources_of(s, 1000).bytes_per_request;
  const double platform = study::resources_of(s, 1000).bytes_of_platform;
  s.workload.requests = static_cast<std::int64_t>((study::max_simulation_bytes - platform) / each);
  CHECK_NOTHROW(study::check_resources(s, 1000, true));
  ++s.workload.requests;
  CHECK_THROWS_AS(study::check_resources(s, 1000, true), InputError);
}

TEST_CASE("long prompts in small chunks need more: each chunk is a step of the timeline") {
  catalog::Scenario s = small();
  s.knobs.max_num_batched_tokens = 8192;
  const double one = study::resources_of(s, 8192).bytes_per_request;
  CHECK(study::resources_of(s, 10 * 8192).bytes_per_request ==
        Approx(one + 9 * metrics::bytes_of_packed_epoch));
}

TEST_CASE("without leaps every step is an event") {
  catalog::Scenario s = small();
  s.workload.requests = 1'000'000;
  s.workload.output.mean = 100'000;
  CHECK_NOTHROW(study::check_resources(s, 100'000, true));
  CHECK_THROWS_WITH(study::check_resources(s, 100'000, false), Contains("--no-leap"));
}
