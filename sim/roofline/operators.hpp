// A deployment compiled to a table: each operator of a step with its shape, its fitted kernel and
// how often it runs. Equal operators of different layers are one entry.
#pragma once

#include <string>
#include <vector>

#include "catalog/model.hpp"
#include "model/deployment.hpp"
#include "roofline/collectives.hpp"
#include "roofline/fits.hpp"
#include "roofline/gemm_memo.hpp"
#include "roofline/kernel_forms.hpp"

namespace servegrid::roofline {

struct Label {
  std::string name, efficiency, source;
};

/// What the M of a GEMM counts.
enum class Rows { tokens, decode, prefill_context, sampled };

struct GemmOp {
  Label label;
  double count = 0;  // times in a step (layers x pipeline rounding)
  Rows rows = Rows::tokens;
  double n = 0, k = 0;  // per GPU
  double weight_bytes = 2, activation_bytes = 2;
  GemmFit fit;
  KernelBase base;
  bool slow_middle = false;  // memory term x 1.25 for 16 < M <= 48
  mutable GemmMemo memo;
};

/// Attention of one kind of layer. Decode: floor + sequences * per_sequence + context * per_token;
/// prefill: floor + pairs, new tokens and context tokens, each at a rate.
struct AttentionOp {
  Label decode_label, prefill_label;
  double count = 0;
  int context_class = 0;
  double decode_floor = 0, per_sequence = 0, per_token = 0;  // [s]
  double token_flops = 0, token_bytes = 0;
  bool token_compute_bound = false;
  double prefill_floor = 0, per_pair = 0, q0 = 0, per_new = 0, per_context = 0;  // [s], q0 [tokens]
  double pair_flops = 0, new_bytes = 0, context_bytes = 0;
  int prefill_class = 0;
  // Sparse attention: another way to compute the same prefill over fewer pairs; the cheaper is run.
  int sparse_class = -1;
  double sparse_per_pair = 0, sparse_pair_flops = 0;
};

/// Constant-size state of linear attention and Mamba layers.
struct StateOp {
  Label label;
  double count = 0;
  double per_sequence = 0, sequence_bytes = 0;  // read + write, each step and prefill chunk
  double per_token = 0, token_flops = 0;        // prefill only
};

struct MoeOp {
  Label label;
  double count = 0;
  MoeFit fit;
  KernelBase base;
  double hidden = 0, inter = 0, weight_bytes = 2, matrices = 3;
  double local_experts = 0, used_share = 0;  // k/E
  double pairs_per_token = 0;                // k / EP
};

/// Tokens on their way to experts or back, through a backend that was asked for.
struct Exchange {
  Label label;
  double count = 0;
  double bytes = 0;       // a token and time
  bool of_group = false;  // tokens of all ranks; else of one
  Channel channel;
};

struct Table {
  std::vector<GemmOp> gemms;
  std::vector<AttentionOp> attention;
  std::vector<StateOp> states;
  std::vector<MoeOp> moes;
  // Norms, rotary, activations, quantisation, KV writes.
  Label elementwise;
  double elementwise_per_token = 0, elementwise_bytes = 0;  // [s], [B], all layers
  double elementwise_kernels = 0;                           // count of D2
  Label all_reduce;
  double all_reduces = 0, latency_all_reduces = 0, all_reduce_bytes = 0;  // per token
  AllReduceFit all_reduce_fit;
  Label all_to_all;
  double all_to_alls = 0, all_to_all_bytes = 0;  // per token of a rank
  Channel all_to_all_channel;
  std::vector<Exchange> exchanges;
  double imbalance = 1;  // pairs of the busiest expert rank over the mean
  double sends = 0, send_bytes = 0;
  Channel send_channel;

  std::vector<std::int64_t> windows;  // of context classes 1..
  double layers = 0;                  // x pipeline rounding
  double kernels = 0;                 // launched one by one in a step that holds prefill
  double fixed_layers = 0;            // layers without kernel floors: pay layer_fixed each
  double layer_fixed = 0;             // [s]
  int tp = 1, dp = 1, pp = 1;
  bool draft = false;  // of a draft pass: no work of the host
  Trust trust = Trust::measured;
};

/// Throws InputError when the model has more distinct windows than context classes.
Table compile(const model::Deployment& d, const Fits& fits);
/// One pass of what drafts for the deployment; `target` is its own table.
Table compile_draft(const model::Deployment& d, const Fits& fits, const Table& target);

}  // namespace servegrid::roofline
