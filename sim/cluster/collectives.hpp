// Collectives as rounds of flows over a platform: what the closed forms of the step model are
// checked against, and where those of a fabric given as links come from.
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/gpu.hpp"
#include "cluster/event_loop.hpp"
#include "cluster/platform.hpp"

namespace servegrid::cluster {

using Rounds = std::vector<std::vector<Flow>>;

/// Every GPU sends all `bytes` to every other one, which adds them up.
Rounds one_shot_all_reduce(const std::vector<int>& gpus, double bytes);
/// Reduce-scatter, then all-gather: one n-th to every other one, twice.
Rounds two_shot_all_reduce(const std::vector<int>& gpus, double bytes);
/// 2 (n - 1) rounds of one n-th to the next one.
Rounds ring_all_reduce(const std::vector<int>& gpus, double bytes);
/// Reduce-scatter inside each server, two-shot between those of one rank, all-gather inside.
Rounds hierarchical_all_reduce(const std::vector<std::vector<int>>& servers, double bytes);
/// Every GPU has `bytes`, and one n-th for each.
Rounds all_to_all(const std::vector<int>& gpus, double bytes);

/// Seconds the rounds take on the platform, links' latencies left out. Needs SimGrid, once a
/// process.
double flow_level_seconds(const Platform& platform, const Rounds& rounds);

/// What a group of the platform's first `gpus` GPUs reaches, each algorithm simulated in a process
/// of its own.
catalog::Fabric::Derived derive_collectives(const Platform& platform, int gpus);

}  // namespace servegrid::cluster
