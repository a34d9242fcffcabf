// Collectives and sends: measured two-piece all-reduces, or their form on the fabric's topology.
#pragma once

#include "catalog/gpu.hpp"
#include "roofline/kernel_forms.hpp"

namespace servegrid::roofline {

/// A latency [s] and a bandwidth [B/s].
struct Channel {
  double latency = 0;
  double bandwidth = 1;
  [[nodiscard]] double seconds(double bytes) const { return latency + bytes / bandwidth; }
};

/// One-way bandwidth [B/s] that a GPU has to the rest of a group of `gpus` in one domain: all links
/// through a switch; in a full mesh the links to the gpus - 1 peers only; the host link over PCIe.
double group_bandwidth(const catalog::Gpu& gpu, int gpus);

/// All-reduce of a group without measurements: one-shot (every GPU sends all to all others) and
/// two-shot (reduce-scatter + all-gather) from the topology, `achieved.collective` of the rate and
/// `achieved.collective_latency`. A group larger than the domain adds a stage over the NICs.
AllReduceFit derived_all_reduce(const catalog::Gpu& gpu, int gpus);

/// All-to-all of expert dispatch or combine in a group of `gpus`.
Channel all_to_all(const catalog::Gpu& gpu, int gpus);

/// A send to the next pipeline stage, in a replica of `gpus`.
Channel stage_send(const catalog::Gpu& gpu, int gpus);

}  // namespace servegrid::roofline
