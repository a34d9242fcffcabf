// What SimGrid alone can do: the yardstick of every run inside it.
#pragma once

namespace servegrid::bench {

/// `count` sleeps of one actor, in a SimGrid engine of this process's own (there is one only).
/// Processor seconds.
double sleep_seconds(int count);

}  // namespace servegrid::bench
