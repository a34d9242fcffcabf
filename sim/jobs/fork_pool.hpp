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
  std::string log;    // with Options::keep_log: the end of what it wrote to standard error
};

struct Options {
  std::uint64_t memory_limit = 0;  // [B] of address space per worker, 0 = none
  double time_limit = 0;           // [s] of wall time per job, 0 = none
  std::function<void(std::size_t, const Outcome&)> done;  // called in the parent as each job ends
  bool keep_log = false;

  /// False for a host with signal handling and threads of its own (Python): handlers stay as they
  /// are, workers ignore SIGINT (the host stops them through `poll`), and several threads may each
  /// run a pool.
  bool handle_signals = true;
  /// Called in the parent at least every `poll_interval` seconds; what it throws ends the workers
  /// and leaves run_in_workers.
  std::function<void()> poll;
  double poll_interval = 0.05;
  /// Around each fork, as os.fork() of Python needs them.
  std::function<void()> before_fork, after_fork_parent, after_fork_child;
};

/// Runs job(0) ... job(n_jobs - 1), at most `n_workers` at a time, each in a child of its own;
/// outcomes in job order. The caller must have no SimGrid engine, and one thread only unless
/// `handle_signals` is off. On SIGINT or SIGTERM the children are killed and reaped, then the
/// signal is raised again (with `handle_signals`). Throws RunError when no child can be made.
std::vector<Outcome> run_in_workers(std::size_t n_jobs, std::size_t n_workers,
                                    const std::function<std::string(std::size_t)>& job,
                                    const Options& options = {});

}  // namespace servegrid::jobs
