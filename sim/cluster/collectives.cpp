#include "cluster/collectives.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "cluster/simgrid_plugin.hpp"
#include "jobs/fork_pool.hpp"
#include "units/error.hpp"

namespace servegrid::cluster {

namespace {

void to_all_others(const std::vector<int>& gpus, double bytes, std::vector<Flow>& round) {
  for (const int from : gpus) {
    for (const int to : gpus) {
      if (from == to) continue;
      Flow flow;
      flow.from = from;
      flow.to = to;
      flow.bytes = static_cast<std::uint64_t>(std::ceil(bytes));
      round.push_back(flow);
    }
  }
}

}  // namespace

Rounds one_shot_all_reduce(const std::vector<int>& gpus, double bytes) {
  Rounds rounds(1);
  to_all_others(gpus, bytes, rounds[0]);
  return rounds;
}

Rounds two_shot_all_reduce(const std::vector<int>& gpus, double bytes) {
  Rounds rounds(2);
  for (auto& round : rounds) to_all_others(gpus, bytes / static_cast<double>(gpus.size()), round);
  return rounds;
}

Rounds ring_all_reduce(const std::vector<int>& gpus, double bytes) {
  const std::size_t n = gpus.size();
  Rounds rounds(2 * (n - 1));
  for (auto& round : rounds) {
    for (std::size_t k = 0; k < n; ++k) {
      Flow flow;
      flow.from = gpus[k];
      flow.to = gpus[(k + 1) % n];
      flow.bytes = static_cast<std::uint64_t>(std::ceil(bytes / static_cast<double>(n)));
      round.push_back(flow);
    }
  }
  return rounds;
}

Rounds hierarchical_all_reduce(const std::vector<std::vector<int>>& servers, double bytes) {
  Rounds rounds(4);
  const auto inside = static_cast<double>(servers.front().size());
  for (const auto& gpus : servers) {
    to_all_others(gpus, bytes / inside, rounds[0]);
    to_all_others(gpus, bytes / inside, rounds[3]);
  }
  for (std::size_t rank = 0; rank < servers.front().size(); ++rank) {
    std::vector<int> peers;
    for (const auto& gpus : servers) peers.push_back(gpus[rank]);
    const double share = bytes / inside / static_cast<double>(peers.size());
    to_all_others(peers, share, rounds[1]);
    to_all_others(peers, share, rounds[2]);
  }
  return rounds;
}

Rounds all_to_all(const std::vector<int>& gpus, double bytes) {
  Rounds rounds(1);
  to_all_others(gpus, bytes / static_cast<double>(gpus.size()), rounds[0]);
  return rounds;
}

double flow_level_seconds(const Platform& platform, const Rounds& rounds) {
  return simgrid_entry().rounds(platform, rounds).back();
}

catalog::Fabric::Derived derive_collectives(const Platform& platform, int gpus) {
  constexpr double bytes = 1e9;  // large: rates, without the latencies
  std::vector<int> group(static_cast<std::size_t>(gpus));
  std::iota(group.begin(), group.end(), 0);
  const std::vector<Rounds> algorithms = {one_shot_all_reduce(group, bytes),
                                          two_shot_all_reduce(group, bytes),
                                          ring_all_reduce(group, bytes), all_to_all(group, bytes)};
  const auto outcomes = jobs::run_in_workers(algorithms.size(), 1, [&](std::size_t i) {
    return std::to_string(1e9 * flow_level_seconds(platform, algorithms[i]));
  });
  std::vector<double> rate;  // message bytes over time [B/s]
  for (const jobs::Outcome& outcome : outcomes) {
    if (!outcome.ok) throw RunError("deriving collectives of the fabric: " + outcome.error);
    rate.push_back(bytes / (1e-9 * std::stod(outcome.bytes)));
  }
  catalog::Fabric::Derived derived;
  derived.gpus = gpus;
  derived.one_shot = rate[0];
  derived.two_shot = std::max(rate[1], rate[2]);
  derived.all_to_all = rate[3] * (gpus - 1) / gpus;  // what leaves a GPU
  Routes routes(platform);
  derived.pair = 0;
  for (const int a : group) {
    for (const int b : group) {
      if (a == b) continue;
      const int from = platform.gpus[static_cast<std::size_t>(a)];
      const int to = platform.gpus[static_cast<std::size_t>(b)];
      derived.latency = std::max(derived.latency, routes.latency(from, to));
      double narrowest = 1e30;
      for (const int l : routes.links(from, to)) {
        narrowest = std::min(narrowest, platform.links[static_cast<std::size_t>(l)].bandwidth);
      }
      derived.pair = derived.pair > 0 ? std::min(derived.pair, narrowest) : narrowest;
    }
  }
  return derived;
}

}  // namespace servegrid::cluster
