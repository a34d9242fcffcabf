// Each case in a child: a process may hold one SimGrid simulation.
#include <catch2/catch.hpp>
#include <cstring>

#include "cluster/simgrid_plugin.hpp"
#include "jobs/fork_pool.hpp"
#include "toy.hpp"

using namespace servegrid;
using cluster::Platform;
using cluster::Transfer;
using Kind = catalog::WorkloadSpec::Kind;
using Catch::Matchers::Contains;

namespace {

const toy::Steps steps(0.01, 1e-6);

jobs::Outcome in_child(const std::function<std::string()>& job) {
  return jobs::run_in_workers(1, 1, [&](std::size_t) { return job(); }).front();
}

std::vector<double> ends_of(const Platform& platform, const std::vector<Transfer>& list) {
  const auto outcome = in_child([&] {
    std::string bytes;
    for (const Ticks t : cluster::simgrid_entry().transfers(platform, list)) {
      const double seconds = to_seconds(t);
      bytes.append(reinterpret_cast<const char*>(&seconds), sizeof seconds);
    }
    return bytes;
  });
  INFO(outcome.error);
  REQUIRE(outcome.ok);
  std::vector<double> ends(list.size());
  REQUIRE(outcome.bytes.size() == ends.size() * sizeof(double));
  std::memcpy(ends.data(), outcome.bytes.data(), outcome.bytes.size());
  return ends;
}

// Two servers of 8 GPUs: 900 GB/s each way through a switch, PCIe at 64 GB/s, NICs at 50 GB/s.
catalog::Scenario two_servers(catalog::FabricKind kind) {
  catalog::Scenario s;
  s.gpu.fabric.kind = kind;
  s.gpu.fabric.links = 9;
  s.gpu.fabric.link_bandwidth = 100e9;
  s.gpu.fabric.domain = 8;
  s.gpu.host_bandwidth = 64e9;
  s.gpu.nic_bandwidth = 50e9;
  s.replicas = 2;
  s.parallel.tp = 8;
  return s;
}

Platform switched() {
  return cluster::platform_of(two_servers(catalog::FabricKind::switched));
}

}  // namespace

TEST_CASE("the same bytes with SimGrid and without", "[simgrid]") {
  for (const Kind kind : {Kind::closed, Kind::open, Kind::conversations}) {
    catalog::Scenario s = toy::scenario(kind);
    s.replicas = 2;
    s.workload.requests = 2000;
    const std::string heap = toy::text(cluster::simulate(s, steps, 90, 0));
    const auto outcome =
        in_child([&] { return toy::text(cluster::simulate_on_simgrid(s, steps, 90, 0)); });
    INFO(outcome.error);
    REQUIRE(outcome.ok);
    CHECK((outcome.bytes == heap));  // not printed when it differs
  }
}

TEST_CASE("SimGrid's clock ends with the run", "[simgrid]") {
  const catalog::Scenario s = toy::scenario(Kind::open);
  const auto outcome = in_child([&] {
    const auto result = cluster::simulate_on_simgrid(s, steps, 1000, 0);
    return std::to_string(cluster::simgrid_entry().clock() - to_seconds(result.end));
  });
  INFO(outcome.error);
  REQUIRE(outcome.ok);
  CHECK(std::stod(outcome.bytes) == Approx(0).margin(1e-6));
}

TEST_CASE("a second simulation in one process is refused", "[simgrid]") {
  const catalog::Scenario s = toy::scenario(Kind::closed);
  const auto outcome = in_child([&] {
    cluster::simulate_on_simgrid(s, steps, 1000, 0);
    return toy::text(cluster::simulate_on_simgrid(s, steps, 1000, 0));
  });
  CHECK_FALSE(outcome.ok);
  CHECK_THAT(outcome.error, Contains("second simulation"));
}

TEST_CASE("an error inside the driver comes out of SimGrid as itself", "[simgrid]") {
  catalog::Scenario s = toy::scenario(Kind::closed);
  s.router = "nearest";
  const auto outcome =
      in_child([&] { return toy::text(cluster::simulate_on_simgrid(s, steps, 1000, 0)); });
  CHECK_THAT(outcome.error, Contains("router: unknown name"));
}

TEST_CASE("a lone transfer takes bytes / bandwidth of its narrowest link", "[simgrid]") {
  const auto fabric = ends_of(switched(), {{to_ticks(2), 0, 1, 9'000'000'000}});
  CHECK(fabric[0] == Approx(2 + 0.01).epsilon(1e-9));
  const auto network = ends_of(switched(), {{0, 0, 8, 5'000'000'000}});
  CHECK(network[0] == Approx(0.1).epsilon(1e-7));
}

TEST_CASE("two unequal flows share a link equally while both last", "[simgrid]") {
  // Into GPU 2 from two others, 9 GB and 27 GB: 450 GB/s each until the smaller is through at
  // 20 ms, then the other, which has 18 GB left, alone: 20 ms more.
  const auto ends = ends_of(switched(), {{0, 0, 2, 9'000'000'000}, {0, 1, 2, 27'000'000'000}});
  CHECK(ends[0] == Approx(0.02).epsilon(1e-6));
  CHECK(ends[1] == Approx(0.04).epsilon(1e-6));
}

TEST_CASE("a full mesh gives a pair one link", "[simgrid]") {
  const Platform mesh = cluster::platform_of(two_servers(catalog::FabricKind::full_mesh));
  const double pair = 900e9 / 7;
  const auto ends = ends_of(mesh, {{0, 0, 1, 9'000'000'000},
                                   {0, 2, 1, 9'000'000'000},
                                   {0, 1, 0, 18'000'000'000},
                                   {0, 4, 5, 4'500'000'000},
                                   {to_ticks(0.01), 4, 5, 4'500'000'000}});
  CHECK(ends[0] == Approx(9e9 / pair).epsilon(1e-6));
  CHECK(ends[1] == Approx(9e9 / pair).epsilon(1e-6));
  CHECK(ends[2] == Approx(18e9 / pair).epsilon(1e-6));
  // The last two share their link from 10 ms on.
  CHECK(ends[3] == Approx(0.01 + 2 * (4.5e9 / pair - 0.01)).epsilon(1e-6));
  CHECK(ends[4] == Approx(9e9 / pair).epsilon(1e-6));
}
