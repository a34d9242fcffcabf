// The simulated hardware as a graph: GPUs, host CPUs, NICs and switches, joined by links. Generated
// from the profiles of what is placed where, or read from a list of links. No SimGrid: the plugin
// builds its world from this, and it is what `servegrid platform show` draws.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "catalog/cluster.hpp"
#include "cluster/fleet.hpp"

namespace servegrid::cluster {

struct Platform {
  enum class NodeKind { gpu, cpu, nic, fabric, pcie, leaf, spine, other };
  struct Node {
    std::string name;
    NodeKind kind = NodeKind::other;
    int server = -1;  // -1: of no one server
  };
  /// One direction.
  struct Link {
    int from = 0, to = 0;  // nodes
    double bandwidth = 0;  // [B/s]
    double latency = 0;    // [s]
    int cost = 1;  // routes are cheapest paths: fabrics before PCIe, PCIe before the network
  };
  std::vector<Node> nodes;
  std::vector<Link> links;
  std::vector<int> gpus;  // the node of each GPU

  int add(std::string name, NodeKind kind, int server = -1);
  /// Both directions.
  void join(int a, int b, double bandwidth, double latency, int cost);
};

/// Servers as placed: within one the fabric of its GPUs (a switch, a full mesh, or PCIe alone), a
/// PCIe switch for each GPU with its NIC and the way to the host CPU; NICs meet at leaves, leaves
/// at a spine whose links carry their NICs' sum over the oversubscription.
Platform make_platform(const std::vector<catalog::PoolSpec>& pools, const Placement& placement,
                       const catalog::NetworkSpec& network);
/// The fabric itself.
Platform make_platform(const catalog::FabricSpec& fabric);
/// The platform of a scenario. Throws InputError when a fabric of its own has too few GPUs.
Platform platform_of(const catalog::Scenario& scenario);

/// Cheapest paths (cost, then links, then the order in which links were given), worked out for one
/// source at a time.
class Routes {
 public:
  explicit Routes(const Platform& platform);
  /// Links from one node to another, in order. Throws InputError when there is no path.
  std::vector<int> links(int from, int to);
  /// Their latencies added up [s].
  double latency(int from, int to);

 private:
  const std::vector<int>& tree(int from);
  const Platform& platform_;
  std::vector<std::vector<int>> out_;      // links that leave each node
  std::map<int, std::vector<int>> trees_;  // by source: the link into each node
};

/// Graphviz DOT.
std::string to_dot(const Platform& platform);

}  // namespace servegrid::cluster
