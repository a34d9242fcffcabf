// Points simulated in processes of their own: SimGrid allows one simulation a process.
#pragma once

#include <vector>

#include "study/compare.hpp"

namespace servegrid::study {

/// `jobs`, or as many as there are cores when it is 0.
std::size_t workers_of(int jobs);

/// Simulates cases[i] for each i of `to_run` and puts the outcome at points[i].
void run_jobs(const std::vector<Case>& cases, const std::vector<std::size_t>& to_run,
              const CompareOptions& options, std::vector<Point>& points);

}  // namespace servegrid::study
