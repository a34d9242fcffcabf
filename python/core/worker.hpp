// One job in a process of its own, waited for without the interpreter's lock.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "core.hpp"

namespace servegrid::python {

/// Set from any thread: the runs that watch it end with KeyboardInterrupt.
struct CancelToken {
  std::atomic<bool> set = false;
};

struct WorkerResult {
  std::string bytes;  // what the job returned
  std::string log;    // the end of what it wrote to standard error
};

/// Runs `job` in a forked child and waits: signals are looked at every 20 ms, so that Ctrl-C ends
/// it; `cancel` may be null. `python` keeps the interpreter usable in the child. What the job
/// throws is thrown here with the same type; a child that dies is a RunError with its log. Call it
/// with the interpreter's lock held.
WorkerResult run_in_worker(const std::function<std::string()>& job, const CancelToken* cancel,
                           bool python);

}  // namespace servegrid::python
