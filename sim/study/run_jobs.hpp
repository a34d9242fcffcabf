// Points simulated in processes of their own: SimGrid allows one simulation a process.
#pragma once

#include <vector>

#include "study/compare.hpp"

namespace servegrid::study {

/// Simulates cases[i] for each i of `to_run` and puts the outcome at points[i].
void run_jobs(const std::vector<Case>& cases, const std::vector<std::size_t>& to_run,
              const CompareOptions& options, std::vector<Point>& points);

}  // namespace servegrid::study
