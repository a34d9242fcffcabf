#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

#include "units/error.hpp"
#include "workload/source.hpp"

using namespace servegrid;
using Catch::Matchers::Contains;

namespace {

class TraceFile {
 public:
  explicit TraceFile(const std::string& text)
      : path_("/tmp/servegrid-trace-" + std::to_string(::getpid()) + ".csv") {
    std::ofstream(path_) << text;
  }
  ~TraceFile() { std::remove(path_.c_str()); }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  [[nodiscard]] std::unique_ptr<workload::Source> source(std::int64_t requests = 0) const {
    catalog::WorkloadSpec spec;
    spec.kind = catalog::WorkloadSpec::Kind::trace;
    spec.trace = path_;
    spec.requests = requests;
    return workload::make_source(spec, 1);
  }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("a trace is issued as it was recorded", "[workload]") {
  const TraceFile file(
      "# from a test\nrequest_id,arrival_s,prompt_tokens,output_tokens\n"
      "0,0.5,395,112\n1,0.75,1030,403\n");
  const auto source = file.source();
  CHECK(source->total() == 2);
  const auto first = source->next_arrival();
  REQUIRE(first);
  CHECK(first->arrival == to_ticks(0.5));
  CHECK(first->prompt_tokens == 395);
  CHECK(first->output_tokens == 112);
  CHECK(source->next_arrival()->id == 1);
  CHECK_FALSE(source->next_arrival());
  CHECK(file.source(1)->total() == 1);
}

TEST_CASE("a bad trace names file and line", "[workload]") {
  const std::string head = "arrival_s,prompt,output\n";
  CHECK_THROWS_WITH(TraceFile(head + "0,5,5\n-1,5,5\n").source(), Contains(".csv:3:"));
  CHECK_THROWS_WITH(TraceFile(head + "2,5,5\n1,5,5\n").source(), Contains(".csv:3:"));
  CHECK_THROWS_WITH(TraceFile(head + "0,5.5,5\n").source(), Contains("whole number"));
  CHECK_THROWS_WITH(TraceFile(head + "0,0,5\n").source(), Contains(".csv:2:"));
  CHECK_THROWS_WITH(TraceFile(head + "0,5\n").source(), Contains(".csv:2:"));
  CHECK_THROWS_WITH(TraceFile(head + "nan,5,5\n").source(), Contains(".csv:2:"));
  CHECK_THROWS_WITH(TraceFile(head).source(), Contains("no request"));
  CHECK_THROWS_WITH(TraceFile("when,prompt,output\n0,1,1\n").source(), Contains("arrival_s"));
  CHECK_THROWS_WITH(TraceFile(head + "0,5,5\n").source(2), Contains("has 1 requests"));
  catalog::WorkloadSpec spec;
  spec.kind = catalog::WorkloadSpec::Kind::trace;
  spec.trace = "/nowhere/trace.csv";
  CHECK_THROWS_AS(workload::make_source(spec, 1), InputError);
}
