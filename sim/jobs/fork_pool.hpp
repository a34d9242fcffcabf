// Jobs in forked children, one child a job: what crashes or is killed there does not end the
// caller, and each may hold a SimGrid engine of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace servegrid::jobs {

struct Outcome {
  bool ok = false;
  std::string bytes;  // what the job returned
  std::string error;  // what() of what it threw, or how it died
};

struct Options {
  std::uint64_t memory_limit = 0;  // [B] of address space per worker, 0 = none
  double time_limit = 0;           // [s] of wall time per job, 0 = none
  std::function<void(std::size_t, const Outcome&)> done;  // called in the parent as each job ends
};

/// Runs job(0) ... job(n_jobs - 1), at most `n_workers` at a time, each in a child of its own;
/// outcomes in job order. The caller must have one thread only and no SimGrid engine. On SIGINT or
/// SIGTERM the children are killed and reaped, then the signal is raised again. Throws RunError
/// when no child can be made.
std::vector<Outcome> run_in_workers(std::size_t n_jobs, std::size_t n_workers,
                                    const std::function<std::string(std::size_t)>& job,
                                    const Options& options = {});

}  // namespace servegrid::jobs
