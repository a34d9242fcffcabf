#include "metrics/writers.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "metrics/atomic_write.hpp"
#include "result.hpp"
#include "units/error.hpp"

using namespace servegrid;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

TEST_CASE("requests.csv and timeline.csv", "[metrics]") {
  const std::string requests = requests_csv(small_run());
  CHECK_THAT(requests, Contains("\n0,3,0,0,completed,100,5,0,0,0.000000000,0.250000000,"
                                "0.500000000,2.500000000,\n"));
  CHECK_THAT(requests, Contains(",rejected,1,1,0,0,0.000000000,,,,\"too long, \"\"really\"\"\"\n"));
  CHECK_THAT(timeline_csv(small_run()),
             Contains("\n0,0.500000000,4,1,0,0,101,2,7,0.125000000,0.25,1\n"));
}

TEST_CASE("a time is rounded to the nanosecond, carry included", "[metrics]") {
  metrics::RunResult run = small_run();
  run.requests[0].arrival = to_ticks(2) - 1;
  CHECK_THAT(requests_csv(run), Contains(",2.000000000,0.25"));
}

TEST_CASE("summary.json carries its versions and keeps the order", "[metrics]") {
  CHECK(metrics::summary_json({{"b", 0.5}, {"a", 2}}) ==
        "{\n  \"format_version\": 1,\n  \"model_version\": 1,\n  \"b\": 0.5,\n  \"a\": 2.0\n}\n");
}

TEST_CASE("a file appears whole or not at all", "[metrics]") {
  const fs::path folder = fs::temp_directory_path() / ("servegrid-w-" + std::to_string(::getpid()));
  fs::create_directory(folder);
  const std::string path = (folder / "a.txt").string();
  metrics::write_file_atomically(path, "old");
  metrics::write_file_atomically(path, "new");
  std::ifstream in(path);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "new");
  CHECK_THROWS_WITH(metrics::write_file_atomically((folder / "no" / "b.txt").string(), "x"),
                    Contains("b.txt") && Contains("No such file"));
  // The name of a folder: the temporary file is written, the rename fails.
  fs::create_directory(folder / "taken");
  CHECK_THROWS_AS(metrics::write_file_atomically((folder / "taken").string(), "x"), RunError);
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 2);
  fs::remove_all(folder);
}
