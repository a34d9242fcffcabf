#include "roofline/collectives.hpp"

#include <algorithm>

namespace servegrid::roofline {

namespace {

// Share of the one-way fabric rate that expert all-to-alls reach and their latency: 150 of 450 GB/s
// on Hopper, 250 of 900 on Blackwell, 12 us (fits of MoE serving with attention-DP).
constexpr double all_to_all_fraction = 0.3, all_to_all_latency = 12e-6;
// Between servers: latency of a collective stage over RDMA (2 servers of MI355X: 40 us at 8 bytes,
// two stages) and achieved share of the NIC (B200 382 of 400 Gb/s x 8; 74 % quoted: hw_facts 6).
constexpr double nic_latency = 20e-6, nic_fraction = 0.74;

int domain_of(const catalog::Gpu& gpu) {
  return gpu.fabric.kind == catalog::FabricKind::none ? 1 : std::max(1, gpu.fabric.domain);
}

double host_or(const catalog::Gpu& gpu, double otherwise) {
  return gpu.host_bandwidth > 0 ? gpu.host_bandwidth : otherwise;
}

}  // namespace

double group_bandwidth(const catalog::Gpu& gpu, int gpus) {
  const auto& f = gpu.fabric;
  if (f.derived && gpus > 1) return gpus == 2 ? f.derived->pair : f.derived->all_to_all;
  switch (f.kind) {
    case catalog::FabricKind::switched:
      return f.one_way();
    case catalog::FabricKind::full_mesh: {
      const int peers = std::max(1, f.domain - 1);
      const double per_peer = f.one_way() / peers;
      return per_peer * std::min(peers, std::max(1, gpus - 1));
    }
    case catalog::FabricKind::pcie:
      return f.one_way() > 0 ? f.one_way() : host_or(gpu, 32e9);
    case catalog::FabricKind::none:
      return host_or(gpu, 32e9);
  }
  return f.one_way();
}

AllReduceFit derived_all_reduce(const catalog::Gpu& gpu, int gpus) {
  const int inside = std::min(gpus, domain_of(gpu));
  AllReduceFit fit;
  const double share = gpu.achieved.collective;
  fit.a = gpu.achieved.collective_latency;
  fit.a2 = gpu.achieved.collective_latency;
  fit.b1 = fit.b2 = 1e30;
  if (gpu.fabric.derived && gpus > 1) {
    const catalog::Fabric::Derived& d = *gpu.fabric.derived;
    fit.a += d.latency;
    fit.a2 += d.latency;
    fit.b1 = share * d.one_shot;
    fit.b2 = share * d.two_shot;
    return fit;
  }
  if (inside > 1) {
    const double rate = group_bandwidth(gpu, inside) * share;
    fit.b1 = rate / (inside - 1);
    fit.b2 = rate * inside / (2.0 * (inside - 1));
  }
  if (gpus > inside && gpu.nic_bandwidth > 0) {
    // Reduce-scatter inside, all-reduce of one inside-th over the NIC, all-gather inside.
    const double servers = static_cast<double>(gpus) / inside;
    const double nic = gpu.nic_bandwidth * nic_fraction;
    const double seconds_per_byte = 2 * (servers - 1) / servers / inside / nic;
    fit.b1 = 1 / (1 / fit.b1 + seconds_per_byte);
    fit.b2 = 1 / (1 / fit.b2 + seconds_per_byte);
    fit.a += 2 * nic_latency;
  }
  return fit;
}

Channel all_to_all(const catalog::Gpu& gpu, int gpus) {
  if (gpus > domain_of(gpu) && gpu.nic_bandwidth > 0) {
    return {all_to_all_latency + nic_latency, gpu.nic_bandwidth * nic_fraction};
  }
  return {all_to_all_latency, group_bandwidth(gpu, gpus) * all_to_all_fraction};
}

Channel stage_send(const catalog::Gpu& gpu, int gpus) {
  if (gpus > domain_of(gpu) && gpu.nic_bandwidth > 0) {
    return {nic_latency, gpu.nic_bandwidth * nic_fraction};
  }
  return {gpu.achieved.collective_latency, group_bandwidth(gpu, 2) * gpu.achieved.collective};
}

}  // namespace servegrid::roofline
