// A transformer by its dimensions. Filled from models/*.yaml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/format.hpp"

namespace servegrid::catalog {

enum class AttentionKind { full, window, mla, linear, mamba };

struct Attention {
  AttentionKind kind = AttentionKind::full;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;         // K (and V unless v_head_dim)
  int v_head_dim = 0;       // 0 = head_dim
  std::int64_t window = 0;  // tokens, kind window
  bool qk_norm = false;
  bool qk_norm_across_heads = false;  // over all heads together: TP has to reduce it
  bool qkv_bias = false;
  bool output_gate = false;
  // MLA
  int q_lora = 0, kv_lora = 0, qk_nope = 0, qk_rope = 0;
  // sparse attention on top of MLA or full (DSA): keys attended per query and indexer dimensions; 0
  // = none
  std::int64_t sparse_top_k = 0;
  int indexer_heads = 0, indexer_dim = 0;
  // linear attention (gated delta net) and Mamba-2
  int linear_key_heads = 0, linear_value_heads = 0, linear_key_dim = 0, linear_value_dim = 0,
      conv_kernel = 0;
  int ssm_state = 0, ssm_groups = 0;
  int state_bytes_per_element = 4;
};

struct Mlp {
  std::int64_t intermediate = 0;  // dense MLP width (gated); 0 = no dense MLP
  bool gated = true;
  int experts = 0, active_experts = 0;
  std::int64_t moe_intermediate = 0;
  std::int64_t shared_intermediate = 0;  // all shared experts together
  std::int64_t moe_latent = 0;  // width the routed experts work in (Nemotron 3); 0 = hidden
};

/// `count` layers of one kind.
struct LayerGroup {
  int count = 0;
  Attention attention;  // kind with heads == 0 and not linear/mamba = no attention in this layer
  Mlp mlp;
};

/// Which storage format a part of the checkpoint has; parts not named follow the weights format.
struct PartFormat {
  std::string part;  // "attention", "linear_attention", "dense_mlp", "experts", "shared_experts",
                     // "router", "embedding", "head"
  Format format;
};

/// A published checkpoint in a given weights format: what stays in 16 bit and who published it.
struct Checkpoint {
  Format format;
  std::string id;                 // Hugging Face id, may be empty
  std::vector<PartFormat> parts;  // exceptions
  std::string source;
};

struct Model {
  std::string name;  // "llama-3.1-70b"
  std::string title;
  std::string family;
  std::vector<std::string> aliases;  // Hugging Face ids and short names
  double nominal_billions = 0;       // the number in the name: 70
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
  bool tied_embeddings = false;
  std::int64_t max_context = 0;
  int mtp_layers = 0;
  Format native_format = Format::bf16;
  std::vector<LayerGroup> layers;  // in any order; counts add up to the depth
  double vision_parameters = 0;    // 16-bit
  std::vector<Checkpoint> checkpoints;
  std::string source, date;
  std::string file;

  [[nodiscard]] int depth() const;
  /// Exceptions to `f` for the published checkpoint of that format (empty when none is known).
  [[nodiscard]] std::vector<PartFormat> parts_for(Format f) const;
};

}  // namespace servegrid::catalog
