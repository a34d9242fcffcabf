// Parameters of a transformer by tensor class: what each layer and each end of the model holds, and
// how tensor parallelism divides it. Formulas and sources: docs/memory.md.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "catalog/model.hpp"

namespace servegrid::model {

enum class Part {
  embedding,
  head,
  attention,
  linear_attention,  // gated delta net, lightning attention, Mamba-2
  dense_mlp,
  experts,
  shared_experts,
  router,
  norms,
  vision,
  mtp
};
inline constexpr std::size_t part_count = 11;

/// "embedding", "head", ...: the names that checkpoints' `parts` use.
std::string_view name(Part part);

/// How tensor parallelism divides a tensor.
enum class Split {
  replicated,  // whole on every rank: routers, norms, MLA down-projections, indexers
  tensor,      // divided by TP
  kv_heads,    // divided by TP down to one head; replicated beyond that
  experts      // divided over the ranks of the expert group
};

/// One tensor class of one layer (or of an end of the model).
struct Tensor {
  Part part = Part::norms;
  Split split = Split::replicated;
  std::int64_t elements = 0;
  std::int64_t heads = 0;  // split kv_heads: how many heads the elements belong to
};

/// The tensors of one layer of the group.
std::vector<Tensor> layer_tensors(const catalog::Model& model, const catalog::LayerGroup& group);
/// The layer that a multi-token-prediction module repeats (the last group that keeps KV).
const catalog::LayerGroup& mtp_layer(const catalog::Model& model);
/// Whether the layers of the group have attention of any kind.
bool has_attention(const catalog::Attention& attention);
/// Whether it is a recurrent layer: a constant state in place of KV.
bool has_state(const catalog::Attention& attention);

/// Parameters by part, over all layers.
struct Parameters {
  std::array<std::int64_t, part_count> by_part{};
  [[nodiscard]] std::int64_t of(Part part) const { return by_part[static_cast<std::size_t>(part)]; }
  /// Everything but the MTP module, which loads only when speculation is on.
  [[nodiscard]] std::int64_t total() const;
};

Parameters parameters_of(const catalog::Model& model);
/// Parameters a token passes through: all but the experts it is not routed to (the MTP module left
/// out, the input embedding counted).
std::int64_t active_parameters_of(const catalog::Model& model);

}  // namespace servegrid::model
