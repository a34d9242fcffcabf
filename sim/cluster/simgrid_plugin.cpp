// The only file that includes SimGrid. It holds the simulated world: hosts, links, bulk transfers
// and the clock they run on. Decisions are taken on the integer clock alone.
#include "cluster/simgrid_plugin.hpp"

#include <cmath>
#include <exception>
#include <map>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

#include "units/error.hpp"

namespace servegrid::cluster {

namespace {

namespace s4u = simgrid::s4u;
namespace routing = simgrid::kernel::routing;

// One tiny latency on every route, whatever its links: sharing is weighted by 1/latency, and a flow
// without starves. (A link shared by all routes to carry it does not do: as the first of a route it
// let flows that share nothing else end at once.)
constexpr double route_latency = 1e-9;

// Wake-ups lie on a grid of 2^-24 s (60 ns), on which sums and differences of SimGrid's doubles are
// exact: the dates of flows' ends then do not depend on how often the loop was woken between them.
constexpr int grid_bits = 24;
constexpr Ticks grid = static_cast<Ticks>(1) << (ticks_log2_per_second - grid_bits);

bool used = false;

Ticks grid_below(Ticks t) {
  return t - t % grid;
}
Ticks grid_above(Ticks t) {
  return grid_below(t + grid - 1);
}

/// Routes are looked up in the platform's graph when a transfer begins: no table of all pairs.
class GraphZone final : public routing::NetZoneImpl {
 public:
  GraphZone(const Platform& platform, Routes& routes)
      : NetZoneImpl("servegrid"), platform_(platform), routes_(routes) {}

  /// Hosts for the GPUs, and the client, where the driver lives.
  void build() {
    s4u::NetZone* zone = get_iface();
    client = zone->create_host("client", 1.0);
    node_of_[client->get_netpoint()->id()] = -1;
    for (const int node : platform_.gpus) {
      const Platform::Node& n = platform_.nodes[static_cast<std::size_t>(node)];
      gpus.push_back(zone->create_host(n.name, 1.0));
      node_of_[gpus.back()->get_netpoint()->id()] = node;
    }
    for (std::size_t i = 0; i < platform_.links.size(); ++i) {
      links_.push_back(zone->create_link("link-" + std::to_string(i), platform_.links[i].bandwidth)
                           ->set_latency(0)
                           ->seal());
    }
    zone->seal();
  }

  void get_local_route(const routing::NetPoint* from, const routing::NetPoint* to,
                       routing::Route* into, double* latency) override {
    for (const int l : routes_.links(node_of_.at(from->id()), node_of_.at(to->id()))) {
      into->link_list_.push_back(links_[static_cast<std::size_t>(l)]->get_impl());
    }
    if (latency != nullptr) *latency += route_latency;
  }

  s4u::Host* client = nullptr;
  std::vector<s4u::Host*> gpus;

 private:
  const Platform& platform_;
  Routes& routes_;
  std::map<unsigned long, int> node_of_;
  std::vector<s4u::Link*> links_;
};

class World {
 public:
  explicit World(const Platform& platform) : engine_(start()), routes_(platform) {
    zone_ = new GraphZone(platform, routes_);  // the engine's own
    zone_->build();
  }

  [[nodiscard]] s4u::Host* gpu(int number) const {
    return zone_->gpus.at(static_cast<std::size_t>(number));
  }
  /// Runs `job` as the driver actor, to the end of the simulation.
  template <typename F>
  void run(F job) {
    std::exception_ptr failure;
    s4u::Actor::create("driver", zone_->client, [&] {
      try {
        job();
      } catch (const simgrid::ForcefulKillException&) {
        throw;
      } catch (...) {
        failure = std::current_exception();
      }
    });
    engine_.run();
    if (failure) std::rethrow_exception(failure);
  }
  s4u::CommPtr begin(const Flow& flow) {
    return s4u::Comm::sendto_async(gpu(flow.from), gpu(flow.to), flow.bytes);
  }

 private:
  static s4u::Engine& start() {
    if (used || s4u::Engine::has_instance()) {
      throw RunError(
          "SimGrid: a second simulation in one process (its engine is a singleton whose clock "
          "never restarts); run each in a process of its own");
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
    // Lazy, the default, forgets to share a link again when a third flow begins on it while others
    // that share more end: three flows then carry 1.5 times its rate (SimGrid 3.32).
    s4u::Engine::set_config("network/optim:Full");
    // Far below the grid: what lies closer than this is taken for simultaneous, 1e-9 s by default.
    s4u::Engine::set_config("surf/precision:1e-12");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    s4u::Engine::set_config("contexts/factory:thread");
#endif
    return *engine;
  }

  s4u::Engine& engine_;
  Routes routes_;
  GraphZone* zone_ = nullptr;
};

void sleep_until(Ticks t) {
  const double when = to_seconds(t);
  if (when > s4u::Engine::get_clock()) s4u::this_actor::sleep_until(when);
}

// When a flow that SimGrid ended at its present clock is reported over: on the grid, and late
// enough that it lies after every event that was handled before it.
Ticks end_of_flow() {
  return grid_above(to_ticks(s4u::Engine::get_clock()) + to_ticks(2e-12));
}

// Events between two points at which SimGrid's clock catches up: its cost vanishes in theirs.
constexpr std::int64_t events_per_catch_up = 4096;

/// The driver: heap events while no flow is in flight; else up to the next one, or to a flow's end.
class Catching {
 public:
  Catching(World& world, EventLoop& loop) : world_(world), loop_(loop) {}

  void run() {
    for (;;) {
      begin_flows();
      const Ticks next = loop_.next_event();
      if (comms_.empty()) {
        if (next == no_event) return sleep_until(loop_.now());
        loop_.run(events_per_catch_up, no_event);
        sleep_until(grid_below(loop_.now()));
      } else if (!flow_ends_before(next)) {
        loop_.run(1, next);
      }
    }
  }

 private:
  void begin_flows() {
    const std::vector<Flow> flows = loop_.take_flows();
    if (flows.empty()) return;
    // A flow in flight that ends before these begin ends first.
    const Ticks start = grid_above(loop_.now());
    while (!comms_.empty() && flow_ends_by(start)) {
    }
    sleep_until(start);
    for (const Flow& flow : flows) {
      comms_.push_back(world_.begin(flow));
      ids_.push_back(flow.id);
    }
  }

  bool flow_ends_before(Ticks next) {
    return next == no_event ? wait(-1) : flow_ends_by(grid_below(next));
  }
  bool flow_ends_by(Ticks when) {
    const double left = to_seconds(when) - s4u::Engine::get_clock();
    return left > 0 && wait(left);
  }
  bool wait(double timeout) {
    const ssize_t which = s4u::Comm::wait_any_for(comms_, timeout);
    if (which < 0) return false;
    const std::int64_t id = ids_[static_cast<std::size_t>(which)];
    comms_.erase(comms_.begin() + which);
    ids_.erase(ids_.begin() + which);
    loop_.flow_over(id, end_of_flow());
    return true;
  }

  World& world_;
  EventLoop& loop_;
  std::vector<s4u::CommPtr> comms_;
  std::vector<std::int64_t> ids_;
};

void run(const Platform& platform, EventLoop& loop) {
  World world(platform);
  world.run([&] { Catching(world, loop).run(); });
}

std::vector<Ticks> transfers(const Platform& platform, const std::vector<Transfer>& list) {
  World world(platform);
  std::vector<Ticks> ends(list.size(), 0);
  for (std::size_t i = 0; i < list.size(); ++i) {
    s4u::Actor::create("transfer-" + std::to_string(i), world.gpu(list[i].from), [&, i] {
      const Transfer& one = list[i];
      s4u::this_actor::sleep_until(to_seconds(one.start));
      s4u::Comm::sendto(world.gpu(one.from), world.gpu(one.to), one.bytes);
      ends[i] = to_ticks(s4u::Engine::get_clock() - route_latency);
    });
  }
  world.run([] {});
  return ends;
}

std::vector<double> rounds(const Platform& platform, const std::vector<std::vector<Flow>>& list) {
  World world(platform);
  std::vector<double> ends;
  world.run([&] {
    for (const std::vector<Flow>& round : list) {
      std::vector<s4u::CommPtr> comms;
      for (const Flow& flow : round) comms.push_back(world.begin(flow));
      s4u::Comm::wait_all(comms);
      ends.push_back(s4u::Engine::get_clock());
    }
  });
  return ends;
}

double clock() {
  return s4u::Engine::get_clock();
}

}  // namespace

}  // namespace servegrid::cluster

extern "C" const servegrid::cluster::SimGridEntry servegrid_simgrid_entry = {
    servegrid::cluster::run, servegrid::cluster::transfers, servegrid::cluster::rounds,
    servegrid::cluster::clock};
