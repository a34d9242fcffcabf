// How a weights format runs where the hardware may lack it, in words for people.
#pragma once

#include <string>

#include "catalog/scenario.hpp"

namespace servegrid::model {

/// "nvfp4" where the GPU has the format in hardware, else "nvfp4 (dequantised: bf16 math)" or
/// "(emulated: ...)".
std::string weights_text(const catalog::Scenario& scenario);

}  // namespace servegrid::model
