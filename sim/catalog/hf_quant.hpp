// Storage formats of a Hugging Face checkpoint. Private to the import.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "catalog/hf_json.hpp"
#include "catalog/hf_layers.hpp"

namespace servegrid::catalog {

/// What a quantised checkpoint stores how; `format` empty = nothing is quantised.
struct HfQuant {
  std::string format;                        // catalogue name
  std::map<std::string, std::string> parts;  // part -> catalogue name, where it differs
};

/// From quantization_config (of `top` or `text`) or else from hf_quant_config.json (`other`, may be
/// null). A scheme that no format describes goes to `remarks`.
HfQuant hf_quant(const ConfigObject& top, const ConfigObject& text, const nlohmann::json* other,
                 const std::vector<HfLayer>& layers, std::vector<std::string>& remarks);

}  // namespace servegrid::catalog
