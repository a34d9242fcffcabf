#include "catalog/hf_layers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace servegrid::catalog {

namespace {

constexpr std::int64_t max_layers = 4096;

bool starts(const std::string& text, std::string_view with) {
  return text.rfind(with, 0) == 0;
}

/// Kinds that no group of the catalogue describes; said before a wrong model is made of them.
void refuse_unknown(const ConfigObject& c) {
  if (c.flag("is_encoder_decoder")) throw c.error("an encoder-decoder: only decoders are modelled");
  if (c.has("compress_ratios")) {
    throw c.error(
        "'compress_ratios': attention over compressed keys (DeepSeek V4) has no kind in "
        "model files; its cache is several pools of different entries");
  }
  const std::string type = c.text("model_type");
  for (const char* other : {"rwkv", "mamba", "jamba", "bert", "t5", "whisper", "falcon_mamba"}) {
    if (starts(type, other)) {
      throw c.error(
          fmt::format("model_type '{}' is not a decoder that can be described", plain(type)));
    }
  }
}

struct Heads {
  std::int64_t heads = 0, kv = 0, dim = 0, v_dim = 0;
};

Heads heads_of(const ConfigObject& c, const std::string& prefix = "") {
  Heads h;
  h.heads = c.required({prefix + "num_attention_heads"});
  h.kv = c.number(prefix + "num_key_value_heads", 1).value_or(h.heads);
  const auto dim = c.number_of({prefix + "head_dim", prefix + "attention_head_dim"});
  h.dim = dim ? *dim : c.required({"hidden_size"}) / h.heads;
  h.v_dim = c.number(prefix + "v_head_dim").value_or(0);
  return h;
}

std::string softmax(const ConfigObject& c, const Heads& h, std::int64_t window) {
  const std::string type = c.text("model_type");
  std::string out = window > 0 ? fmt::format("{{kind: window, window: {}", window) : "{kind: full";
  out += fmt::format(", heads: {}, kv_heads: {}, head_dim: {}", h.heads, h.kv, h.dim);
  if (h.v_dim > 0 && h.v_dim != h.dim) out += fmt::format(", v_head_dim: {}", h.v_dim);
  const bool by_type = starts(type, "qwen3") || starts(type, "gemma3") || starts(type, "gemma4");
  // Llama 4 norms queries and keys without weights.
  if (c.flag("use_qk_norm", by_type) && !starts(type, "llama4")) {
    out += ", qk_norm: true";
    // MiniMax M2: one norm a layer, over all heads.
    if (c.text("qk_norm_type") == "per_layer") out += ", qk_norm_across_heads: true";
  }
  if (c.flag("attention_bias", starts(type, "qwen2")) || c.flag("use_qkv_bias") ||
      c.flag("qkv_bias")) {
    out += ", qkv_bias: true";
  }
  if (c.flag("attn_output_gate", starts(type, "qwen3_next"))) out += ", output_gate: true";
  return out + "}";
}

std::string latent(const ConfigObject& c) {
  std::string out = fmt::format(
      "{{kind: mla, heads: {}, q_lora: {}, kv_lora: {}, qk_nope: {}, qk_rope: {}, v_head_dim: {}",
      c.required({"num_attention_heads"}), c.number("q_lora_rank").value_or(0),
      c.required({"kv_lora_rank"}), c.required({"qk_nope_head_dim"}),
      c.required({"qk_rope_head_dim"}, 0), c.required({"v_head_dim"}));
  if (const auto top = c.number("index_topk")) {
    out += fmt::format(", sparse_top_k: {}, indexer_heads: {}, indexer_dim: {}", *top,
                       c.required({"index_n_heads"}), c.required({"index_head_dim"}));
  }
  return out + "}";
}

std::string delta_net(const ConfigObject& c) {
  const std::string state = c.text(
      "mamba_ssm_dtype", starts(c.text("model_type"), "qwen3_next") ? "bfloat16" : "float32");
  return fmt::format(
      "{{kind: linear, linear_key_heads: {}, linear_value_heads: {}, linear_key_dim: {}, "
      "linear_value_dim: {}, conv_kernel: {}, state_bytes_per_element: {}}}",
      c.required({"linear_num_key_heads"}), c.required({"linear_num_value_heads"}),
      c.required({"linear_key_head_dim"}), c.required({"linear_value_head_dim"}),
      c.required({"linear_conv_kernel_dim"}), state == "float32" ? 4 : 2);
}

struct Moe {
  std::int64_t experts = 0, active = 0, width = 0, shared = 0, latent = 0;
};

Moe moe_of(const ConfigObject& c) {
  Moe m;
  m.experts = c.number_of({"n_routed_experts", "num_experts", "num_local_experts"}).value_or(0);
  if (m.experts == 0) return m;
  m.active = c.required({"num_experts_per_tok", "top_k_experts", "moe_top_k"});
  m.width = c.required({"moe_intermediate_size", "intermediate_size"});
  const auto shared =
      c.number_of({"moe_shared_expert_intermediate_size", "shared_expert_intermediate_size",
                   "share_expert_dim", "shared_intermediate_size"});
  const std::int64_t count = c.number("n_shared_experts").value_or(0);
  m.shared = shared ? *shared : count * m.width;
  if (starts(c.text("model_type"), "llama4")) m.shared = m.width;  // one shared expert
  m.latent = c.number("moe_latent_size").value_or(0);
  return m;
}

std::string routed(const Moe& m, bool gated) {
  std::string out = fmt::format("experts: {}, active_experts: {}, moe_intermediate: {}", m.experts,
                                m.active, m.width);
  if (m.shared > 0) out += fmt::format(", shared_intermediate: {}", m.shared);
  if (m.latent > 0) out += fmt::format(", moe_latent: {}", m.latent);
  if (!gated) out += ", gated: false";
  return out;
}

/// Which layers route to experts, by the many ways configs say it.
std::vector<bool> sparse_layers(const ConfigObject& c, std::int64_t n) {
  std::vector<bool> sparse(static_cast<std::size_t>(n), true);
  const auto each = [&](auto&& rule) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (!rule(i)) sparse[static_cast<std::size_t>(i)] = false;
    }
  };
  const std::int64_t first = c.number("first_k_dense_replace").value_or(0);
  each([&](std::int64_t i) { return i >= first; });
  if (const auto* freq = c.find("moe_layer_freq"); freq != nullptr && freq->is_array()) {
    const auto list = c.numbers("moe_layer_freq");
    if (std::int64_t(list.size()) != n) throw c.error("'moe_layer_freq' has not one entry a layer");
    each([&](std::int64_t i) { return list[static_cast<std::size_t>(i)] != 0; });
  } else if (const auto step = c.number("moe_layer_freq", 1); step) {
    each([&](std::int64_t i) { return i % *step == 0; });
  }
  const auto dense = c.numbers("mlp_only_layers");
  each([&](std::int64_t i) { return std::find(dense.begin(), dense.end(), i) == dense.end(); });
  for (const char* key : {"decoder_sparse_step", "interleave_moe_layer_step"}) {
    const std::int64_t step = c.number(key, 1).value_or(1);
    each([&](std::int64_t i) { return (i + 1) % step == 0; });
  }
  if (const auto kinds = c.texts("mlp_layer_types"); !kinds.empty()) {
    if (std::int64_t(kinds.size()) != n)
      throw c.error("'mlp_layer_types' has not one entry a layer");
    each([&](std::int64_t i) { return kinds[static_cast<std::size_t>(i)] != "dense"; });
  }
  return sparse;
}

void add_mlps(const ConfigObject& c, std::vector<HfLayer>& layers) {
  const Moe moe = moe_of(c);
  const auto sparse = moe.experts > 0 ? sparse_layers(c, static_cast<std::int64_t>(layers.size()))
                                      : std::vector<bool>(layers.size(), false);
  const bool both = c.flag("enable_moe_block");  // Gemma 4: every layer has both
  for (std::size_t i = 0; i < layers.size(); ++i) {
    HfLayer& layer = layers[i];
    layer.experts = sparse[i];
    layer.dense = !sparse[i] || both;
    layer.shared = layer.experts && moe.shared > 0;
    std::string inside;
    if (layer.dense) {
      inside = fmt::format("intermediate: {}",
                           c.required({"intermediate_size_mlp", "intermediate_size"}));
    }
    if (layer.experts) inside += (inside.empty() ? "" : ", ") + routed(moe, true);
    layer.mlp = "{" + inside + "}";
  }
}

/// Per layer: 'f' full, 'w' window, 'l' linear.
std::string layer_kinds(const ConfigObject& c, std::int64_t n, std::vector<std::string>& remarks) {
  const std::string type = c.text("model_type");
  std::string kinds(static_cast<std::size_t>(n), 'f');
  const auto lightning = c.numbers("attn_type_list");  // MiniMax: 0 lightning, 1 softmax
  if (std::find(lightning.begin(), lightning.end(), 0) != lightning.end()) {
    throw c.error("'attn_type_list' has lightning attention, whose dimensions it does not say");
  }
  if (const auto types = c.texts("layer_types"); !types.empty()) {
    if (std::int64_t(types.size()) != n) throw c.error("'layer_types' has not one entry a layer");
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (types[i] == "linear_attention")
        kinds[i] = 'l';
      else if (types[i] == "sliding_attention" || types[i] == "chunked_attention")
        kinds[i] = 'w';
      else if (types[i] != "full_attention" && types[i] != "deepseek_sparse_attention") {
        throw c.error(fmt::format("layer type '{}' has no kind in model files", plain(types[i])));
      }
    }
    return kinds;
  }
  const auto every = [&](std::int64_t step, char usual) {
    for (std::int64_t i = 0; i < n; ++i) {
      if ((i + 1) % step != 0) kinds[static_cast<std::size_t>(i)] = usual;
    }
  };
  if (c.has("linear_num_key_heads")) {
    every(c.number("full_attention_interval", 1).value_or(4), 'l');
  } else if (const auto pattern = c.numbers("hybrid_layer_pattern"); !pattern.empty()) {
    if (std::int64_t(pattern.size()) != n) {
      throw c.error("'hybrid_layer_pattern' has not one entry a layer");
    }
    for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = pattern[i] != 0 ? 'w' : 'f';
  } else if (starts(type, "llama4") && c.has("attention_chunk_size")) {
    every(c.number("no_rope_layer_interval", 1).value_or(4), 'w');
    remarks.emplace_back("local layers attend inside chunks: written as a window of that size");
  } else if (const auto window = c.number("sliding_window"); window && *window > 0) {
    if (starts(type, "gemma3"))
      every(c.number("sliding_window_pattern", 1).value_or(6), 'w');
    else if (starts(type, "gemma2"))
      every(2, 'w');
    else if (c.flag("use_sliding_window", !starts(type, "qwen")))
      kinds.assign(kinds.size(), 'w');
  }
  return kinds;
}

std::vector<HfLayer> standard_layers(const ConfigObject& c, std::vector<std::string>& remarks) {
  const std::int64_t n = c.required({"num_hidden_layers"});
  if (n > max_layers) throw c.error(fmt::format("more than {} layers", max_layers));
  std::vector<HfLayer> layers(static_cast<std::size_t>(n));
  const std::string kinds = layer_kinds(c, n, remarks);
  const bool mla = c.has("kv_lora_rank");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (kinds[i] == 'l') {
      layers[i].attention = delta_net(c);
      layers[i].linear = true;
    } else if (mla) {
      layers[i].attention = latent(c);
    } else if (kinds[i] == 'w') {
      const auto size = c.number_of({"sliding_window", "attention_chunk_size"});
      if (!size || *size < 1) throw c.error("has window layers but no 'sliding_window'");
      layers[i].attention =
          softmax(c, heads_of(c, c.has("swa_num_attention_heads") ? "swa_" : ""), *size);
    } else {
      Heads h = heads_of(c);
      if (const auto dim = c.number("global_head_dim", 1)) h.dim = *dim;
      if (const auto kv = c.number("num_global_key_value_heads", 1)) h.kv = *kv;
      layers[i].attention = softmax(c, h, 0);
    }
  }
  if (c.flag("attention_k_eq_v")) {
    remarks.emplace_back(
        "'attention_k_eq_v': values reuse the keys' projection; it is counted twice");
  }
  if (const auto kinds_of_indexer = c.texts("indexer_types");
      std::find(kinds_of_indexer.begin(), kinds_of_indexer.end(), "shared") !=
      kinds_of_indexer.end()) {
    remarks.emplace_back("'indexer_types': some layers share an indexer; each is given its own");
  }
  add_mlps(c, layers);
  return layers;
}

/// Nemotron-H: one mixer a layer, by letters or words.
std::vector<HfLayer> nemotron_h_layers(const ConfigObject& c, std::vector<std::string>& remarks) {
  std::string pattern = c.text("hybrid_override_pattern");
  for (const std::string& word : c.texts("layers_block_type")) {
    pattern += word == "mamba" ? 'M' : word == "attention" ? '*' : word == "moe" ? 'E' : '-';
  }
  if (std::int64_t(pattern.size()) > max_layers) {
    throw c.error(fmt::format("more than {} layers", max_layers));
  }
  std::vector<HfLayer> layers;
  for (const char kind : pattern) {
    HfLayer layer;
    if (kind == 'M') {
      layer.linear = true;
      layer.attention = fmt::format(
          "{{kind: mamba, heads: {}, head_dim: {}, ssm_state: {}, ssm_groups: {}, conv_kernel: {}, "
          "state_bytes_per_element: {}}}",
          c.required({"mamba_num_heads"}), c.required({"mamba_head_dim"}),
          c.required({"ssm_state_size"}), c.required({"n_groups"}), c.required({"conv_kernel"}),
          c.text("mamba_ssm_cache_dtype", "float32") == "float32" ? 4 : 2);
    } else if (kind == '*') {
      layer.attention = softmax(c, heads_of(c), 0);
    } else if (kind == 'E') {
      layer.experts = true;
      const Moe m = moe_of(c);
      if (m.experts == 0) throw c.error("has expert layers but no 'n_routed_experts'");
      layer.shared = m.shared > 0;
      layer.mlp = "{" + routed(m, false) + "}";
    } else if (kind == '-') {
      layer.dense = true;
      layer.mlp =
          fmt::format("{{intermediate: {}, gated: false}}", c.required({"intermediate_size"}));
    } else {
      throw c.error("'hybrid_override_pattern' may hold M, *, E and - only");
    }
    layers.push_back(layer);
  }
  if (layers.empty()) throw c.error("'hybrid_override_pattern' is empty");
  if (c.number("num_nextn_predict_layers").value_or(0) > 0) {
    remarks.emplace_back(
        "the multi-token prediction block is left out: its layers are of two kinds");
  }
  return layers;
}

/// Nemotron NAS (Puzzle): a block of its own in every layer.
std::vector<HfLayer> puzzle_layers(const ConfigObject& c) {
  const auto& blocks = *c.find("block_configs");
  if (!blocks.is_array() || blocks.empty() || std::int64_t(blocks.size()) > max_layers) {
    throw c.error("'block_configs' must be a list of layers");
  }
  const std::int64_t hidden = c.required({"hidden_size"}),
                     heads = c.required({"num_attention_heads"});
  const auto part = [&](const nlohmann::json& block, const char* key) {
    if (!block.is_object() || !block.contains(key) || !block[key].is_object()) {
      throw c.error(fmt::format("'block_configs' needs '{}' in each layer", key));
    }
    ConfigObject o(block[key], c.file(), std::string("block_configs.") + key + ".");
    if (o.flag("replace_with_linear") || o.has("sparsify") || o.has("window_length")) {
      throw c.error("'block_configs' has linear, sparse or window replacements: no kind for them");
    }
    return o;
  };
  std::vector<HfLayer> layers;
  for (const auto& block : blocks) {
    HfLayer layer;
    const ConfigObject attention = part(block, "attention"), ffn = part(block, "ffn");
    if (!attention.flag("no_op")) {
      const std::int64_t group = attention.required({"n_heads_in_group"});
      layer.attention =
          softmax(c, {heads, std::max<std::int64_t>(1, heads / group), hidden / heads, 0}, 0);
    }
    if (!ffn.flag("no_op")) {
      const auto* factor = ffn.find("ffn_mult");
      if (factor == nullptr || !factor->is_number()) throw c.error("'ffn_mult' must be a number");
      const double width = 2 * factor->get<double>() * double(hidden) / 3;
      if (!(width >= 1 && width < 1e7)) throw c.error("'ffn_mult' is out of range");
      layer.dense = true;
      layer.mlp = fmt::format("{{intermediate: {}}}", (std::int64_t(width) + 255) / 256 * 256);
    }
    if (layer.attention.empty() && layer.mlp.empty()) layer.attention = "{kind: none}";
    layers.push_back(layer);
  }
  return layers;
}

}  // namespace

std::vector<HfLayer> hf_layers(const ConfigObject& c, std::vector<std::string>& remarks) {
  refuse_unknown(c);
  if (c.has("block_configs")) return puzzle_layers(c);
  if (c.has("hybrid_override_pattern") || c.has("layers_block_type")) {
    return nemotron_h_layers(c, remarks);
  }
  return standard_layers(c, remarks);
}

}  // namespace servegrid::catalog
