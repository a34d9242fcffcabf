// An arithmetic sequence of durations: what the steps of an epoch are.
#pragma once

#include <cstdint>

#include "units/time.hpp"

namespace servegrid::metrics {

/// first, first + growth, ..., `steps` values, each `weight` times; growth >= 0.
struct Range {
  Ticks first = 0, growth = 0;
  std::int64_t steps = 0, weight = 0;
  [[nodiscard]] Ticks last() const { return first + (steps - 1) * growth; }
};

/// Values of `r` (each counted once) that are < v.
inline std::int64_t steps_below(const Range& r, Ticks v) {
  if (v <= r.first) return 0;
  if (v > r.last()) return r.steps;
  const Ticks ahead = v - r.first - 1;
  if (ahead >> 63 == 0 && r.growth >> 63 == 0) {  // a division of 128 bits takes ten times as long
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(ahead) /
                                     static_cast<std::uint64_t>(r.growth)) +
           1;
  }
  return static_cast<std::int64_t>(ahead / r.growth) + 1;
}

}  // namespace servegrid::metrics
