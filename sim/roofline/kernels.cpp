#include "roofline/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "roofline/collectives.hpp"

namespace servegrid::roofline {

namespace {

// Data-sheet fall-backs relative to achieved.gemm (large GEMM): flash attention reaches about 0.85
// of what a GEMM does, grouped expert GEMMs 0.7 with a pad of 60 tokens, MLA decode 0.8; activation
// traffic 0.35 of the bandwidth. Typical of the fitted GPUs; guesses where there is no fit.
constexpr double attention_of_gemm = 0.85, moe_of_gemm = 0.7, moe_pad = 60, moe_activations = 0.35,
                 mla_of_gemm = 0.8;
constexpr double sequence_overhead = 20e-9;  // [s] per sequence and KV head

double micro(double seconds) {
  return 1e6 * seconds;
}

}  // namespace

ChosenFit Kernels::choose(const std::string& op, const std::vector<std::string>& dtypes,
                          const KernelWanted& wanted) {
  ChosenFit c = fits_.find(op, dtypes, wanted);
  trust_ = std::max(trust_, c.trust);
  return c;
}

KernelBase Kernels::base(catalog::Format compute) const {
  double peak = fits_.peak(compute);
  if (peak <= 0) peak = bf16_peak();
  return {bandwidth(), peak, static_cast<double>(std::max(1, d_.gpu.compute_units))};
}

Kernel<GemmFit> Kernels::gemm(const Precision& p) {
  const auto c = choose("gemm", p.gemm_dtypes);
  Kernel<GemmFit> k;
  k.source = c.source;
  if (c.trust == Trust::data_sheet) {
    gemm_from_data_sheet_ = true;
    k.fit = {0, d_.gpu.achieved.gemm, d_.gpu.achieved.bandwidth, 3, 0, 0, 0};
    k.base = base(p.compute);
  } else {
    k.fit = {c.fit.t0, c.fit.ec, c.fit.eb, c.fit.p, c.fit.w, c.fit.pad, c.fit.tk};
    k.base = base(compute_of_dtype(c.fit.dtype) == catalog::Format::bf16 ? catalog::Format::bf16
                                                                         : p.compute);
  }
  k.efficiency =
      fmt::format("e_c {:.2f}, e_b {:.2f}, t0 {:.1f} us", k.fit.ec, k.fit.eb, micro(k.fit.t0));
  return k;
}

Kernel<MoeFit> Kernels::moe(const Precision& p, bool gated) {
  const std::string backend = d_.moe_backend == "auto" ? std::string() : d_.moe_backend;
  const auto c = choose("moe", p.moe_dtypes, {0, gated, backend});
  Kernel<MoeFit> k;
  k.source = c.source;
  if (c.trust == Trust::data_sheet) {
    const auto& a = d_.gpu.achieved;
    k.fit = {0, a.bandwidth, a.gemm * moe_of_gemm, moe_pad, moe_activations};
    k.base = base(p.compute);
  } else {
    k.fit = {c.fit.t0, c.fit.eb, c.fit.ec, c.fit.pad, c.fit.ea};
    const auto compute = compute_of_dtype(c.fit.dtype);
    k.base = base(compute == catalog::Format::nvfp4 ? p.compute : compute);
  }
  k.efficiency = fmt::format("e_c {:.2f}, e_b {:.2f}, e_a {:.2f}, pad {:.0f}, t0 {:.1f} us",
                             k.fit.ec, k.fit.eb, k.fit.ea, k.fit.pad, micro(k.fit.t0));
  return k;
}

Kernel<PrefillAttentionFit> Kernels::prefill_attention() {
  const auto c = choose("prefill_attention", kv_dtypes(d_.kv_cache));
  Kernel<PrefillAttentionFit> k{{}, base(catalog::Format::bf16), {}, c.source};
  const auto& a = d_.gpu.achieved;
  k.fit = c.trust == Trust::data_sheet
              ? PrefillAttentionFit{0, a.gemm * attention_of_gemm, 0, a.bandwidth}
              : PrefillAttentionFit{c.fit.t0, c.fit.ec, c.fit.q0, c.fit.eb};
  k.efficiency = fmt::format("e_c {:.2f} of bf16, q0 {:.0f}, e_b {:.2f}, t0 {:.1f} us", k.fit.ec,
                             k.fit.q0, k.fit.eb, micro(k.fit.t0));
  return k;
}

Kernel<DecodeAttentionFit> Kernels::decode_attention() {
  const auto c = choose("decode_attention", kv_dtypes(d_.kv_cache));
  Kernel<DecodeAttentionFit> k{{}, base(catalog::Format::bf16), {}, c.source};
  k.fit = c.trust == Trust::data_sheet
              ? DecodeAttentionFit{0, sequence_overhead, d_.gpu.achieved.bandwidth}
              : DecodeAttentionFit{c.fit.t0, c.fit.t_seq, c.fit.eb};
  k.efficiency = fmt::format("e_b {:.2f}, {:.0f} ns a sequence and KV head, t0 {:.1f} us", k.fit.eb,
                             1e9 * k.fit.t_seq, micro(k.fit.t0));
  return k;
}

Kernel<MlaPrefillFit> Kernels::mla_prefill() {
  const auto c = choose("mla_prefill", kv_dtypes(d_.kv_cache));
  Kernel<MlaPrefillFit> k{{}, base(catalog::Format::bf16), {}, c.source};
  const auto& a = d_.gpu.achieved;
  k.fit = c.trust == Trust::data_sheet ? MlaPrefillFit{0, a.gemm * attention_of_gemm, a.bandwidth}
                                       : MlaPrefillFit{c.fit.t0, c.fit.ec, c.fit.eb};
  k.efficiency = fmt::format("e_c {:.2f} of bf16, e_b {:.2f}, t0 {:.1f} us", k.fit.ec, k.fit.eb,
                             micro(k.fit.t0));
  return k;
}

Kernel<MlaDecodeFit> Kernels::mla_decode() {
  const auto c = choose("mla_decode", kv_dtypes(d_.kv_cache));
  Kernel<MlaDecodeFit> k{{}, base(catalog::Format::bf16), {}, c.source};
  const auto& a = d_.gpu.achieved;
  k.fit = c.trust == Trust::data_sheet
              ? MlaDecodeFit{0, a.bandwidth, a.gemm * mla_of_gemm, sequence_overhead}
              : MlaDecodeFit{c.fit.t0, c.fit.eb, c.fit.ec, c.fit.c_seq};
  k.efficiency = fmt::format("e_c {:.2f} of bf16, e_b {:.2f}, {:.0f} ns a sequence, t0 {:.1f} us",
                             k.fit.ec, k.fit.eb, 1e9 * k.fit.c_seq, micro(k.fit.t0));
  return k;
}

Kernel<AllReduceFit> Kernels::all_reduce(int gpus) {
  // A relative's latencies and rates belong to its fabric, not to this one: only own fits count.
  const bool usable = !fits_.inherited() && !d_.gpu.fabric.derived && gpus <= d_.gpu.fabric.domain;
  ChosenFit c;
  if (usable) c = fits_.find("all_reduce", {""}, {gpus, true, {}});
  trust_ = std::max(trust_, c.trust);
  Kernel<AllReduceFit> k;
  if (c.trust == Trust::data_sheet) {
    k.fit = derived_all_reduce(d_.gpu, gpus);
    k.source = (d_.gpu.fabric.derived ? "flows over " : "topology of ") + d_.gpu.fabric.name +
               ", achieved fractions of " + d_.gpu.name;
  } else {
    k.fit = {c.fit.a, c.fit.b1, c.fit.a2, c.fit.b2};
    k.source = c.source;
  }
  k.efficiency = fmt::format("{:.1f} us, {:.0f} GB/s; or {:.1f} us, {:.0f} GB/s", micro(k.fit.a),
                             1e-9 * k.fit.b1, micro(k.fit.a + k.fit.a2), 1e-9 * k.fit.b2);
  return k;
}

}  // namespace servegrid::roofline
