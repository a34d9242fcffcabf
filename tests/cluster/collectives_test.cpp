// The closed forms of the step model against flow-level runs of the same algorithms on the
// generated platforms.
#include "cluster/collectives.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "catalog/catalog.hpp"
#include "jobs/fork_pool.hpp"
#include "roofline/collectives.hpp"

using namespace servegrid;

namespace {

constexpr double large = 1e9;  // [B]: latencies do not count

double simulated(const cluster::Platform& platform, const cluster::Rounds& rounds) {
  const auto outcome = jobs::run_in_workers(1, 1, [&](std::size_t) {
                         return std::to_string(1e9 * cluster::flow_level_seconds(platform, rounds));
                       }).front();
  INFO(outcome.error);
  REQUIRE(outcome.ok);
  return 1e-9 * std::stod(outcome.bytes);
}

std::vector<int> first(int n) {
  std::vector<int> gpus(static_cast<std::size_t>(n));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

// As the closed forms take them: all of the fabric, nothing lost.
catalog::Gpu ideal(const std::string& name) {
  catalog::Gpu gpu = catalog::Catalog().gpu(name);
  gpu.achieved.collective = 1;
  return gpu;
}

cluster::Platform platform_of(const catalog::Gpu& gpu, int gpus) {
  catalog::Scenario s;
  s.gpu = gpu;
  s.parallel.tp = gpus;
  return cluster::platform_of(s);
}

}  // namespace

TEST_CASE("closed-form all-reduces agree with flows on a switch, a mesh and PCIe",
          "[collectives]") {
  for (const char* name : {"b200", "h100-sxm", "mi355x", "mi300x", "l40s"}) {
    const catalog::Gpu gpu = ideal(name);
    for (const int n : {2, 4, 8}) {
      INFO(name << " x " << n);
      const cluster::Platform platform = platform_of(gpu, n);
      const auto fit = roofline::derived_all_reduce(gpu, n);
      CHECK(
          large / fit.b1 ==
          Approx(simulated(platform, cluster::one_shot_all_reduce(first(n), large))).epsilon(0.05));
      CHECK(
          large / fit.b2 ==
          Approx(simulated(platform, cluster::two_shot_all_reduce(first(n), large))).epsilon(0.05));
    }
  }
}

TEST_CASE("closed-form all-reduces agree with flows over two servers", "[collectives]") {
  for (const char* name : {"b200", "mi355x"}) {
    INFO(name);
    const catalog::Gpu gpu = ideal(name);
    // The form counts on 74 % of the NIC's rate.
    catalog::Gpu slower = gpu;
    slower.nic_bandwidth *= 0.74;
    const int n = 2 * gpu.fabric.domain;
    const cluster::Platform platform = platform_of(slower, n);
    std::vector<std::vector<int>> servers(2);
    for (int g = 0; g < n; ++g)
      servers[static_cast<std::size_t>(g / gpu.fabric.domain)].push_back(g);
    const double seconds = simulated(platform, cluster::hierarchical_all_reduce(servers, large));
    CHECK(large / roofline::derived_all_reduce(gpu, n).b2 == Approx(seconds).epsilon(0.05));
  }
}

TEST_CASE("an all-to-all leaves a GPU at its rate to the group", "[collectives]") {
  for (const char* name : {"b200", "mi355x"}) {
    const catalog::Gpu gpu = ideal(name);
    for (const int n : {2, 8}) {
      INFO(name << " x " << n);
      const double seconds = simulated(platform_of(gpu, n), cluster::all_to_all(first(n), large));
      CHECK(large * (n - 1) / n / roofline::group_bandwidth(gpu, n) ==
            Approx(seconds).epsilon(0.05));
    }
  }
}

TEST_CASE("a pair has one link of a mesh and the whole rate of a switch", "[collectives]") {
  const catalog::Gpu mesh = ideal("mi355x"), with_switch = ideal("b200");
  const auto lone = [](const catalog::Gpu& gpu) {
    cluster::Flow flow;
    flow.to = 1;
    flow.bytes = static_cast<std::uint64_t>(large);
    return large / simulated(platform_of(gpu, 8), {{flow}});
  };
  CHECK(lone(mesh) == Approx(mesh.fabric.one_way() / 7).epsilon(1e-6));
  CHECK(lone(with_switch) == Approx(with_switch.fabric.one_way()).epsilon(1e-6));
  CHECK(lone(with_switch) / lone(mesh) > 5);
}

TEST_CASE("a fabric given as links has the collectives of its flows", "[collectives]") {
  catalog::FabricSpec ring;
  ring.gpus = 4;
  for (int g = 0; g < 4; ++g) {
    catalog::FabricSpec::Link link;
    link.from = "gpu-" + std::to_string(g);
    link.to = "gpu-" + std::to_string((g + 1) % 4);
    link.bandwidth = 100e9;
    link.latency = 1e-6;
    ring.links.push_back(link);
  }
  const auto derived = cluster::derive_collectives(cluster::make_platform(ring), 4);
  CHECK(derived.pair == Approx(100e9));
  CHECK(derived.latency == Approx(2e-6));
  // The ring: 2 x 3/4 of the message over each link; all-to-all patterns cross two links for the
  // GPU opposite, one way round.
  CHECK(derived.two_shot >= 100e9 * 4 / 6 * 0.999);
  CHECK(derived.one_shot < derived.two_shot);
  catalog::Gpu gpu = ideal("b200");
  gpu.fabric.derived = derived;
  const auto fit = roofline::derived_all_reduce(gpu, 4);
  CHECK(fit.b2 == derived.two_shot);
  CHECK(fit.a == Approx(gpu.achieved.collective_latency + 2e-6));
}

TEST_CASE("routes: no table of all pairs, and an error where there is no way", "[collectives]") {
  catalog::Scenario s;
  s.gpu = ideal("b200");
  s.replicas = 2;
  s.parallel.tp = 8;
  s.gpu.nic_bandwidth = 0;
  const cluster::Platform platform = cluster::platform_of(s);
  cluster::Routes routes(platform);
  CHECK(routes.links(platform.gpus[0], platform.gpus[7]).size() == 2);
  CHECK_THROWS_WITH(routes.links(platform.gpus[0], platform.gpus[8]),
                    Catch::Matchers::Contains("no link leads from gpu-0 to gpu-8"));
}
