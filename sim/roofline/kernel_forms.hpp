// The closed forms of kernel time that the step model evaluates and `servegrid calibrate` fits:
// one piece of code, so that a fitted number means the same in both. Forms and their errors:
// docs/calibration.md.
#pragma once

#include <math.h>  // lgamma_r: std::lgamma writes a global

#include <algorithm>
#include <cmath>

namespace servegrid::roofline {

/// What efficiencies are relative to: data-sheet values of the GPU.
struct KernelBase {
  double bandwidth = 0;   // [B/s]
  double peak = 0;        // [FLOP/s] of the arithmetic that the kernel runs in
  double processors = 1;  // SMs or CUs
};

/// (x^p + y^p)^(1/p) of non-negative x and y without overflow; p = 3 without pow.
inline double p_norm(double x, double y, double p) {
  const double high = std::max(x, y);
  if (high <= 0) return 0;
  const double ratio = std::min(x, y) / high;
  if (p == 3.0) return high * std::cbrt(1 + ratio * ratio * ratio);
  return high * std::pow(1 + std::pow(ratio, p), 1 / p);
}

/// GEMM M x K x N: t0 + tk K + p-norm(tiled compute, bytes). tk: a tile walks K in sequence, and
/// the pipeline's fill and latency show in each stage; without it the bandwidth efficiency takes
/// the blame (NVFP4 on B200: 0.53 instead of 0.90).
struct GemmFit {
  double t0 = 0;   // [s]
  double ec = 1;   // of the peak
  double eb = 1;   // of the bandwidth
  double p = 3;    // sharpness of the maximum, 1 (sum) .. 8 (nearly hard)
  double w = 0;    // 0: fractional waves of tiles, 1: whole waves
  double pad = 0;  // every GEMM costs as if it had so many more rows
  double tk = 0;   // [s] per element of K
};

/// Rows of a GEMM tile: the smallest of 16, 32, 64, 128 that holds all rows, 128 above.
inline double tile_rows(double m) {
  return m <= 16 ? 16 : m <= 32 ? 32 : m <= 64 ? 64 : 128;
}

/// Seconds of compute alone of an M x K x N GEMM at `ec` of the peak, in tiles of tile_rows x 128.
inline double gemm_compute_seconds(const GemmFit& f, const KernelBase& base, double m, double n,
                                   double k) {
  m += f.pad;
  const double rows = tile_rows(m);
  const double tiles = std::ceil(m / rows) * std::ceil(n / 128);
  const double waves =
      f.w * std::ceil(tiles / base.processors) + (1 - f.w) * tiles / base.processors;
  return waves * base.processors * 2 * rows * 128 * k / (base.peak * f.ec);
}

/// The part that no row count changes: launch and the walk over K.
inline double gemm_floor_seconds(const GemmFit& f, double k) {
  return f.t0 + f.tk * k;
}

/// Seconds without that floor. `weight_bytes` and `activation_bytes` are bytes per element with
/// scales; the output is 2 bytes an element.
inline double gemm_streaming_seconds(const GemmFit& f, const KernelBase& base, double m, double n,
                                     double k, double weight_bytes, double activation_bytes) {
  const double bytes = n * k * weight_bytes + m * k * activation_bytes + 2 * m * n;
  return p_norm(gemm_compute_seconds(f, base, m, n, k), bytes / (base.bandwidth * f.eb), f.p);
}

/// Attention of a prefill: t0 + FLOPs (1 + q0/q) + bytes.
struct PrefillAttentionFit {
  double t0 = 0;  // [s]
  double ec = 1;  // of the bf16 peak, also where the arithmetic is FP8
  double q0 = 0;  // [tokens] inefficiency of short prompts
  double eb = 1;  // of the bandwidth
};

/// Dimensions of a head whose matrix products take as long as the exponentials of the softmax: 16 a
/// clock and processor on every GPU since 2017 (CUDA programming guide, arithmetic throughput), the
/// clock taken as 1.8 GHz. About 22 on L40S, 65 on H100, 130 on B200: there small heads are slower.
inline double softmax_dims(const KernelBase& base) {
  constexpr double exponentials = 16 * 1.8e9, flops_per_dim = 4;
  return base.peak / base.processors / (exponentials * flops_per_dim);
}

/// Seconds without t0 of one sequence: `q` new tokens over `cached` ones; `pairs` is the number of
/// (query, key) pairs attended, q (cached + q/2) without a window; `dims` is head_dim of QK plus
/// that of V; `bytes` all that is read and written. `ec` holds for heads of 128.
inline double prefill_attention_seconds(const PrefillAttentionFit& f, const KernelBase& base,
                                        double heads, double dims, double q, double pairs,
                                        double bytes) {
  const double softmax = 2 * softmax_dims(base);
  const double flops = 2 * heads * pairs * (dims + softmax) * 256 / (256 + softmax);
  return flops * (1 + f.q0 / std::max(q, 1.0)) / (base.peak * f.ec) +
         bytes / (base.bandwidth * f.eb);
}

/// (query, key) pairs of `q` new tokens over `cached` ones under a window (0 = none).
inline double attended_pairs(double q, double cached, double window) {
  const double all = q * (cached + q / 2);
  if (window <= 0 || cached + q <= window) return all;
  const double growing = std::max(0.0, window - cached);  // queries that still see all keys
  return growing * (cached + growing / 2) + (q - growing) * window;
}

/// Bytes that a prefill of one sequence reads and writes: KV of all tokens, queries and outputs.
inline double prefill_attention_bytes(double heads, double kv_heads, double dims, double q,
                                      double cached, double kv_bytes) {
  return (cached + q) * kv_heads * dims * kv_bytes + 2 * q * heads * dims;
}

/// Attention of decoding, affine in the context: t0 + t_seq * sequences * kv_heads + bytes.
struct DecodeAttentionFit {
  double t0 = 0;     // [s]
  double t_seq = 0;  // [s] per sequence and KV head on the GPU
  double eb = 1;     // of the bandwidth
};

/// Seconds per token of context: K and V of the KV heads on the GPU over the bandwidth.
inline double decode_attention_seconds_per_token(const DecodeAttentionFit& f,
                                                 const KernelBase& base, double kv_heads,
                                                 double dims, double kv_bytes) {
  return kv_heads * dims * kv_bytes / (base.bandwidth * f.eb);
}

/// MLA decoding, absorbed form: t0 + c_seq n + p-norm3(bytes, FLOPs), both proportional to the
/// context: affine too.
struct MlaDecodeFit {
  double t0 = 0;     // [s]
  double eb = 1;     // of the bandwidth
  double ec = 1;     // of the bf16 peak
  double c_seq = 0;  // [s] per sequence
};

/// Seconds per token of context: `heads` on the GPU, `latent` = kv_lora, `rope` = rotary part.
inline double mla_decode_seconds_per_token(const MlaDecodeFit& f, const KernelBase& base,
                                           double heads, double latent, double rope,
                                           double kv_bytes) {
  return p_norm(2 * heads * (2 * latent + rope) / (base.peak * f.ec),
                (latent + rope) * kv_bytes / (base.bandwidth * f.eb), 3);
}

/// MLA prefill, expanded form: t0 + FLOPs + bytes.
struct MlaPrefillFit {
  double t0 = 0;  // [s]
  double ec = 1;  // of the bf16 peak
  double eb = 1;  // of the bandwidth
};

/// Seconds without t0: FLOPs are 2 heads (qk_dim + v_dim) pairs, bytes those of Q, K, V and output.
inline double mla_prefill_seconds(const MlaPrefillFit& f, const KernelBase& base, double flops,
                                  double bytes) {
  return flops / (base.peak * f.ec) + bytes / (base.bandwidth * f.eb);
}

/// Experts of one layer on one rank: t0 + p-norm3(weights of touched experts, FLOPs) + activations.
struct MoeFit {
  double t0 = 0;   // [s]
  double eb = 1;   // of the bandwidth, weights
  double ec = 1;   // of the peak
  double pad = 0;  // [tokens] that every touched expert costs on top of its own
  double ea = 1;   // of the bandwidth, activations (permute, quantise, combine)
};

/// Seconds without t0. `tokens`: (token, expert) pairs on the rank; `touched`: experts with any;
/// `matrices`: 3 with a gate, 2 without.
inline double moe_seconds(const MoeFit& f, const KernelBase& base, double tokens, double touched,
                          double hidden, double inter, double weight_bytes, double matrices = 3) {
  const double memory =
      touched * matrices * hidden * inter * weight_bytes / (base.bandwidth * f.eb);
  const double compute =
      2 * matrices * hidden * inter * (tokens + f.pad * touched) / (base.peak * f.ec);
  const double activations = tokens * (4 * hidden + 2 * matrices * inter);
  return p_norm(memory, compute, 3) + activations / (base.bandwidth * f.ea);
}

/// Share of the experts that `tokens` tokens leave untouched. A token uses an expert with a
/// probability that varies between experts as Beta(shape, ..) with mean `used`: few are popular
/// when `shape` is small, all alike when it is large. Exact for one token whatever the shape.
inline double untouched_share(double used, double shape, double tokens) {
  if (tokens <= 0) return 1;
  if (used >= 1) return 0;
  const double other = shape * (1 - used) / used;
  int sign = 0;
  return std::exp(::lgamma_r(other + tokens, &sign) - ::lgamma_r(other, &sign) +
                  ::lgamma_r(shape + other, &sign) - ::lgamma_r(shape + other + tokens, &sign));
}

/// All-reduce of `bytes` in the group: the better of a one-shot and a two-shot algorithm.
struct AllReduceFit {
  double a = 0;   // [s]
  double b1 = 1;  // [B/s] of message, one-shot
  double a2 = 0;  // [s] more
  double b2 = 1;  // [B/s] of message, two-shot
};

inline double all_reduce_seconds(const AllReduceFit& f, double bytes) {
  return std::min(f.a + bytes / f.b1, f.a + f.a2 + bytes / f.b2);
}

}  // namespace servegrid::roofline
