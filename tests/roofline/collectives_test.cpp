#include "roofline/collectives.hpp"

#include <catch2/catch.hpp>

#include "toy.hpp"

using namespace servegrid;
using namespace servegrid::roofline;

namespace {

/// 7 links of 10 GB/s: behind a switch, or each to one peer.
catalog::Gpu eight(catalog::FabricKind kind) {
  auto g = toy::gpu();
  g.fabric.kind = kind;
  g.fabric.links = 7;
  return g;
}

}  // namespace

TEST_CASE("a full mesh gives two GPUs one link, a switch all of them; eight are equal") {
  const auto mesh = eight(catalog::FabricKind::full_mesh);
  const auto with_switch = eight(catalog::FabricKind::switched);
  CHECK(group_bandwidth(mesh, 2) == Approx(10e9));
  CHECK(group_bandwidth(mesh, 4) == Approx(30e9));
  CHECK(group_bandwidth(mesh, 8) == Approx(70e9));
  for (const int n : {2, 4, 8}) CHECK(group_bandwidth(with_switch, n) == Approx(70e9));
  const double bytes = 64e6;
  CHECK(all_reduce_seconds(derived_all_reduce(mesh, 2), bytes) >
        6 * all_reduce_seconds(derived_all_reduce(with_switch, 2), bytes));
  CHECK(all_reduce_seconds(derived_all_reduce(mesh, 8), bytes) ==
        Approx(all_reduce_seconds(derived_all_reduce(with_switch, 8), bytes)));
}

TEST_CASE("derived all-reduce: one-shot for small messages, two-shot for large ones, by hand") {
  // 5 us, half of 70 GB/s: one-shot S*7/35 GB/s, two-shot 5 us more and S*2*(7/8)/35 GB/s.
  const auto fit = derived_all_reduce(eight(catalog::FabricKind::switched), 8);
  CHECK(all_reduce_seconds(fit, 8192) == Approx(5e-6 + 8192 * 7 / 35e9));
  CHECK(all_reduce_seconds(fit, 64e6) == Approx(10e-6 + 64e6 * 1.75 / 35e9));
}

TEST_CASE(
    "a group larger than the domain goes over the NICs; none means an idle fabric is slower") {
  auto g = eight(catalog::FabricKind::switched);
  g.nic_bandwidth = 50e9;
  const double inside = all_reduce_seconds(derived_all_reduce(g, 8), 1e6);
  const double across = all_reduce_seconds(derived_all_reduce(g, 16), 1e6);
  CHECK(across > inside + 1e6 * (2 * 0.5 / 8) / 50e9);
  CHECK(stage_send(g, 16).bandwidth < 50e9);
  auto pcie = eight(catalog::FabricKind::pcie);
  pcie.fabric.links = 1;
  pcie.fabric.link_bandwidth = 0;
  pcie.host_bandwidth = 64e9;
  CHECK(group_bandwidth(pcie, 2) == Approx(64e9));
}
