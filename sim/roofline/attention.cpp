// Attention layers as operators: projections, prefill and decode attention, states.
#include <algorithm>

#include "roofline/compiler.hpp"

namespace servegrid::roofline {

using catalog::AttentionKind;

namespace {

// Linear attention and Mamba-2: state traffic at this share of the bandwidth and chunked prefill at
// this share of the bf16 peak (fidelity_moe 5: the state's 0.6 is worth 4 points of TPOT; the
// prefill share cannot be identified from serving, a factor 3 moves the error by 0.1 point).
constexpr double state_fraction = 0.6, linear_prefill_fraction = 0.3;
constexpr double linear_chunk = 64;  // tokens of a chunk in the chunked delta rule
// Sparse-attention indexer: FP8 keys of indexer_dim with a 4-byte scale, scores in FP8. No fit.
constexpr double indexer_bandwidth_fraction = 0.8, indexer_compute_fraction = 0.4;

// Floors of elementwise kernels per layer (form D2).
constexpr double gqa_kernels = 2, mla_kernels = 4, linear_kernels = 4, indexer_kernels = 4,
                 projection_quantisation_kernels = 2, qk_norm_kernels = 2,
                 qk_norm_across_heads_kernels = 4;

double v_dim(const catalog::Attention& a) {
  return a.v_head_dim > 0 ? a.v_head_dim : a.head_dim;
}

}  // namespace

void Compiler::attention(AttentionOp op) {
  for (auto& other : table_.attention) {
    if (other.decode_label.name == op.decode_label.name &&
        other.context_class == op.context_class && other.per_token == op.per_token &&
        other.per_pair == op.per_pair && other.per_sequence == op.per_sequence) {
      other.count += op.count;
      return;
    }
  }
  table_.attention.push_back(std::move(op));
}

void Compiler::full(const catalog::Attention& a, double count) {
  const double h = static_cast<double>(d_.model.hidden);
  const double heads = static_cast<double>(a.heads) / tp_;
  // KV heads are replicated where TP exceeds them.
  const double kv_heads = std::max(1.0, static_cast<double>(a.kv_heads) / tp_);
  const double qk = a.head_dim, v = v_dim(a), dims = qk + v;
  const auto p = precision("attention");
  gemm("qkv_proj", p, heads * (qk + (a.output_gate ? v : 0)) + kv_heads * dims, h, Rows::tokens,
       count);
  gemm("o_proj", p, h, heads * v, Rows::tokens, count);

  const double kv_bytes = catalog::bytes_per_element(d_.kv_cache);
  const auto decode = kernels_.decode_attention();
  const auto prefill = kernels_.prefill_attention();
  AttentionOp op;
  const std::string suffix = a.kind == AttentionKind::window ? "_window" : "";
  op.decode_label = {"decode_attention" + suffix, decode.efficiency, decode.source};
  op.prefill_label = {"prefill_attention" + suffix, prefill.efficiency, prefill.source};
  op.count = count;
  op.context_class = context_class(a.kind == AttentionKind::window ? a.window : a.sparse_top_k);
  op.prefill_class = op.context_class;
  op.decode_floor = decode.fit.t0;
  op.per_sequence = decode.fit.t_seq * kv_heads;
  op.token_bytes = kv_heads * dims * kv_bytes;
  op.token_flops = 2 * heads * dims;
  op.per_token = op.token_bytes / (decode.base.bandwidth * decode.fit.eb);
  op.prefill_floor = prefill.fit.t0;
  op.q0 = prefill.fit.q0;
  op.pair_flops = 2 * heads * dims;
  auto pair_fit = prefill.fit;
  pair_fit.q0 = 0;  // applied per chunk
  op.per_pair = prefill_attention_seconds(pair_fit, prefill.base, heads, dims, 1, 1, 0);
  op.new_bytes = 2 * heads * dims;                // Q read, output written, 2 bytes
  op.context_bytes = kv_heads * dims * kv_bytes;  // K and V of all tokens
  const double rate = prefill.base.bandwidth * prefill.fit.eb;
  op.per_new = op.new_bytes / rate;
  op.per_context = op.context_bytes / rate;
  if (queries_ > 1) {
    // Several queries of a sequence read its keys once; their math is a prefill's.
    op.token_flops *= queries_;
    op.token_compute_bound = queries_ * op.per_pair > op.per_token;
    op.per_token = std::max(op.per_token, queries_ * op.per_pair);
  }
  attention(op);
  if (a.indexer_heads > 0) indexer(a, count);

  elementwise(4 * heads * qk, count);
  floors(gqa_kernels + (a.qk_norm ? qk_norm_kernels : 0) +
             (a.qk_norm_across_heads && tp_ > 1 ? qk_norm_across_heads_kernels : 0) +
             (p.quantises ? projection_quantisation_kernels : 0),
         count);
}

void Compiler::mla(const catalog::Attention& a, double count) {
  const double h = static_cast<double>(d_.model.hidden);
  const double heads = static_cast<double>(a.heads) / tp_;
  const double nope = a.qk_nope, rope = a.qk_rope, v = v_dim(a), latent = a.kv_lora;
  const auto p = precision("attention");
  // Low-rank projections are replicated over TP, per-head ones divided.
  if (a.q_lora > 0) {
    gemm("qkv_a_proj", p, a.q_lora + latent + rope, h, Rows::tokens, count);
    gemm("q_b_proj", p, heads * (nope + rope), a.q_lora, Rows::tokens, count);
  } else {
    gemm("q_proj", p, heads * (nope + rope), h, Rows::tokens, count);
    gemm("kv_a_proj", p, latent + rope, h, Rows::tokens, count);
  }
  // Prefill expands the latent of new and cached tokens; decode absorbs the expansion into Q and
  // the output, kept in bf16 by the engines.
  gemm("kv_b_proj", p, heads * (nope + v), latent, Rows::prefill_context, count);
  Precision absorbed;
  absorbed.gemm_dtypes = {"bf16"};
  absorbed.activation_bytes = 2 * heads;  // one input row per head
  gemm("absorbed_k", absorbed, heads * latent, nope, Rows::decode, count);
  gemm("absorbed_v", absorbed, heads * v, latent, Rows::decode, count);
  gemm("o_proj", p, h, heads * v, Rows::tokens, count);

  const double kv_bytes = catalog::bytes_per_element(d_.kv_cache);
  const auto decode = kernels_.mla_decode();
  const auto prefill = kernels_.mla_prefill();
  AttentionOp op;
  op.decode_label = {"decode_attention", decode.efficiency, decode.source};
  op.prefill_label = {"prefill_attention", prefill.efficiency, prefill.source};
  op.count = count;
  op.context_class = context_class(a.sparse_top_k);
  op.decode_floor = decode.fit.t0;
  op.per_sequence = decode.fit.c_seq;
  op.token_bytes = (latent + rope) * kv_bytes;
  op.token_flops = 2 * heads * queries_ * (2 * latent + rope);
  op.token_compute_bound = op.token_flops / (decode.base.peak * decode.fit.ec) >
                           op.token_bytes / (decode.base.bandwidth * decode.fit.eb);
  op.per_token = mla_decode_seconds_per_token(decode.fit, decode.base, heads * queries_, latent,
                                              rope, kv_bytes);
  op.prefill_floor = prefill.fit.t0;
  op.pair_flops = 2 * heads * (nope + rope + v);
  op.per_pair = op.pair_flops / (prefill.base.peak * prefill.fit.ec);
  op.new_bytes = 2 * heads * (nope + rope + v);
  op.context_bytes = 2 * heads * (nope + rope + v);  // expanded K and V, read once
  const double rate = prefill.base.bandwidth * prefill.fit.eb;
  op.per_new = op.new_bytes / rate;
  op.per_context = op.context_bytes / rate;
  if (a.sparse_top_k > 0) {
    op.sparse_class = op.context_class;
    op.sparse_pair_flops = op.token_flops / queries_;
    op.sparse_per_pair = op.sparse_pair_flops / (prefill.base.peak * prefill.fit.ec);
  }
  attention(op);
  if (a.indexer_heads > 0) indexer(a, count);

  elementwise(4 * heads * (nope + rope), count);
  floors(mla_kernels + (p.quantises ? projection_quantisation_kernels : 0), count);
}

void Compiler::indexer(const catalog::Attention& a, double count) {
  const double h = static_cast<double>(d_.model.hidden);
  const double dims = a.indexer_dim, heads = a.indexer_heads;
  // Replicated over TP: every rank needs the same choice of keys.
  const auto p = precision("attention");
  gemm("indexer_q", p, heads * dims, a.q_lora > 0 ? a.q_lora : h, Rows::tokens, count);
  gemm("indexer_k", p, dims + heads, h, Rows::tokens, count);
  AttentionOp op;
  const std::string efficiency = "e_c 0.40 of fp8, e_b 0.80";
  op.decode_label = {"indexer_scores", efficiency, "assumed"};
  op.prefill_label = {"indexer_scores_prefill", efficiency, "assumed"};
  op.count = count;
  op.token_bytes = dims + 4;
  op.token_flops = 2 * heads * dims * queries_;
  const double fp8 = d_.gpu.native_peak(catalog::Format::fp8);
  const double peak = indexer_compute_fraction * (fp8 > 0 ? fp8 : kernels_.bf16_peak());
  const double rate = indexer_bandwidth_fraction * kernels_.bandwidth();
  op.token_compute_bound = op.token_flops / peak > op.token_bytes / rate;
  op.per_token = std::max(op.token_flops / peak, op.token_bytes / rate);
  op.pair_flops = op.token_flops / queries_;
  op.per_pair = op.pair_flops / peak;
  op.context_bytes = op.token_bytes;
  op.per_context = op.context_bytes / rate;
  attention(op);
  floors(indexer_kernels, count);
}

void Compiler::state(const std::string& name, double state_bytes, double flops_per_token,
                     double count) {
  StateOp op;
  op.label = {name, "e_b 0.60, e_c 0.30 of bf16", "constant of the form"};
  op.count = count;
  // Read once, and written after each token: rejected drafts go back to the state before them.
  op.sequence_bytes = (1 + queries_) * state_bytes;
  op.per_sequence = op.sequence_bytes / (state_fraction * kernels_.bandwidth());
  op.token_flops = flops_per_token;
  op.per_token = flops_per_token / (linear_prefill_fraction * kernels_.bf16_peak());
  table_.states.push_back(op);
}

void Compiler::linear(const catalog::Attention& a, double count) {
  const double h = static_cast<double>(d_.model.hidden);
  const double keys = static_cast<double>(a.linear_key_heads) * a.linear_key_dim / tp_;
  const double heads = static_cast<double>(a.linear_value_heads) / tp_;
  const double values = heads * a.linear_value_dim;
  const auto p = precision("linear_attention");
  // q, k, v and the output gate; decay and beta of each value head (lightning attention, which has
  // no convolution, has neither).
  const double gates = a.conv_kernel > 0 ? 2 * heads : 0;
  gemm("linear_in_proj", p, 2 * keys + 2 * values + gates, h, Rows::tokens, count);
  gemm("linear_out_proj", p, h, values, Rows::tokens, count);
  const double matrix = static_cast<double>(a.linear_key_dim) * a.linear_value_dim;
  const double convolution = (2 * keys + values) * std::max(0, a.conv_kernel - 1) * 2;
  // Chunked delta rule: state update and read (2 each), products within a chunk of 64.
  const double flops =
      heads * (6 * matrix + 4 * linear_chunk * (a.linear_key_dim + a.linear_value_dim));
  state("linear_attention", heads * matrix * a.state_bytes_per_element + convolution, flops, count);
  elementwise(4 * values, count);
  floors(linear_kernels + (p.quantises ? projection_quantisation_kernels : 0), count);
}

void Compiler::mamba(const catalog::Attention& a, double count) {
  const double h = static_cast<double>(d_.model.hidden);
  const double heads = static_cast<double>(a.heads) / tp_;
  const double inner = heads * a.head_dim;
  // Groups are replicated where TP exceeds them, as KV heads are.
  const double groups = std::max(1.0, static_cast<double>(a.ssm_groups) / tp_) * a.ssm_state;
  const auto p = precision("linear_attention");
  gemm("mamba_in_proj", p, 2 * inner + 2 * groups + heads, h, Rows::tokens, count);
  gemm("mamba_out_proj", p, h, inner, Rows::tokens, count);
  const double matrix = inner * a.ssm_state;
  const double convolution = (inner + 2 * groups) * std::max(0, a.conv_kernel - 1) * 2;
  state("mamba", matrix * a.state_bytes_per_element + convolution,
        6 * matrix + 4 * linear_chunk * (inner + groups), count);
  elementwise(4 * inner, count);
  floors(linear_kernels + (p.quantises ? projection_quantisation_kernels : 0), count);
}

}  // namespace servegrid::roofline
