// What a run may take before it is stopped with what it has.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace servegrid::cluster {

/// 0: no limit. Only that of events gives the same result on every machine.
struct Limits {
  std::int64_t events = 0;  // of the event loop
  double seconds = 0;       // of wall time
  double bytes = 0;         // of the process's resident memory
  [[nodiscard]] bool any() const { return events > 0 || seconds > 0 || bytes > 0; }
};

/// Counts events and looks at the clock and at the memory now and then.
class LimitWatch {
 public:
  explicit LimitWatch(const Limits& limits)
      : limits_(limits), begun_(std::chrono::steady_clock::now()) {}

  /// Before each event: which limit is reached, in words; empty = none.
  [[nodiscard]] std::string reached();

 private:
  Limits limits_;
  std::chrono::steady_clock::time_point begun_;
  std::int64_t events_ = 0;
};

/// Memory that the process has in RAM [B]; 0 where it cannot be known.
double resident_bytes();

}  // namespace servegrid::cluster
