// The layers of a Hugging Face config. Private to the import.
#pragma once

#include <string>
#include <vector>

#include "catalog/hf_json.hpp"

namespace servegrid::catalog {

/// One layer in flow YAML ("{kind: full, ...}"); empty = it has none.
struct HfLayer {
  std::string attention, mlp;
  bool linear = false, dense = false, experts = false, shared = false;  // parts it has
};

/// All layers in order. What cannot be said goes to `remarks`; throws InputError for layers that
/// the catalogue has no kind for.
std::vector<HfLayer> hf_layers(const ConfigObject& c, std::vector<std::string>& remarks);

}  // namespace servegrid::catalog
