// Routes through a platform's graph. Part of the library and of the SimGrid plugin.
#include <algorithm>
#include <queue>
#include <tuple>

#include "cluster/platform.hpp"
#include "units/error.hpp"

namespace servegrid::cluster {

Routes::Routes(const Platform& platform) : platform_(platform), out_(platform.nodes.size()) {
  for (std::size_t i = 0; i < platform.links.size(); ++i) {
    out_[static_cast<std::size_t>(platform.links[i].from)].push_back(static_cast<int>(i));
  }
}

// Dijkstra.
const std::vector<int>& Routes::tree(int from) {
  const auto [it, is_new] = trees_.try_emplace(from);
  if (!is_new) return it->second;
  std::vector<int>& into = it->second;
  into.assign(platform_.nodes.size(), -1);
  std::vector<std::pair<std::int64_t, int>> best(platform_.nodes.size(), {-1, 0});
  using Item = std::tuple<std::int64_t, int, std::size_t>;  // cost, links, node
  std::priority_queue<Item, std::vector<Item>, std::greater<>> open;
  best[static_cast<std::size_t>(from)] = {0, 0};
  open.emplace(0, 0, static_cast<std::size_t>(from));
  while (!open.empty()) {
    const auto [cost, hops, node] = open.top();
    open.pop();
    if (std::pair(cost, hops) != best[node]) continue;
    for (const int l : out_[node]) {
      const Platform::Link& link = platform_.links[static_cast<std::size_t>(l)];
      const auto to = static_cast<std::size_t>(link.to);
      const std::pair<std::int64_t, int> reached{cost + link.cost, hops + 1};
      if (best[to].first >= 0 && best[to] <= reached) continue;
      best[to] = reached;
      into[to] = l;
      open.emplace(reached.first, reached.second, to);
    }
  }
  return into;
}

std::vector<int> Routes::links(int from, int to) {
  std::vector<int> out;
  const std::vector<int>& into = tree(from);
  for (int node = to; node != from;) {
    const int l = into[static_cast<std::size_t>(node)];
    if (l < 0) {
      throw InputError("network: no link leads from " +
                       platform_.nodes[static_cast<std::size_t>(from)].name + " to " +
                       platform_.nodes[static_cast<std::size_t>(to)].name +
                       "; a GPU profile without 'nic' has no way out of its server");
    }
    out.push_back(l);
    node = platform_.links[static_cast<std::size_t>(l)].from;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

double Routes::latency(int from, int to) {
  double sum = 0;
  for (const int l : links(from, to)) sum += platform_.links[static_cast<std::size_t>(l)].latency;
  return sum;
}

}  // namespace servegrid::cluster
