// `servegrid calibrate --bench`: the few numbers of a user's own machine, from his own benchmark
// results.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "catalog/scenario.hpp"
#include "workload/bench_result.hpp"

namespace servegrid::calibrate {

struct BenchOptions {
  std::vector<std::string> files;  // --bench
  std::string output;    // --output: data folder to write hw_profiles/fits/ in; empty = none
  std::string date;      // written into the file; empty = today
  unsigned threads = 2;  // --jobs; the numbers do not depend on it
};

/// The benchmark as a workload: its concurrency or rate, its lengths (per request where the file
/// has them, in [ratio, 1] of the given ones under SGLang's random_range_ratio, else their means).
/// Throws InputError where the file does not say enough.
catalog::WorkloadSpec workload_of(const workload::BenchResult& result);

/// Simulates each result's load on `deployment` (its own workload is ignored), fits up to three
/// serving costs (host time a step, time to first token outside the steps and, from two results on,
/// host time a sequence), prints errors before and after, also with each result left out in turn
/// where there are three, and writes OUTPUT/hw_profiles/fits/NAME.yaml. Returns the exit code.
/// Throws InputError and InfeasibleError.
int run_calibrate_bench(const BenchOptions& options, const catalog::Scenario& deployment,
                        std::ostream& out);

}  // namespace servegrid::calibrate
