// Whole runs inside SimGrid, each in a process of its own, against SimGrid's bare event rate.
//   bench_runs [--output FILE] [--repeat N] [--case NAME]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cases.hpp"
#include "clock.hpp"
#include "cluster/simgrid_plugin.hpp"
#include "cluster/simulate.hpp"
#include "jobs/fork_pool.hpp"
#include "metrics/atomic_write.hpp"
#include "run_case.hpp"
#include "sleeps.hpp"
#include "units/error.hpp"

namespace {

using namespace servegrid;
using Json = nlohmann::ordered_json;

constexpr int sleeps = 1'000'000;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

// The job's numbers, from a child of its own: SimGrid has one engine a process.
Json in_child(const std::function<Json()>& job) {
  const auto outcomes = jobs::run_in_workers(1, 1, [&](std::size_t) { return job().dump(); });
  if (!outcomes[0].ok) throw RunError("bench: " + outcomes[0].error);
  return Json::parse(outcomes[0].bytes);
}

Json bare_sleeps() {
  return in_child([] { return Json{{"rate", sleeps / bench::sleep_seconds(sleeps)}}; });
}

Json run_case(const catalog::Scenario& scenario) {
  return in_child([&]() -> Json {
    const study::PoolModels ready = bench::prepare(scenario);
    static_cast<void>(cluster::simgrid_entry());  // loading it is start-up, measured elsewhere
    const double start = bench::processor_seconds();
    const auto result = cluster::simulate_on_simgrid(scenario, ready.pools, {});
    const double seconds = bench::processor_seconds() - start;
    const auto requests = static_cast<double>(result.counters.requests);
    return {{"rate", requests / seconds},
            {"requests", requests},
            {"events_per_request", static_cast<double>(result.counters.events) / requests},
            {"preemptions", result.counters.preemptions},
            {"prefix_hit_rate", result.counters.prefix_queries == 0
                                    ? 0.0
                                    : static_cast<double>(result.counters.prefix_hits) /
                                          static_cast<double>(result.counters.prefix_queries)},
            {"peak_rss_bytes", peak_rss_bytes()}};
  });
}

std::string value_of(int argc, char** argv, const std::string& flag, const std::string& otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == flag) return argv[i + 1];
  return otherwise;
}

int run(int argc, char** argv) {
  const std::string output = value_of(argc, argv, "--output", "");
  const std::string only = value_of(argc, argv, "--case", "");
  const int repeats = std::max(1, std::atoi(value_of(argc, argv, "--repeat", "5").c_str()));
  std::vector<double> sleep_rates;
  for (int i = 0; i < repeats; ++i) sleep_rates.push_back(bare_sleeps()["rate"]);
  const double bare = median(sleep_rates);
  fmt::print("bare SimGrid sleeps of one actor: {:.0f} /s of processor time (median of {})\n\n",
             bare, repeats);
  fmt::print("{:<3} {:>9} {:>12} {:>6} {:>6} {:>9} {:>12} {:>12}  {}\n", "", "requests",
             "requests/s", "ratio", "target", "peak MiB", "events/req", "preemptions", "");
  Json cases = Json::object();
  for (const bench::Case& one : bench::all_cases()) {
    if (!only.empty() && one.name != only) continue;
    const catalog::Scenario scenario = bench::scenario_of(one);
    std::vector<double> rates;
    Json last;
    for (int i = 0; i < repeats; ++i) {
      last = run_case(scenario);
      rates.push_back(last["rate"]);
    }
    const double rate = median(rates);
    fmt::print("({}) {:>9.0f} {:>12.0f} {:>6.2f} {:>6.2f} {:>9.1f} {:>12.2f} {:>12}  {}\n",
               one.name, last["requests"].get<double>(), rate, rate / bare, one.target,
               last["peak_rss_bytes"].get<double>() / 1048576,
               last["events_per_request"].get<double>(), last["preemptions"].get<std::int64_t>(),
               one.title);
    std::fflush(stdout);
    cases[one.name] = {{"title", one.title},
                       {"requests", last["requests"]},
                       {"requests_per_s", rate},
                       {"ratio", rate / bare},
                       {"target", one.target},
                       {"peak_rss_bytes", last["peak_rss_bytes"]},
                       {"events_per_request", last["events_per_request"]},
                       {"preemptions", last["preemptions"]},
                       {"prefix_hit_rate", last["prefix_hit_rate"]}};
  }
  if (output.empty()) return 0;
  const Json all = {{"bare_sleeps_per_s", bare}, {"repeats", repeats}, {"cases", cases}};
  metrics::write_file_atomically(output, all.dump(2) + '\n');
  fmt::print("\nwritten to {}\n", output);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "bench_runs: {}\n", e.what());
    return 1;
  }
}
