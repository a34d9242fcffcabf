// Requests of a measured run: what is read, what is refused, and the comparison worked out by hand.
#include "validate/replay.hpp"

#include <catch2/catch.hpp>
#include <sstream>

#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::validate;

namespace {

MeasuredRequests read(const std::string& text) {
  std::istringstream in(text);
  return read_requests(in, "toy.csv");
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& e) {
    return e.what();
  }
  return {};
}

const std::string header = "arrival_s,input_toks,output_toks,first_token_s,last_token_s\n";
const std::string toy = "# two requests\n" + header + "1,100,11,1.5,3.5\n2,50,1,2.5,2.5\n";

metrics::RequestRecord record(std::int64_t id, double arrival, double first, double last,
                              std::int64_t output) {
  metrics::RequestRecord r;
  r.id = id;
  r.outcome = metrics::Outcome::completed;
  r.output_tokens = output;
  r.arrival = to_ticks(arrival);
  r.first_token = to_ticks(first);
  r.finish = to_ticks(last);
  return r;
}

}  // namespace

TEST_CASE("requests are read under several names of columns") {
  const MeasuredRequests m = read(toy);
  REQUIRE(m.requests.size() == 2);
  CHECK(m.prompt == "input_toks");
  CHECK(m.requests[0].prompt == 100);
  CHECK(m.requests[1].first_token == 2.5);
  catalog::Scenario scenario;
  scenario.workload.concurrent = 7;
  replay(m, scenario);
  CHECK(scenario.workload.kind == catalog::WorkloadSpec::Kind::trace);
  CHECK(scenario.workload.trace.output == "output_toks");
  CHECK(scenario.workload.concurrent == 0);
}

TEST_CASE("requests that cannot be measured ones are refused with their line") {
  CHECK_THAT(refusal("arrival_s,prompt\n"),
             Catch::Contains("toy.csv:1: lacks the column 'output_tok"));
  CHECK_THAT(refusal(header), Catch::Contains("has no request"));
  CHECK_THAT(refusal(header + "1,0,5,2,3\n"), Catch::Contains("toy.csv:2: column 'input_toks'"));
  CHECK_THAT(refusal(header + "1,10.5,5,2,3\n"), Catch::Contains("whole tokens"));
  CHECK_THAT(refusal(header + "1,10,5,1,3\n"), Catch::Contains("the times must rise"));
  CHECK_THAT(refusal(header + "1,10,5,4,3\n"), Catch::Contains("the times must rise"));
  CHECK_THAT(refusal(header + "1,10,5,2,1e308\n"), Catch::Contains("'last_token_s'"));
  CHECK_THAT(refusal(header + "-1,10,5,2,3\n"), Catch::Contains("'arrival_s'"));
  CHECK_THAT(refusal(header + "2,10,5,3,4\n1,10,5,3,4\n"),
             Catch::Contains("toy.csv:3: arrives before"));
}

TEST_CASE("means, single requests and the curve of finished requests by hand") {
  const MeasuredRequests m = read(toy);
  metrics::RunResult result;
  // Twice as long for the first, half as long for the second; ids out of order.
  result.requests = {record(1, 2, 2.25, 2.25, 1), record(0, 1, 2, 6, 11)};
  const Replay r = compare(m, result);
  CHECK(r.finished == 2);
  CHECK(r.ttft.measured == Approx(0.5));
  CHECK(r.ttft.predicted == Approx((1 + 0.25) / 2));
  CHECK(r.ttft.error_percent() == Approx(25));
  CHECK(r.tpot.n == 1);  // the second has one token
  CHECK(r.tpot.measured == Approx(0.2));
  CHECK(r.tpot.predicted == Approx(0.4));
  CHECK(r.e2el.measured == Approx(1.5));
  CHECK(r.e2el.predicted == Approx((5 + 0.25) / 2));
  // Finished at 1.5 and 2.5 s after the first arrival, predicted at 1.25 and 5.
  CHECK(r.worst.finished == 2);
  CHECK(r.worst.error_percent() == Approx(100));
  CHECK_THAT(rows_csv(m, result), Catch::Contains("0,100,11,1,500,1000,200,400,2500,5000\n") &&
                                      Catch::Contains("1,50,1,2,500,250,,,500,250\n"));
}

TEST_CASE("requests that the simulation did not finish are left out and counted") {
  const MeasuredRequests m = read(toy);
  metrics::RunResult result;
  result.requests = {record(0, 1, 1.5, 3.5, 11), record(1, 2, 2.5, 2.5, 1)};
  result.requests[1].outcome = metrics::Outcome::rejected;
  const Replay r = compare(m, result);
  CHECK(r.requests == 2);
  CHECK(r.finished == 1);
  CHECK(r.e2el.error_percent() == Approx(0).margin(1e-9));
  CHECK_THAT(to_table(r), Catch::Contains("the simulation finished 1"));
  CHECK_THAT(rows_csv(m, result), Catch::Contains("1,50,1,2,500,,,,500,\n"));
  result.requests.clear();
  CHECK_THROWS_AS(compare(m, result), RunError);
}
