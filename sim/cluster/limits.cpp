#include "cluster/limits.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

namespace servegrid::cluster {

namespace {

// Events between two looks: an event takes from 50 ns to some microseconds, a look at the clock
// 30 ns, one at the memory 10 us.
constexpr std::int64_t clock_every = 256, memory_every = 8192;

}  // namespace

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double all = 0, resident = 0;
  if (!(statm >> all >> resident)) return 0;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::string LimitWatch::reached() {
  if (limits_.events > 0 && events_ >= limits_.events) {
    return fmt::format("stopped by --max-events after {} events", events_);
  }
  if (limits_.seconds > 0 && events_ % clock_every == 0) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun_;
    if (passed.count() >= limits_.seconds) {
      return fmt::format("stopped by --max-time after {:g} s", limits_.seconds);
    }
  }
  if (limits_.bytes > 0 && events_ % memory_every == 0) {
    if (resident_bytes() >= limits_.bytes) {
      return fmt::format("stopped by --max-memory at {:g} MB", limits_.bytes / 1e6);
    }
  }
  ++events_;
  return {};
}

}  // namespace servegrid::cluster
