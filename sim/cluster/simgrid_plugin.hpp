// The border between the library and the SimGrid plugin: plain data and calls, no SimGrid.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/event_loop.hpp"
#include "cluster/platform.hpp"
#include "units/time.hpp"

namespace servegrid::cluster {

/// A bulk transfer with its start.
struct Transfer {
  Ticks start = 0;
  int from = 0, to = 0;  // GPUs
  std::uint64_t bytes = 0;
};

/// The plugin's entry points. Each of the first three builds the one engine that this process may
/// have; a second call of any throws RunError. Routes' latencies are the caller's to add: inside
/// SimGrid sharing is weighted by 1/latency.
struct SimGridEntry {
  /// Runs the loop to its end, letting SimGrid's clock catch up whenever a flow is in flight.
  void (*run)(const Platform& platform, EventLoop& loop);
  /// When each transfer is over; starts ascend.
  std::vector<Ticks> (*transfers)(const Platform& platform, const std::vector<Transfer>& transfers);
  /// Rounds of flows, each begun when all of the one before are over: when each is over [s].
  std::vector<double> (*rounds)(const Platform& platform,
                                const std::vector<std::vector<Flow>>& rounds);
  /// SimGrid's clock at the end [s]; for tests.
  double (*clock)();
};

inline constexpr const char* simgrid_symbol = "servegrid_simgrid_entry";

/// Loads the plugin on first use. Throws RunError that lists where it was looked for.
const SimGridEntry& simgrid_entry();

}  // namespace servegrid::cluster
