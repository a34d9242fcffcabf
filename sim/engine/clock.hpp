// The steps of an epoch in closed form, and when the scheduler looks at what has arrived.
#pragma once

#include <cstdint>

#include "engine/sequence.hpp"
#include "units/time.hpp"

namespace servegrid::engine {

/// Steps whose durations grow by the same amount each: step j lasts first + j * growth.
struct Steps {
  Ticks start = 0, first = 0, growth = 0;
  /// End of step k - 1, that is the boundary after k steps.
  [[nodiscard]] Ticks boundary(std::int64_t k) const {
    const Ticks n = k;
    return start + n * first + growth * (n * (n - 1) / 2);
  }
  /// Smallest k in [low, high] whose boundary is >= t (or > t when `strictly`); high + 1 if none.
  [[nodiscard]] std::int64_t first_boundary(Ticks t, bool strictly, std::int64_t low,
                                            std::int64_t high) const {
    ++high;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const Ticks b = boundary(middle);
      if (strictly ? b > t : b >= t) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

/// The scheduler looks at arrivals every `poll` steps while anything runs.
struct Clock {
  Steps now;
  std::int64_t poll = 1, phase = 0;  // steps since arrivals were looked at

  /// The boundary that sees what happened at `t`, of an epoch of `steps` (its end or later: beyond
  /// it). A boundary sees what happened strictly before it, whatever the order of calls at one
  /// instant.
  [[nodiscard]] std::int64_t seen_at(Ticks t, std::int64_t steps) const {
    const std::int64_t k = now.first_boundary(t, true, 1, steps);
    return ceil_div(phase + k, poll) * poll - phase;
  }
  /// All looks of a leap of `steps` are caught up at once: the time of the last one decides what
  /// was seen. 0: there was none.
  Ticks last_look(std::int64_t steps) {
    const std::int64_t k = (phase + steps) / poll * poll - phase;
    phase = (phase + steps) % poll;
    return k < 1 ? 0 : now.boundary(k);
  }
};

}  // namespace servegrid::engine
