// How a format of weights or KV runs where the hardware may lack it, in words for people.
#pragma once

#include <string>

#include "catalog/scenario.hpp"

namespace servegrid::model {

/// "nvfp4" where the GPU has the format in hardware, else "nvfp4 (dequantised: bf16 math)" or
/// "(emulated: ...)".
std::string weights_text(const catalog::Scenario& scenario);
/// The same of the KV cache: stored in that format, converted where the attention kernels read it.
std::string kv_cache_text(const catalog::Scenario& scenario);
/// The weights, and the KV cache where the GPU lacks its format.
std::string formats_text(const catalog::Scenario& scenario);

}  // namespace servegrid::model
