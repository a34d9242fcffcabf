#include "cluster/platform.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "units/error.hpp"
#include "units/quantity.hpp"

namespace servegrid::cluster {

namespace {

// Far apart, so that a detour over a fabric is cheaper than one hop over PCIe, and so on.
constexpr int fabric_cost = 1, pcie_cost = 100, network_cost = 10'000;

/// GPUs of one server and what joins them; returns the nodes of its NICs.
std::vector<int> add_server(Platform& p, const catalog::Gpu& gpu, int server, int count) {
  const std::string prefix = "server-" + std::to_string(server) + "/";
  const int cpu = p.add(prefix + "cpu", Platform::NodeKind::cpu, server);
  std::vector<int> gpus, nics;
  for (int k = 0; k < count; ++k) {
    const std::string number = std::to_string(p.gpus.size());
    const int node = p.add("gpu-" + number, Platform::NodeKind::gpu, server);
    p.gpus.push_back(node);
    gpus.push_back(node);
    int behind = node;
    if (gpu.host_bandwidth > 0) {
      const int pcie = p.add(prefix + "pcie-" + number, Platform::NodeKind::pcie, server);
      p.join(node, pcie, gpu.host_bandwidth, 0, pcie_cost);
      p.join(pcie, cpu, gpu.host_bandwidth, 0, pcie_cost);
      behind = pcie;
    }
    if (gpu.nic_bandwidth > 0) {
      const int nic = p.add(prefix + "nic-" + number, Platform::NodeKind::nic, server);
      p.join(behind, nic, gpu.host_bandwidth > 0 ? gpu.host_bandwidth : gpu.nic_bandwidth, 0,
             pcie_cost);
      nics.push_back(nic);
    }
  }
  const double rate = gpu.fabric.one_way();
  if (count < 2 || rate <= 0) return nics;
  if (gpu.fabric.kind == catalog::FabricKind::switched) {
    const int fabric = p.add(prefix + "switch", Platform::NodeKind::fabric, server);
    for (const int node : gpus) p.join(node, fabric, rate, 0, fabric_cost);
  } else if (gpu.fabric.kind == catalog::FabricKind::full_mesh) {
    const double pair = rate / std::max(1, gpu.fabric.domain - 1);
    for (std::size_t a = 0; a < gpus.size(); ++a) {
      for (std::size_t b = a + 1; b < gpus.size(); ++b) {
        p.join(gpus[a], gpus[b], pair, 0, fabric_cost);
      }
    }
  }
  return nics;
}

}  // namespace

int Platform::add(std::string name, NodeKind kind, int server) {
  nodes.push_back({std::move(name), kind, server});
  return static_cast<int>(nodes.size()) - 1;
}

void Platform::join(int a, int b, double bandwidth, double latency, int cost) {
  links.push_back({a, b, bandwidth, latency, cost});
  links.push_back({b, a, bandwidth, latency, cost});
}

Platform make_platform(const std::vector<catalog::PoolSpec>& pools, const Placement& placement,
                       const catalog::NetworkSpec& network) {
  Platform p;
  const std::size_t servers = placement.servers.size();
  const std::size_t per_leaf = network.servers_per_leaf > 0
                                   ? static_cast<std::size_t>(network.servers_per_leaf)
                                   : std::max<std::size_t>(1, servers);
  std::vector<int> leaves;
  std::vector<double> uplinks;
  for (std::size_t s = 0; s < servers; ++s) {
    const Placement::Server& server = placement.servers[s];
    const catalog::Gpu& gpu = pools[static_cast<std::size_t>(server.pool)].gpu;
    const std::vector<int> nics = add_server(p, gpu, static_cast<int>(s), server.gpus);
    if (servers < 2) continue;
    if (s % per_leaf == 0) {
      leaves.push_back(p.add("leaf-" + std::to_string(leaves.size()), Platform::NodeKind::leaf));
      uplinks.push_back(0);
    }
    for (const int nic : nics) {
      p.join(nic, leaves.back(), gpu.nic_bandwidth, network.latency / 2, network_cost);
      uplinks.back() += gpu.nic_bandwidth;
    }
  }
  if (leaves.size() < 2) return p;
  const int spine = p.add("spine", Platform::NodeKind::spine);
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    if (uplinks[l] > 0) {
      p.join(leaves[l], spine, uplinks[l] / network.oversubscription, 0, network_cost);
    }
  }
  return p;
}

Platform make_platform(const catalog::FabricSpec& fabric) {
  Platform p;
  std::map<std::string, int> nodes;
  for (int g = 0; g < fabric.gpus; ++g) {
    const std::string name = "gpu-" + std::to_string(g);
    nodes[name] = p.add(name, Platform::NodeKind::gpu);
    p.gpus.push_back(nodes[name]);
  }
  const auto node = [&](const std::string& name) {
    const auto it = nodes.find(name);
    if (it != nodes.end()) return it->second;
    return nodes[name] = p.add(name, Platform::NodeKind::other);
  };
  for (const catalog::FabricSpec::Link& link : fabric.links) {
    const int from = node(link.from), to = node(link.to);
    if (link.one_way) {
      p.links.push_back({from, to, link.bandwidth, link.latency, 1});
    } else {
      p.join(from, to, link.bandwidth, link.latency, 1);
    }
  }
  return p;
}

Platform platform_of(const catalog::Scenario& scenario) {
  const std::vector<catalog::PoolSpec> pools = catalog::pools_of(scenario);
  const catalog::NetworkSpec& network = catalog::cluster_of(scenario).network;
  const Placement placement = place(pools);
  if (!network.fabric) return make_platform(pools, placement, network);
  int needed = 0;
  for (const Place& r : placement.replicas) needed = std::max(needed, r.first_gpu + r.gpus);
  if (needed > network.fabric->gpus) {
    throw InputError("network: the fabric '" + network.fabric->name + "' has " +
                     std::to_string(network.fabric->gpus) + " GPUs, the replicas take up to gpu-" +
                     std::to_string(needed - 1));
  }
  return make_platform(*network.fabric);
}

std::string to_dot(const Platform& p) {
  constexpr const char* shapes[] = {"box, style=filled, fillcolor=\"#cde7d8\"",
                                    "box, style=filled, fillcolor=\"#e4e4e4\"",
                                    "box",
                                    "diamond, style=filled, fillcolor=\"#f6dfb5\"",
                                    "point",
                                    "diamond",
                                    "diamond",
                                    "ellipse"};
  std::string out = "graph platform {\n  layout=sfdp; overlap=prism; node [fontsize=10];\n";
  std::map<int, std::string> servers;
  std::string loose;
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    const Platform::Node& node = p.nodes[i];
    std::string label = node.name.substr(node.name.find('/') + 1), quoted;
    for (const char c : label)
      quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    const std::string line = "    n" + std::to_string(i) + " [label=\"" + quoted +
                             "\", shape=" + shapes[static_cast<int>(node.kind)] + "];\n";
    (node.server >= 0 ? servers[node.server] : loose) += line;
  }
  for (const auto& [server, lines] : servers) {
    const std::string number = std::to_string(server);
    out += "  subgraph cluster_" + number + " {\n    label=\"server-" + number + "\";\n" + lines +
           "  }\n";
  }
  out += loose;
  std::set<std::tuple<int, int, double>> there;  // both directions of a pair are one edge
  for (const Platform::Link& link : p.links) there.emplace(link.from, link.to, link.bandwidth);
  for (const Platform::Link& link : p.links) {
    const bool back = there.count({link.to, link.from, link.bandwidth}) > 0;
    if (back && link.from > link.to) continue;
    out += "  n" + std::to_string(link.from) + " -- n" + std::to_string(link.to) + " [label=\"" +
           units::format(link.bandwidth, units::Dimension::bytes_per_second) + "\"" +
           (back ? "" : ", dir=forward") + "];\n";
  }
  return out + "}\n";
}

}  // namespace servegrid::cluster
