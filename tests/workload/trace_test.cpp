#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <vector>

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
    spec.trace.file = path_;
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
  const auto first = source->next_arrival();
  REQUIRE(first);
  CHECK(first->arrival == to_ticks(0.5));
  CHECK(first->prompt_tokens == 395);
  CHECK(first->output_tokens == 112);
  CHECK(source->next_arrival()->id == 1);
  CHECK_FALSE(source->next_arrival());
  CHECK(source->total() == 2);
  const auto one = file.source(1);
  CHECK(one->next_arrival());
  CHECK_FALSE(one->next_arrival());
}

// All of a trace; throws what reading it throws.
static std::vector<workload::Request> all(const std::unique_ptr<workload::Source>& source) {
  std::vector<workload::Request> out;
  while (const auto r = source->next_arrival()) out.push_back(*r);
  CHECK(source->total() == static_cast<std::int64_t>(out.size()));
  return out;
}

TEST_CASE("a bad trace names file and line", "[workload]") {
  const std::string head = "arrival_s,prompt,output\n";
  const auto read = [&](const std::string& text, std::int64_t requests = 0) {
    return all(TraceFile(text).source(requests));
  };
  CHECK_THROWS_WITH(read(head + "0,5,5\n-1,5,5\n"), Contains(".csv:3:"));
  CHECK_THROWS_WITH(read(head + "2,5,5\n1,5,5\n"), Contains(".csv:3:"));
  CHECK_THROWS_WITH(read(head + "0,5.5,5\n"), Contains("whole number"));
  CHECK_THROWS_WITH(read(head + "0,-1,5\n"), Contains(".csv:2:"));
  CHECK_THROWS_WITH(read(head + "0,5\n"), Contains(".csv:2:"));
  CHECK_THROWS_WITH(read(head + "nan,5,5\n"), Contains(".csv:2:"));
  CHECK_THROWS_WITH(read(head + "0,0,5\n"), Contains("no prompt tokens (first in line 2)"));
  CHECK_THROWS_WITH(read(head), Contains("no request"));
  CHECK_THROWS_WITH(read("when,prompt,output\n0,1,1\n"), Contains("no format"));
  CHECK_THROWS_WITH(read(head + "0,5,5\n", 2), Contains("has 1 requests"));
  catalog::WorkloadSpec spec;
  spec.kind = catalog::WorkloadSpec::Kind::trace;
  spec.trace.file = "/nowhere/trace.csv";
  CHECK_THROWS_AS(workload::make_source(spec, 1), InputError);
}
