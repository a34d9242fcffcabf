// The only file that includes SimGrid. It holds the simulated world: hosts, links, bulk transfers
// and the clock they run on. Decisions are taken on the integer clock alone.
#include "cluster/simgrid_plugin.hpp"

#include <simgrid/s4u.hpp>

#include "units/error.hpp"

namespace servegrid::cluster {

namespace {

namespace s4u = simgrid::s4u;

// One tiny latency on every route: sharing is weighted by 1/latency, and a flow without starves.
constexpr double route_latency = 1e-9;

bool used = false;

class World {
 public:
  explicit World(const GridPlatform& platform) : engine_(start()), platform_(platform) {
    zone_ = s4u::create_full_zone("servegrid");
    client_ = zone_->create_host("client", 1.0);
    build_hosts();
    build_routes();
    zone_->seal();
  }

  [[nodiscard]] s4u::Host* host(int index) const {
    return index == Transfer::client ? client_ : gpus_.at(static_cast<std::size_t>(index));
  }
  [[nodiscard]] s4u::Host* client() const { return client_; }
  void run() { engine_.run(); }

 private:
  static s4u::Engine& start() {
    if (used || s4u::Engine::has_instance()) {
      throw RunError(
          "SimGrid: a second simulation in one process (its engine is a singleton whose clock "
          "never "
          "restarts); run each in a process of its own");
    }
    used = true;
    static int argc = 2;
    static char name[] = "servegrid";
    static char quiet[] = "--log=xbt_cfg.thres:warning";  // or it prints each setting
    static char* argv[] = {name, quiet, nullptr};
    auto* engine = new s4u::Engine(&argc, argv);  // lives as long as the process: see above
    // LV08, the default, is tuned for TCP over Ethernet; this one takes latency + bytes/bandwidth.
    s4u::Engine::set_config("network/model:CM02");
    s4u::Engine::set_config("network/TCP-gamma:0");
    s4u::Engine::set_config("network/crosstraffic:0");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    s4u::Engine::set_config("contexts/factory:thread");
#endif
    return *engine;
  }

  s4u::Link* link(const std::string& name, double bandwidth) {
    return zone_->create_link(name, bandwidth)->set_latency(0)->seal();
  }

  void build_hosts() {
    // Carries the latency of every route, shared by nobody.
    latency_ = zone_->create_link("latency", 1e30)
                   ->set_latency(route_latency)
                   ->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)
                   ->seal();
    const double host = platform_.host_bandwidth > 0 ? platform_.host_bandwidth : 1e9;
    const double nic = platform_.nic_bandwidth > 0 ? platform_.nic_bandwidth : host;
    for (int g = 0; g < platform_.gpus; ++g) {
      const std::string name = "gpu-" + std::to_string(g);
      gpus_.push_back(zone_->create_host(name, 1.0));
      host_up_.push_back(link(name + "-to-host", host));
      host_down_.push_back(link(name + "-from-host", host));
      if (platform_.fabric == GridPlatform::Fabric::switched) {
        fabric_up_.push_back(link(name + "-to-fabric", platform_.fabric_bandwidth));
        fabric_down_.push_back(link(name + "-from-fabric", platform_.fabric_bandwidth));
      }
      if (g % platform_.gpus_per_node == 0) {
        const std::string node = "node-" + std::to_string(g / platform_.gpus_per_node);
        nodes_.push_back(zone_->create_host(node, 1.0));
        nic_up_.push_back(link(node + "-to-network", nic));
        nic_down_.push_back(link(node + "-from-network", nic));
      }
    }
  }

  void route(s4u::Host* from, s4u::Host* to, std::vector<s4u::Link*> links) {
    links.push_back(latency_);
    std::vector<s4u::LinkInRoute> in_route;
    in_route.reserve(links.size());
    for (s4u::Link* one : links) in_route.emplace_back(one);
    zone_->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, in_route, false);
  }

  [[nodiscard]] std::size_t node_of(std::size_t gpu) const {
    return gpu / static_cast<std::size_t>(platform_.gpus_per_node);
  }

  void build_routes() {
    for (std::size_t a = 0; a < gpus_.size(); ++a) {
      const std::size_t node = node_of(a);
      route(gpus_[a], nodes_[node], {host_up_[a]});
      route(nodes_[node], gpus_[a], {host_down_[a]});
      route(gpus_[a], client_, {host_up_[a], nic_up_[node]});
      route(client_, gpus_[a], {nic_down_[node], host_down_[a]});
      for (std::size_t b = 0; b < gpus_.size(); ++b) {
        if (a != b) route(gpus_[a], gpus_[b], between(a, b));
      }
    }
  }

  std::vector<s4u::Link*> between(std::size_t a, std::size_t b) {
    if (node_of(a) != node_of(b)) {
      return {host_up_[a], nic_up_[node_of(a)], nic_down_[node_of(b)], host_down_[b]};
    }
    switch (platform_.fabric) {
      case GridPlatform::Fabric::switched:
        return {fabric_up_[a], fabric_down_[b]};
      case GridPlatform::Fabric::full_mesh:
        return {link("gpu-" + std::to_string(a) + "-to-gpu-" + std::to_string(b),
                     platform_.pair_bandwidth)};
      case GridPlatform::Fabric::host_only:
        break;
    }
    return {host_up_[a], host_down_[b]};
  }

  s4u::Engine& engine_;
  GridPlatform platform_;
  s4u::NetZone* zone_ = nullptr;
  s4u::Host* client_ = nullptr;
  s4u::Link* latency_ = nullptr;
  std::vector<s4u::Host*> gpus_, nodes_;
  std::vector<s4u::Link*> host_up_, host_down_, fabric_up_, fabric_down_, nic_up_, nic_down_;
};

void run(const GridPlatform& platform, const std::function<bool(Ticks& now)>& advance) {
  World world(platform);
  std::exception_ptr failure;
  s4u::Actor::create("driver", world.client(), [&] {
    try {
      // No transfer is in flight, so nothing in SimGrid can happen between two events of the heap:
      // its clock follows at intervals, by absolute times (repeated sleeps would drift).
      Ticks now = 0;
      for (bool more = true; more;) {
        more = advance(now);
        s4u::this_actor::sleep_until(to_seconds(now));
      }
    } catch (const simgrid::ForcefulKillException&) {
      throw;
    } catch (...) {
      failure = std::current_exception();
    }
  });
  world.run();
  if (failure) std::rethrow_exception(failure);
}

std::vector<Ticks> transfers(const GridPlatform& platform, const std::vector<Transfer>& list) {
  World world(platform);
  std::vector<Ticks> ends(list.size(), 0);
  for (std::size_t i = 0; i < list.size(); ++i) {
    s4u::Actor::create("transfer-" + std::to_string(i), world.host(list[i].from), [&, i] {
      const Transfer& one = list[i];
      s4u::this_actor::sleep_until(to_seconds(one.start));
      s4u::Comm::sendto(world.host(one.from), world.host(one.to), one.bytes);
      ends[i] = to_ticks(s4u::Engine::get_clock() - route_latency + one.latency);
    });
  }
  world.run();
  return ends;
}

double clock() {
  return s4u::Engine::get_clock();
}

}  // namespace

}  // namespace servegrid::cluster

extern "C" const servegrid::cluster::SimGridEntry servegrid_simgrid_entry = {
    servegrid::cluster::run, servegrid::cluster::transfers, servegrid::cluster::clock};
