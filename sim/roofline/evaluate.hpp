// The time of one step from an operator table: one pass, each operator handed to a sink, so that
// the sum and its explanation are the same numbers in the same order. Internal to roofline.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "catalog/engine.hpp"
#include "roofline/operators.hpp"
#include "roofline/step_model.hpp"

namespace servegrid::roofline {

/// Sums over the prefill chunks of a rank for one context class.
struct PrefillSums {
  double pairs = 0, pairs_over_q = 0, context = 0;
};

/// What one rank (of attention-DP) processes in one micro-batch (of PP).
struct Shape {
  double tokens = 0;        // rows of projections: decoding sequences + new tokens
  double decode = 0;        // decoding sequences
  double decode_rows = 0;   // their tokens in the step: several under speculation
  double group_tokens = 0;  // tokens of all ranks: rows of the experts
  double sampled = 0;       // rows of the LM head
  double prefill_tokens = 0, prefill_context = 0, prompts = 0;
  std::array<PrefillSums, max_context_classes> prefill{};
  std::array<double, max_context_classes> context{};  // decode context tokens
  bool holds_prefill = false;
  double host_sequences = 0;  // sequences and prompts the host handles, all micro-batches
};

struct Emitted {
  const Label& label;
  double count, seconds, floor, flops, bytes, fabric_bytes;
  Bound bound;
};

inline const Label& group_label() {
  static const Label l{"group_sync", "", "serving costs: a_N a layer and log2(GPUs)"};
  return l;
}
inline const Label& draft_group_label() {
  static const Label l{"draft_group_sync", "", "serving costs: a_N a layer and log2(GPUs)"};
  return l;
}
inline const Label& layer_label() {
  static const Label l{"layer_fixed", "", "data sheet: achieved.layer_fixed"};
  return l;
}
inline const Label& launch_label() {
  static const Label l{"prefill_launch", "", "serving costs: tlp for 14 kernels"};
  return l;
}
inline const Label& host_label() {
  static const Label l{"host", "", "serving costs: h0 a step, hs a sequence"};
  return l;
}
inline const Label& send_label() {
  static const Label l{"pipeline_send", "", "fabric of the profile"};
  return l;
}

inline double gemm_compute(const GemmOp& g, double m) {
  return gemm_compute_seconds(g.fit, g.base, m, g.n, g.k);
}

inline double gemm_bytes(const GemmOp& g, double m) {
  return g.n * g.k * g.weight_bytes + m * g.k * g.activation_bytes + 2 * m * g.n;
}

inline double gemm_memory(const GemmOp& g, double m) {
  // vLLM's per-tensor FP8 kernel on Hopper reads slowly in this range (fidelity study, dense 5).
  const double slow = g.slow_middle && m > 16 && m <= 48 ? 1.25 : 1.0;
  return gemm_bytes(g, m) * slow / (g.base.bandwidth * g.fit.eb);
}

inline double gemm_rows(const GemmOp& g, const Shape& s) {
  switch (g.rows) {
    case Rows::decode:
      return s.decode_rows;
    case Rows::prefill_context:
      return s.prefill_context;
    case Rows::sampled:
      return s.sampled;
    case Rows::tokens:
      break;
  }
  return s.tokens;
}

inline const GemmMemo::Time& gemm_time(const GemmOp& g, double m) {
  return g.memo.get(m, [&]() -> GemmMemo::Time {
    const double compute = gemm_compute(g, m), memory = gemm_memory(g, m);
    return {m, p_norm(compute, memory, g.fit.p), compute > memory};
  });
}

template <class Sink>
void emit_gemms(const Table& t, const Shape& s, double pf, double alpha, Sink&& sink) {
  for (const auto& g : t.gemms) {
    const double m = gemm_rows(g, s);
    if (m <= 0) continue;
    const GemmMemo::Time& time = gemm_time(g, m);
    const double scale = pf * g.count, floor = scale * alpha * gemm_floor_seconds(g.fit, g.k);
    sink(Emitted{g.label, g.count, scale * time.stream + floor, floor, g.count * 2 * m * g.n * g.k,
                 g.count * gemm_bytes(g, m), 0,
                 time.compute_bound ? Bound::compute : Bound::memory});
  }
}

template <class Sink>
void emit_prefill_attention(const AttentionOp& a, const Shape& s, double pf, double alpha,
                            Sink&& sink) {
  const auto& sums = s.prefill[static_cast<std::size_t>(a.prefill_class)];
  double math = a.per_pair * (sums.pairs + a.q0 * sums.pairs_over_q);
  double flops = a.pair_flops * sums.pairs;
  if (a.sparse_class >= 0) {
    const auto& sparse = s.prefill[static_cast<std::size_t>(a.sparse_class)];
    const double other = a.sparse_per_pair * sparse.pairs;
    if (other < math) {
      math = other;
      flops = a.sparse_pair_flops * sparse.pairs;
    }
  }
  const double memory = a.per_new * s.prefill_tokens + a.per_context * sums.context;
  const double floor = pf * a.count * alpha * a.prefill_floor;
  sink(Emitted{a.prefill_label, a.count, pf * a.count * (math + memory) + floor, floor,
               a.count * flops,
               a.count * (a.new_bytes * s.prefill_tokens + a.context_bytes * sums.context), 0,
               math > memory ? Bound::compute : Bound::memory});
}

template <class Sink>
void emit_attention(const Table& t, const Shape& s, double pf, double alpha, Sink&& sink) {
  for (const auto& a : t.attention) {
    if (s.holds_prefill) emit_prefill_attention(a, s, pf, alpha, sink);
    if (s.decode <= 0) continue;
    const double context = s.context[static_cast<std::size_t>(a.context_class)];
    const double floor = pf * a.count * alpha * a.decode_floor;
    const double seconds = pf * a.count * (a.per_sequence * s.decode + a.per_token * context);
    sink(Emitted{a.decode_label, a.count, seconds + floor, floor, a.count * a.token_flops * context,
                 a.count * a.token_bytes * context, 0,
                 a.token_compute_bound ? Bound::compute : Bound::memory});
  }
  for (const auto& a : t.states) {
    const double sequences = s.decode + s.prompts;
    const double memory = a.per_sequence * sequences, math = a.per_token * s.prefill_tokens;
    sink(Emitted{a.label, a.count, pf * a.count * (memory + math), 0,
                 a.count * a.token_flops * s.prefill_tokens, a.count * a.sequence_bytes * sequences,
                 0, math > memory ? Bound::compute : Bound::memory});
  }
}

template <class Sink>
void emit_experts(const Table& t, const catalog::ServingCosts& c, const Shape& s, double pf,
                  Sink&& sink) {
  for (const auto& e : t.moes) {
    const double pairs = s.group_tokens * e.pairs_per_token * t.imbalance;
    const double touched =
        std::min(pairs, e.local_experts *
                            (1 - untouched_share(e.used_share, c.routing_skew, s.group_tokens)));
    const double weights = touched * e.matrices * e.hidden * e.inter * e.weight_bytes;
    const double moved = pairs * (4 * e.hidden + 2 * e.matrices * e.inter);
    const double flops = 2 * e.matrices * e.hidden * e.inter * pairs;
    const double stream =
        moe_seconds(e.fit, e.base, pairs, touched, e.hidden, e.inter, e.weight_bytes, e.matrices);
    const double math = 2 * e.matrices * e.hidden * e.inter * (pairs + e.fit.pad * touched) /
                        (e.base.peak * e.fit.ec);
    const double floor = pf * e.count * c.alpha * e.fit.t0;
    sink(Emitted{e.label, e.count, pf * e.count * stream + floor, floor, e.count * flops,
                 e.count * (weights + moved), 0,
                 math > weights / (e.base.bandwidth * e.fit.eb) ? Bound::compute : Bound::memory});
  }
}

template <class Sink>
void emit_collectives(const Table& t, const Shape& s, double pf, Sink&& sink) {
  if (t.all_reduces > 0 || t.latency_all_reduces > 0) {
    const double bytes = t.all_reduce_bytes * s.tokens;
    const double seconds = t.all_reduces * all_reduce_seconds(t.all_reduce_fit, bytes) +
                           t.latency_all_reduces * t.all_reduce_fit.a;
    const double sent = t.all_reduces * bytes * 2 * (t.tp - 1) / t.tp;
    sink(Emitted{t.all_reduce, t.all_reduces + t.latency_all_reduces, pf * seconds,
                 pf * (t.all_reduces + t.latency_all_reduces) * t.all_reduce_fit.a, 0, 0, sent,
                 Bound::fabric});
  }
  if (t.all_to_alls > 0) {
    const double latency = t.all_to_alls * t.all_to_all_channel.latency;
    const double bytes = t.all_to_all_bytes * s.tokens * t.imbalance;
    sink(Emitted{t.all_to_all, t.all_to_alls,
                 pf * (latency + bytes / t.all_to_all_channel.bandwidth), pf * latency, 0, 0, bytes,
                 Bound::fabric});
  }
  for (const auto& x : t.exchanges) {
    const double bytes = x.bytes * (x.of_group ? s.group_tokens : s.tokens * t.imbalance);
    const double latency = pf * x.count * x.channel.latency;
    sink(Emitted{x.label, x.count, latency + pf * x.count * bytes / x.channel.bandwidth, latency, 0,
                 0, x.count * bytes, Bound::fabric});
  }
  if (t.sends > 0) {
    const double bytes = t.send_bytes * s.tokens;
    sink(Emitted{send_label(), t.sends, pf * t.sends * t.send_channel.seconds(bytes),
                 pf * t.sends * t.send_channel.latency, 0, 0, t.sends * bytes, Bound::fabric});
  }
}

/// Fixed costs of a step: elementwise floors, group, launches, host.
template <class Sink>
void emit_fixed(const Table& t, const catalog::ServingCosts& c, const Shape& s, double pf,
                Sink&& sink) {
  constexpr double elementwise_floor = 2e-6;  // [s] a norm, rotary, activation, quantisation kernel
  const bool data_sheet = t.fixed_layers > 0;
  const double floor = data_sheet ? 0 : c.alpha * elementwise_floor * t.elementwise_kernels;
  sink(Emitted{t.elementwise, t.elementwise_kernels,
               pf * t.elementwise_per_token * s.tokens + floor, floor, 0,
               t.elementwise_bytes * s.tokens, 0, Bound::memory});
  const auto constant = [&](const Label& label, double count, double seconds, Bound bound) {
    if (seconds > 0) sink(Emitted{label, count, seconds, seconds, 0, 0, 0, bound});
  };
  if (data_sheet) {
    constant(layer_label(), t.layers, t.fixed_layers * t.layer_fixed, Bound::latency);
  } else {
    constant(t.draft ? draft_group_label() : group_label(), t.layers,
             t.layers * c.group_per_layer * std::log2(static_cast<double>(t.tp * t.dp)),
             Bound::latency);
  }
  if (t.draft) return;
  if (s.holds_prefill) {
    constexpr double kernels_of_a_layer = 14;  // tlp is for so many
    constant(launch_label(), t.kernels, t.kernels / kernels_of_a_layer * c.prefill_per_layer,
             Bound::host);
  }
  constant(host_label(), 1, t.pp * c.per_step + c.per_sequence * s.host_sequences, Bound::host);
}

template <class Sink>
void evaluate(const Table& t, const catalog::ServingCosts& c, const Shape& s, Sink&& sink) {
  const double pf = s.holds_prefill ? c.prefill_factor : 1.0;
  emit_gemms(t, s, pf, c.alpha, sink);
  emit_attention(t, s, pf, c.alpha, sink);
  emit_experts(t, c, s, pf, sink);
  emit_collectives(t, s, pf, sink);
  emit_fixed(t, c, s, pf, sink);
}

}  // namespace servegrid::roofline
