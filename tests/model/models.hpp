// Models written by hand, so that the modules below the catalogue are tested without its files.
#pragma once

#include "catalog/model.hpp"

namespace servegrid::test {

inline catalog::Attention gqa(int heads, int kv_heads, int head_dim) {
  catalog::Attention a;
  a.heads = heads;
  a.kv_heads = kv_heads;
  a.head_dim = head_dim;
  return a;
}

inline catalog::Attention mla(int heads) {  // DeepSeek-V3 and Kimi-K2
  catalog::Attention a;
  a.kind = catalog::AttentionKind::mla;
  a.heads = heads;
  a.q_lora = 1536;
  a.kv_lora = 512;
  a.qk_nope = 128;
  a.qk_rope = 64;
  a.v_head_dim = 128;
  return a;
}

inline catalog::Mlp dense(std::int64_t intermediate) {
  catalog::Mlp m;
  m.intermediate = intermediate;
  return m;
}

inline catalog::Mlp moe(int experts, int active, std::int64_t width, std::int64_t shared = 0) {
  catalog::Mlp m;
  m.experts = experts;
  m.active_experts = active;
  m.moe_intermediate = width;
  m.shared_intermediate = shared;
  return m;
}

inline catalog::Model model(const char* name, std::int64_t hidden, std::int64_t vocab,
                            std::vector<catalog::LayerGroup> layers) {
  catalog::Model m;
  m.name = name;
  m.hidden = hidden;
  m.vocab = vocab;
  m.max_context = 131072;
  m.layers = std::move(layers);
  return m;
}

inline catalog::Model llama_70b() {
  auto m = model("llama-3.1-70b", 8192, 128256, {{80, gqa(64, 8, 128), dense(28672)}});
  m.nominal_billions = 70;
  return m;
}
inline catalog::Model llama_8b() {
  auto m = model("llama-3.1-8b", 4096, 128256, {{32, gqa(32, 8, 128), dense(14336)}});
  m.nominal_billions = 8;
  return m;
}
inline catalog::Model deepseek_v3() {
  auto m = model("deepseek-v3", 7168, 129280,
                 {{3, mla(128), dense(18432)}, {58, mla(128), moe(256, 8, 2048, 2048)}});
  m.mtp_layers = 1;
  m.nominal_billions = 671;
  return m;
}
inline catalog::Model gpt_oss(int layers, int experts) {
  auto full = gqa(64, 8, 64);
  full.qkv_bias = true;
  auto window = full;
  window.kind = catalog::AttentionKind::window;
  window.window = 128;
  auto m = model(
      "gpt-oss", 2880, 201088,
      {{layers / 2, full, moe(experts, 4, 2880)}, {layers / 2, window, moe(experts, 4, 2880)}});
  catalog::Checkpoint published;
  published.format = catalog::Format::mxfp4;
  published.parts = {{"attention", catalog::Format::bf16}};
  m.checkpoints = {published};
  return m;
}
/// Qwen3.8-27B: one layer in four with full attention, the others gated delta nets.
inline catalog::Model qwen_hybrid_27b() {
  auto full = gqa(24, 4, 256);
  full.qk_norm = full.output_gate = true;
  catalog::Attention linear;
  linear.kind = catalog::AttentionKind::linear;
  linear.linear_key_heads = 16;
  linear.linear_value_heads = 48;
  linear.linear_key_dim = linear.linear_value_dim = 128;
  linear.conv_kernel = 4;
  auto m = model("qwen-hybrid-27b", 5120, 248320,
                 {{16, full, dense(17408)}, {48, linear, dense(17408)}});
  m.mtp_layers = 1;
  m.vision_parameters = 0.46e9;
  m.max_context = 262144;
  return m;
}

}  // namespace servegrid::test
