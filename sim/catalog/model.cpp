#include "catalog/model.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "catalog/load.hpp"

namespace servegrid::catalog {

namespace {

constexpr std::int64_t max_width = 10'000'000;

int small(const Value& v, std::int64_t high = 1'000'000) {
  return static_cast<int>(v.integer(1, high));
}

void optional_int(const Value& map, const char* key, int& to) {
  if (const Value x = map.find(key); x.present()) to = static_cast<int>(x.integer(0, 1'000'000));
}

void optional_bool(const Value& map, const char* key, bool& to) {
  if (const Value x = map.find(key); x.present()) to = x.boolean();
}

void load_sparse(const Value& v, Attention& a) {
  if (const Value x = v.find("sparse_top_k"); x.present()) {
    a.sparse_top_k = x.integer(0, 1'000'000'000);
  }
  optional_int(v, "indexer_heads", a.indexer_heads);
  optional_int(v, "indexer_dim", a.indexer_dim);
}

void load_full(const Value& v, Attention& a) {
  a.heads = small(v.at("heads"));
  a.kv_heads = small(v.at("kv_heads"));
  if (a.heads % a.kv_heads != 0) {
    throw v.find("kv_heads")
        .error(fmt::format("{} heads cannot share {} KV heads evenly", a.heads, a.kv_heads));
  }
  a.head_dim = small(v.at("head_dim"));
  optional_int(v, "v_head_dim", a.v_head_dim);
  optional_bool(v, "qk_norm", a.qk_norm);
  optional_bool(v, "qk_norm_across_heads", a.qk_norm_across_heads);
  if (a.qk_norm_across_heads && !a.qk_norm) {
    throw v.at("qk_norm_across_heads").error("needs qk_norm: true");
  }
  optional_bool(v, "qkv_bias", a.qkv_bias);
  optional_bool(v, "output_gate", a.output_gate);
  load_sparse(v, a);
}

void load_mla(const Value& v, Attention& a) {
  a.heads = small(v.at("heads"));
  a.q_lora = static_cast<int>(v.at("q_lora").integer(0, 1'000'000));  // 0: no low-rank query
  a.kv_lora = small(v.at("kv_lora"));
  a.qk_nope = small(v.at("qk_nope"));
  a.qk_rope = static_cast<int>(v.at("qk_rope").integer(0, 1'000'000));
  a.v_head_dim = small(v.at("v_head_dim"));
  a.head_dim = a.qk_nope + a.qk_rope;
  a.kv_heads = 1;  // one latent a token
  load_sparse(v, a);
}

void load_state(const Value& v, Attention& a) {
  a.conv_kernel = static_cast<int>(v.at("conv_kernel").integer(0, 1024));  // 0: lightning attention
  if (const Value x = v.find("state_bytes_per_element"); x.present()) {
    a.state_bytes_per_element = static_cast<int>(x.integer(1, 8));
  }
}

Attention load_attention(const Value& v) {
  Attention a;
  const int kind = choice(v.at("kind"), {"full", "window", "mla", "linear", "mamba", "none"});
  if (kind == 5) {
    v.no_unknown_keys();
    return a;
  }
  a.kind = static_cast<AttentionKind>(kind);
  switch (a.kind) {
    case AttentionKind::window:
      a.window = v.at("window").integer(1, 1'000'000'000);
      [[fallthrough]];
    case AttentionKind::full:
      load_full(v, a);
      break;
    case AttentionKind::mla:
      load_mla(v, a);
      break;
    case AttentionKind::linear:
      a.linear_key_heads = small(v.at("linear_key_heads"));
      a.linear_value_heads = small(v.at("linear_value_heads"));
      a.linear_key_dim = small(v.at("linear_key_dim"));
      a.linear_value_dim = small(v.at("linear_value_dim"));
      load_state(v, a);
      break;
    case AttentionKind::mamba:
      a.heads = small(v.at("heads"));
      a.head_dim = small(v.at("head_dim"));
      a.ssm_state = small(v.at("ssm_state"));
      a.ssm_groups = small(v.at("ssm_groups"));
      load_state(v, a);
      break;
  }
  v.no_unknown_keys();
  return a;
}

Mlp load_mlp(const Value& v) {
  Mlp m;
  if (v.is_scalar()) {
    choice(v, {"none"});
    return m;
  }
  if (const Value x = v.find("intermediate"); x.present()) {
    m.intermediate = x.integer(0, max_width);
  }
  optional_bool(v, "gated", m.gated);
  if (const Value x = v.find("experts"); x.present()) {
    m.experts = small(x, 100'000);
    m.active_experts = small(v.at("active_experts"), 100'000);
    m.moe_intermediate = v.at("moe_intermediate").integer(1, max_width);
    if (m.active_experts > m.experts) {
      throw v.find("active_experts")
          .error(fmt::format("{} of {} experts cannot be active", m.active_experts, m.experts));
    }
    if (const Value y = v.find("shared_intermediate"); y.present()) {
      m.shared_intermediate = y.integer(0, max_width);
    }
    if (const Value y = v.find("moe_latent"); y.present()) m.moe_latent = y.integer(0, max_width);
  } else {
    for (const char* key :
         {"active_experts", "moe_intermediate", "shared_intermediate", "moe_latent"}) {
      if (const Value y = v.find(key); y.present()) throw y.error("needs 'experts' beside it");
    }
  }
  v.no_unknown_keys();
  return m;
}

Checkpoint load_checkpoint(const Value& v) {
  static const std::vector<std::string> parts = {
      "attention", "linear_attention", "dense_mlp", "experts", "shared_experts",
      "router",    "embedding",        "head",      "mtp"};
  Checkpoint c{};
  c.format = read_format(v.at("format"));
  c.id = text_or(v, "id");
  if (const Value x = v.find("parts"); x.present()) {
    for (const std::string& part : parts) {
      if (const Value y = x.find(part); y.present()) c.parts.push_back({part, read_format(y)});
    }
    x.no_unknown_keys();
  }
  c.source = word(v.at("source"));
  v.no_unknown_keys();
  return c;
}

LayerGroup load_group(const Value& v, std::int64_t left) {
  LayerGroup group;
  group.count = static_cast<int>(v.at("count").integer(1, left));
  const Value attention = v.find("attention");
  if (attention.present()) group.attention = load_attention(attention);
  const Value mlp = v.find("mlp");
  if (mlp.present()) group.mlp = load_mlp(mlp);
  if (!attention.present() && !mlp.present()) {
    throw v.error("a layer needs 'attention' or 'mlp'");
  }
  v.no_unknown_keys();
  return group;
}

}  // namespace

Model load_model(const Value& v, const std::string& name, const std::string& file) {
  Model m;
  m.name = name;
  m.file = file;
  m.title = text_or(v, "title", name);
  m.family = text_or(v, "family");
  m.aliases = texts_or(v, "aliases");
  if (const Value x = v.find("nominal_billions"); x.present()) {
    m.nominal_billions = x.number(0.001, 1e6);
  }
  m.hidden = v.at("hidden").integer(1, max_width);
  m.vocab = v.at("vocab").integer(1, 100'000'000);
  optional_bool(v, "tied_embeddings", m.tied_embeddings);
  m.max_context = v.at("max_context").integer(1, 1'000'000'000);
  if (const Value x = v.find("mtp_layers"); x.present()) {
    m.mtp_layers = static_cast<int>(x.integer(0, 1000));
  }
  if (const Value x = v.find("native_format"); x.present()) m.native_format = read_format(x);
  m.source = word(v.at("source"));
  m.date = word(v.at("date"));
  text_or(v, "note");
  const Value layers = v.at("layers");
  std::int64_t left = 100'000;
  for (const Value& item : layers.items()) {
    if (left == 0) throw item.error("a model of more than 100000 layers");
    m.layers.push_back(load_group(item, left));
    left -= m.layers.back().count;
  }
  if (m.layers.empty()) throw layers.error("a model needs at least one layer");
  if (const Value x = v.find("vision_parameters"); x.present()) {
    m.vision_parameters = x.number(0, 1e13);
  }
  if (const Value x = v.find("checkpoints"); x.present()) {
    for (const Value& item : x.items()) m.checkpoints.push_back(load_checkpoint(item));
  }
  read_facts(v);  // checked here, shown by `servegrid catalog show` from the file
  v.no_unknown_keys();
  return m;
}

int Model::depth() const {
  int sum = 0;
  for (const LayerGroup& group : layers) sum += group.count;
  return sum;
}

std::vector<PartFormat> Model::parts_for(Format f) const {
  for (const Checkpoint& c : checkpoints) {
    if (c.format == f) return c.parts;
  }
  return {};
}

}  // namespace servegrid::catalog
