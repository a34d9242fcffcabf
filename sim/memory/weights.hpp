// Weights: what one GPU holds, by tensor class, each in the format its checkpoint has it in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/deployment.hpp"
#include "model/parameters.hpp"

namespace servegrid::memory {

struct WeightClass {
  model::Part part = model::Part::norms;
  catalog::Format format = catalog::Format::bf16;
  std::int64_t bytes = 0;  // on one GPU [B]
  std::string note;        // how it is split, padding
};

struct Weights {
  std::vector<WeightClass> classes;
  std::int64_t draft = 0;  // an EAGLE head or a draft model, on one GPU [B]
  std::string draft_note;
  std::int64_t total = 0;  // the sum of the classes and the draft
  /// One-sided: bytes that an unknown kernel padding may add [B].
  std::int64_t repack_band = 0;
};

/// `with_mtp`: the multi-token-prediction module loads too, as it does when it drafts.
Weights weights_of(const model::Deployment& deployment, bool with_mtp = false);

/// The format a part is stored in when the weights are in `weights`: 16 bit for embedding, head,
/// router, norms and vision, but for what the published checkpoint says.
catalog::Format format_of(model::Part part, const catalog::Model& model, catalog::Format weights);

}  // namespace servegrid::memory
