#include "model/parameters.hpp"

#include "units/error.hpp"

namespace servegrid::model {

using catalog::Attention;
using catalog::AttentionKind;
using catalog::LayerGroup;
using catalog::Mlp;
using catalog::Model;

namespace {

// Sparse attention's indexer: queries from the latent (or the hidden state), one key head, head
// weights and a layer norm with bias (DeepSeek-V3.2).
std::int64_t indexer_elements(const Attention& a, std::int64_t hidden) {
  if (a.indexer_heads == 0) return 0;
  const std::int64_t from = a.q_lora > 0 ? a.q_lora : hidden;
  return from * a.indexer_heads * a.indexer_dim + hidden * (a.indexer_dim + a.indexer_heads) +
         2 * a.indexer_dim;
}

void add_softmax_attention(const Attention& a, std::int64_t h, std::vector<Tensor>& out) {
  const std::int64_t v_dim = a.v_head_dim > 0 ? a.v_head_dim : a.head_dim;
  const std::int64_t q = std::int64_t{a.heads} * a.head_dim;
  const std::int64_t kv = a.kv_heads * (a.head_dim + v_dim);
  const std::int64_t bias = a.qkv_bias ? 1 : 0;
  out.push_back({Part::attention, Split::tensor,
                 (h + bias) * q * (a.output_gate ? 2 : 1) + a.heads * v_dim * h, 0});
  out.push_back({Part::attention, Split::kv_heads, (h + bias) * kv, a.kv_heads});
  if (a.qk_norm) out.push_back({Part::norms, Split::replicated, 2 * a.head_dim, 0});
}

void add_mla(const Attention& a, std::int64_t h, std::vector<Tensor>& out) {
  const std::int64_t q_width = std::int64_t{a.heads} * (a.qk_nope + a.qk_rope);
  const std::int64_t down = h * a.q_lora + h * (a.kv_lora + a.qk_rope);
  const std::int64_t up = (a.q_lora > 0 ? a.q_lora : h) * q_width +
                          std::int64_t{a.kv_lora} * a.heads * (a.qk_nope + a.v_head_dim) +
                          std::int64_t{a.heads} * a.v_head_dim * h;
  out.push_back({Part::attention, Split::replicated, down, 0});
  out.push_back({Part::attention, Split::tensor, up, 0});
  out.push_back({Part::norms, Split::replicated, std::int64_t{a.q_lora} + a.kv_lora, 0});
}

// Gated delta net (projections to q, k, v, gate, beta, decay; convolution; output), and lightning
// attention, which is the same without convolution, beta and decay.
void add_linear(const Attention& a, std::int64_t h, std::vector<Tensor>& out) {
  const std::int64_t keys = std::int64_t{a.linear_key_heads} * a.linear_key_dim;
  const std::int64_t values = std::int64_t{a.linear_value_heads} * a.linear_value_dim;
  std::int64_t n = h * (2 * keys + 2 * values) + values * h;
  if (a.conv_kernel > 0) {
    n += h * 2 * a.linear_value_heads + a.conv_kernel * (2 * keys + values) +
         2 * a.linear_value_heads;
  }
  out.push_back({Part::linear_attention, Split::tensor, n, 0});
  out.push_back({Part::norms, Split::replicated, a.linear_value_dim, 0});
}

void add_mamba(const Attention& a, std::int64_t h, std::vector<Tensor>& out) {
  const std::int64_t inner = std::int64_t{a.heads} * a.head_dim;
  const std::int64_t conv = inner + 2 * std::int64_t{a.ssm_groups} * a.ssm_state;
  const std::int64_t n =
      h * (inner + conv + a.heads) + (a.conv_kernel + 1) * conv + 3 * a.heads + inner * h;
  out.push_back({Part::linear_attention, Split::tensor, n, 0});
  out.push_back({Part::norms, Split::replicated, inner, 0});
}

void add_mlp(const Mlp& m, std::int64_t h, std::vector<Tensor>& out) {
  const std::int64_t matrices = m.gated ? 3 : 2;
  if (m.intermediate > 0) {
    out.push_back({Part::dense_mlp, Split::tensor, matrices * h * m.intermediate, 0});
  }
  if (m.experts > 0) {
    const std::int64_t width = m.moe_latent > 0 ? m.moe_latent : h;
    out.push_back(
        {Part::experts, Split::experts, m.experts * matrices * width * m.moe_intermediate, 0});
    out.push_back({Part::router, Split::replicated, h * m.experts, 0});
    if (m.moe_latent > 0) {
      out.push_back({Part::shared_experts, Split::replicated, 2 * h * m.moe_latent, 0});
    }
  }
  if (m.shared_intermediate > 0) {
    out.push_back({Part::shared_experts, Split::tensor, matrices * h * m.shared_intermediate, 0});
  }
}

bool has_mlp(const Mlp& m) {
  return m.intermediate > 0 || m.experts > 0 || m.shared_intermediate > 0;
}

}  // namespace

std::string_view name(Part part) {
  static constexpr std::array<std::string_view, part_count> names{
      "embedding",      "head",   "attention", "linear_attention", "dense_mlp", "experts",
      "shared_experts", "router", "norms",     "vision",           "mtp"};
  return names[static_cast<std::size_t>(part)];
}

bool has_state(const Attention& a) {
  return a.kind == AttentionKind::linear || a.kind == AttentionKind::mamba;
}

bool has_attention(const Attention& a) {
  return has_state(a) || a.heads > 0;
}

std::vector<Tensor> layer_tensors(const Model& model, const LayerGroup& group) {
  std::vector<Tensor> out;
  const Attention& a = group.attention;
  const std::int64_t h = model.hidden;
  int norms = has_mlp(group.mlp) ? 1 : 0;
  if (has_attention(a)) {
    ++norms;
    switch (a.kind) {
      case AttentionKind::full:
      case AttentionKind::window:
        add_softmax_attention(a, h, out);
        break;
      case AttentionKind::mla:
        add_mla(a, h, out);
        break;
      case AttentionKind::linear:
        add_linear(a, h, out);
        break;
      case AttentionKind::mamba:
        add_mamba(a, h, out);
        break;
    }
    const std::int64_t indexer = indexer_elements(a, h);
    if (indexer > 0) out.push_back({Part::attention, Split::replicated, indexer, 0});
  }
  add_mlp(group.mlp, h, out);
  out.push_back({Part::norms, Split::replicated, norms * h, 0});
  return out;
}

const LayerGroup& mtp_layer(const Model& model) {
  if (model.layers.empty()) throw InputError("model '" + model.name + "' has no layers");
  const LayerGroup* found = &model.layers.back();
  for (const LayerGroup& g : model.layers) {
    if (has_attention(g.attention) && !has_state(g.attention)) found = &g;
  }
  return *found;
}

std::int64_t Parameters::total() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < part_count; ++i) {
    if (i != static_cast<std::size_t>(Part::mtp)) sum += by_part[i];
  }
  return sum;
}

Parameters parameters_of(const Model& model) {
  Parameters p;
  const auto add = [&p](Part part, std::int64_t n) {
    p.by_part[static_cast<std::size_t>(part)] += n;
  };
  add(Part::embedding, model.vocab * model.hidden);
  if (!model.tied_embeddings) add(Part::head, model.vocab * model.hidden);
  add(Part::norms, model.hidden);
  add(Part::vision, static_cast<std::int64_t>(model.vision_parameters));
  for (const LayerGroup& g : model.layers) {
    for (const Tensor& t : layer_tensors(model, g)) add(t.part, t.elements * g.count);
  }
  if (model.mtp_layers > 0) {
    std::int64_t layer = 2 * model.hidden * model.hidden + 3 * model.hidden;  // joins two inputs
    for (const Tensor& t : layer_tensors(model, mtp_layer(model))) layer += t.elements;
    add(Part::mtp, layer * model.mtp_layers);
  }
  return p;
}

std::int64_t active_parameters_of(const Model& model) {
  std::int64_t idle = 0;
  for (const LayerGroup& g : model.layers) {
    if (g.mlp.experts == 0) continue;
    for (const Tensor& t : layer_tensors(model, g)) {
      if (t.part == Part::experts) {
        idle += g.count * (t.elements / g.mlp.experts) * (g.mlp.experts - g.mlp.active_experts);
      }
    }
  }
  return parameters_of(model).total() - idle;
}

}  // namespace servegrid::model
