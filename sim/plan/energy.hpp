// Power of a replica from what binds its steps. A stated model, not a measurement.
#pragma once

#include <string>

#include "catalog/gpu.hpp"
#include "plan/probe.hpp"

namespace servegrid::plan {

/// Shares of the board maximum. Assumed: prefill of large GEMMs runs at the limit, decode at about
/// two thirds of it (Patel et al., Characterizing Power Management Opportunities for LLMs in the
/// Cloud, ASPLOS 2024, report the two phases so on A100); fabric, latency and host are waiting.
struct PowerLevels {
  double idle = 0.15, compute = 0.95, memory = 0.65, fabric = 0.45, latency = 0.40, host = 0.35;
};

inline constexpr const char* power_label = "assumed (power model, not measured)";

/// Mean board power of one GPU [W] over the run. Needs a measurement with attribution.
double watts_per_gpu(const catalog::Gpu& gpu, const Measured& measured, int replicas,
                     const PowerLevels& levels = {});

}  // namespace servegrid::plan
