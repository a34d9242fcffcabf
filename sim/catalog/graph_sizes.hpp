// The CUDA-graph batch sizes that an engine captures when it is not told which.
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/engine.hpp"

namespace servegrid::catalog {

/// Rising; those of `knobs` if there are any; empty when the policy has no rule and the profile
/// names none.
std::vector<std::int64_t> default_graph_sizes(Policy policy, const Knobs& knobs, const Gpu& gpu,
                                              int tp);

}  // namespace servegrid::catalog
