// Backends that carry tokens between the ranks of attention data parallelism and the experts.
#include <fmt/format.h>

#include <algorithm>

#include "roofline/compiler.hpp"
#include "units/error.hpp"

namespace servegrid::roofline {

namespace {

/// A kernel of DeepEP inside one server: a floor, and the share of the one-way fabric rate at which
/// tokens x top-k x hidden bytes (two of them to combine) move.
struct Kernel {
  double floor, share;
};
struct DeepEp {
  Kernel dispatch, combine;
};

// Fitted to DeepEP 8-GPU measurements of ai-dynamo/aiconfigurator (sglang 0.5.12, 2026; hidden >=
// 3072; the normal kernels at their best number of SMs): median error 5 to 14 %, 90th percentile 13
// to 36 %. H100 and H200 agree within 10 %, B200 and B300 within 2 %.
constexpr DeepEp hopper_low_latency = {{11e-6, 0.60}, {10.8e-6, 0.55}};
constexpr DeepEp hopper_normal = {{27e-6, 0.93}, {40e-6, 1.00}};
constexpr DeepEp blackwell_low_latency = {{19e-6, 0.55}, {18e-6, 0.73}};
constexpr DeepEp blackwell_normal = {{36e-6, 0.49}, {49e-6, 0.63}};

DeepEp deep_ep(const catalog::Gpu& gpu, bool low_latency) {
  if (gpu.architecture.rfind("Hopper", 0) == 0) {
    return low_latency ? hopper_low_latency : hopper_normal;
  }
  if (gpu.architecture.rfind("Blackwell", 0) == 0 &&
      gpu.fabric.kind == catalog::FabricKind::switched) {
    return low_latency ? blackwell_low_latency : blackwell_normal;
  }
  throw InfeasibleError(fmt::format(
      "DeepEP was measured on Hopper and on Blackwell behind NVSwitch only, not on {}; leave the "
      "all-to-all backend at auto",
      gpu.name));
}

std::string text(const Channel& c) {
  return fmt::format("{:.0f} us, {:.0f} GB/s", 1e6 * c.latency, 1e-9 * c.bandwidth);
}

}  // namespace

void Compiler::exchange(const catalog::Mlp& m, double count) {
  const double h = static_cast<double>(m.moe_latent > 0 ? m.moe_latent : d_.model.hidden);
  const auto add = [&](const char* name, double bytes, bool of_group, const Channel& channel,
                       const char* source) {
    for (Exchange& x : table_.exchanges) {
      if (x.label.name == name && x.bytes == bytes) {
        x.count += count;
        return;
      }
    }
    table_.exchanges.push_back({{name, text(channel), source}, count, bytes, of_group, channel});
  };
  const double rate = group_bandwidth(d_.gpu, tp_ * table_.dp);
  if (d_.all_to_all == catalog::AllToAll::gather) {
    // Every rank gets all tokens, and each its sum back: (ranks - 1) / ranks of them over the
    // fabric, 2 bytes a value.
    const double ranks = table_.dp;
    const Channel channel{d_.gpu.achieved.collective_latency, rate * d_.gpu.achieved.collective};
    const double bytes = 2 * h * (ranks - 1) / ranks;
    add("all_gather", bytes, true, channel, "form on the fabric of the profile");
    add("reduce_scatter", bytes, true, channel, "form on the fabric of the profile");
    return;
  }
  const DeepEp k = deep_ep(d_.gpu, d_.all_to_all == catalog::AllToAll::deepep_low_latency);
  const double top_k = m.active_experts;
  add("expert_dispatch", top_k * h, false, {k.dispatch.floor, k.dispatch.share * rate},
      "fit of DeepEP measurements in one server");
  add("expert_combine", 2 * top_k * h, false, {k.combine.floor, k.combine.share * rate},
      "fit of DeepEP measurements in one server");
}

}  // namespace servegrid::roofline
