// Simulated time: a 128-bit integer count of 2^-60 s, so that one event of k steps equals k events
// of one step bit for bit. Durations are rounded once, where a batch composition becomes (base, per
// token), and nowhere else.
#pragma once

#include <cmath>
#include <cstdint>

namespace servegrid {

__extension__ using Ticks = __int128;

inline constexpr int ticks_log2_per_second = 60;

/// Seconds (finite, |s| < 2^60) to ticks, rounded to nearest.
inline Ticks to_ticks(double seconds) {
  // A double holds 53 bits: split so that durations above 2^-7 s lose nothing either.
  const double whole = std::floor(seconds);
  const double fraction = seconds - whole;
  return (static_cast<Ticks>(static_cast<std::int64_t>(whole)) << ticks_log2_per_second) +
         static_cast<Ticks>(std::llround(fraction * 0x1p60));
}

/// Ticks to seconds (the nearest double, near enough: used for output only, never for a decision).
inline double to_seconds(Ticks t) {
  return static_cast<double>(t) * 0x1p-60;  // exact, as std::ldexp, which is a call
}

}  // namespace servegrid
