// SGLang's schedule_policy: lpm: the queue by the longest cached prefix.
#pragma once

#include <vector>

#include "engine/state.hpp"

namespace servegrid::engine {

inline constexpr std::size_t most_sorted = 128;  // a longer queue stays first come, first served

/// The waiting sequences, longest cached prefix first, else in their order. Those that share enough
/// of their prompt with one before them, and find little of it cached, come last: the first one's
/// prefill will cache it for them (managers/schedule_policy.py).
std::vector<Slot> by_longest_prefix(const State& state);

}  // namespace servegrid::engine
