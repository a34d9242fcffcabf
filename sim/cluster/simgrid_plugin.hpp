// The border between the library and the SimGrid plugin: plain data and callbacks, no SimGrid.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "units/time.hpp"

namespace servegrid::cluster {

/// The platform: one host per GPU, one per node, a client; links by the kind of fabric.
struct GridPlatform {
  enum class Fabric { switched, full_mesh, host_only };
  int gpus = 1;
  int gpus_per_node = 8;
  Fabric fabric = Fabric::host_only;
  double fabric_bandwidth = 0;  // [B/s] one way, of a GPU over all links
  double pair_bandwidth = 0;    // [B/s] one way, of one pair in a full mesh
  double host_bandwidth = 0;    // [B/s] GPU to node
  double nic_bandwidth = 0;     // [B/s] node to network
};

/// A bulk transfer that contends with the others.
struct Transfer {
  static constexpr int client = -1;
  Ticks start = 0;
  int from = 0, to = 0;  // GPU index, or client
  std::uint64_t bytes = 0;
  double latency = 0;  // [s], added outside SimGrid: inside, sharing is weighted by 1/latency
};

/// The plugin's entry points. Both build the one engine this process may have; a second call of
/// either throws RunError.
struct SimGridEntry {
  /// `advance` handles a bounded number of events and sets the time reached; false when none is
  /// left. SimGrid's clock follows at those points.
  void (*run)(const GridPlatform& platform, const std::function<bool(Ticks& now)>& advance);
  /// When each transfer is over; starts ascend.
  std::vector<Ticks> (*transfers)(const GridPlatform& platform,
                                  const std::vector<Transfer>& transfers);
  /// SimGrid's clock at the end [s]; for tests.
  double (*clock)();
};

inline constexpr const char* simgrid_symbol = "servegrid_simgrid_entry";

/// Loads the plugin on first use. Throws RunError that lists where it was looked for.
const SimGridEntry& simgrid_entry();

}  // namespace servegrid::cluster
