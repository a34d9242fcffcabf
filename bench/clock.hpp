// Processor time: what a busy machine does not stretch as it does wall time.
#pragma once

#include <ctime>

namespace servegrid::bench {

inline double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace servegrid::bench
