#include "roofline/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "roofline/compiler.hpp"
#include "units/error.hpp"

namespace servegrid::roofline {

using catalog::AttentionKind;

namespace {

// Norms, rotary, activations reach this share of the bandwidth; state of linear attention that one
// (fidelity studies: dense 2, MoE 5).
constexpr double elementwise_fraction = 0.75;

bool same_shape(const GemmOp& a, const GemmOp& b) {
  return a.label.name == b.label.name && a.rows == b.rows && a.n == b.n && a.k == b.k &&
         a.weight_bytes == b.weight_bytes && a.fit.t0 == b.fit.t0 && a.fit.ec == b.fit.ec &&
         a.label.source == b.label.source;
}

// Grouped experts are some eight kernels: routing, sorting, two products, activation, combination.
double launched_kernels(const Table& t) {
  constexpr double per_attention = 2, per_experts = 8;
  double n = t.elementwise_kernels + t.all_reduces;
  for (const auto& g : t.gemms) n += g.count;
  for (const auto& a : t.attention) n += per_attention * a.count;
  for (const auto& e : t.moes) n += per_experts * e.count;
  return n;
}

bool present(const catalog::Attention& a) {
  return a.heads > 0 || a.linear_value_heads > 0;
}

}  // namespace

Compiler::Compiler(const model::Deployment& d, const Fits& fits)
    : d_(d),
      kernels_(d, fits),
      tp_(d.parallel.tp),
      queries_(static_cast<double>(d.speculation.verified)) {
  table_.tp = d.parallel.tp;
  table_.dp = d.parallel.dp;
  table_.imbalance = d.parallel.expert_imbalance;
  table_.pp = d.parallel.pp;
  const int depth = d.model.depth();
  // The slowest stage sets the pace: a depth that pp does not divide costs whole layers.
  stage_rounding_ = std::ceil(static_cast<double>(depth) / table_.pp) * table_.pp / depth;
}

Precision Compiler::precision(const std::string& part) const {
  return precision_of(d_, part);
}

void Compiler::gemm(const std::string& name, const Precision& p, double n, double k, Rows rows,
                    double count) {
  if (n <= 0 || k <= 0) return;
  const auto kernel = kernels_.gemm(p);
  GemmOp op;
  op.label = {name, kernel.efficiency, kernel.source};
  op.count = count;
  op.rows = rows;
  op.n = n;
  op.k = k;
  op.weight_bytes = p.weight_bytes;
  op.activation_bytes = p.activation_bytes;
  op.fit = kernel.fit;
  op.base = kernel.base;
  op.slow_middle =
      d_.engine == "vllm" && d_.gpu.architecture == "Hopper" && p.storage == catalog::Format::fp8;
  for (auto& other : table_.gemms) {
    if (same_shape(other, op)) {
      other.count += count;
      return;
    }
  }
  table_.gemms.push_back(std::move(op));
}

int Compiler::context_class(std::int64_t window) const {
  const auto& w = table_.windows;
  return window == 0 ? 0 : 1 + static_cast<int>(std::find(w.begin(), w.end(), window) - w.begin());
}

void Compiler::collect_windows() {
  auto& w = table_.windows;
  for (const auto& g : d_.model.layers) {
    const auto& a = g.attention;
    for (const std::int64_t window :
         {a.kind == AttentionKind::window ? a.window : 0, a.sparse_top_k}) {
      if (window > 0 && std::find(w.begin(), w.end(), window) == w.end()) w.push_back(window);
    }
  }
  std::sort(w.begin(), w.end());
  if (w.size() + 1 > max_context_classes) {
    throw InputError(fmt::format("model {} has {} different windows (sliding or sparse top-k); the "
                                 "step model holds {}",
                                 d_.model.name, w.size(), max_context_classes - 1),
                     {d_.model.file, 0, 0});
  }
}

void Compiler::elementwise(double bytes_per_token, double count) {
  table_.elementwise_bytes += bytes_per_token * count;
}

void Compiler::floors(double kernels, double count) {
  table_.elementwise_kernels += kernels * count;
}

void Compiler::mlp(const catalog::Mlp& m, double count) {
  const double h = static_cast<double>(d_.model.hidden);
  const double matrices = m.gated ? 2 : 1;
  if (m.intermediate > 0) {
    const auto p = precision("dense_mlp");
    const double inter = static_cast<double>(m.intermediate) / tp_;
    gemm("mlp_up", p, matrices * inter, h, Rows::tokens, count);
    gemm("mlp_down", p, h, inter, Rows::tokens, count);
    elementwise(6 * inter, count);
    floors(p.quantises ? 4 : 2, count);
  }
  if (m.experts > 0) experts(m, count);
  if (m.shared_intermediate > 0) {
    const auto p = precision("shared_experts");
    const double inter = static_cast<double>(m.shared_intermediate) / tp_;
    gemm("shared_up", p, matrices * inter, h, Rows::tokens, count);
    gemm("shared_down", p, h, inter, Rows::tokens, count);
    floors(p.quantises ? 3 : 2, count);
  }
}

void Compiler::experts(const catalog::Mlp& m, double count) {
  const double h = static_cast<double>(d_.model.hidden);
  const int group = tp_ * table_.dp;
  const int ep = std::max(1, d_.parallel.ep);
  const auto p = precision("experts");
  const auto kernel = kernels_.moe(p, m.gated);
  MoeOp op;
  op.label = {"moe_experts", kernel.efficiency, kernel.source};
  op.count = count;
  op.fit = kernel.fit;
  op.base = kernel.base;
  op.hidden = m.moe_latent > 0 ? static_cast<double>(m.moe_latent) : h;
  op.inter = static_cast<double>(m.moe_intermediate) * ep / group;
  op.weight_bytes = p.weight_bytes;
  op.matrices = m.gated ? 3 : 2;
  op.local_experts = static_cast<double>(m.experts) / ep;
  op.used_share = static_cast<double>(m.active_experts) / m.experts;
  op.pairs_per_token = static_cast<double>(m.active_experts) / ep;
  const auto same = [&](const MoeOp& o) {
    return o.hidden == op.hidden && o.inter == op.inter && o.weight_bytes == op.weight_bytes &&
           o.matrices == op.matrices && o.local_experts == op.local_experts &&
           o.pairs_per_token == op.pairs_per_token;
  };
  auto& moes = table_.moes;
  const auto it = std::find_if(moes.begin(), moes.end(), same);
  if (it != moes.end()) {
    it->count += count;
  } else {
    moes.push_back(op);
  }
  gemm("router", precision("router"), m.experts, h, Rows::tokens, count);
  floors(1, count);
  if (m.moe_latent > 0) {
    const auto shared = precision("shared_experts");
    gemm("moe_latent_down", shared, op.hidden, h, Rows::tokens, count);
    gemm("moe_latent_up", shared, h, op.hidden, Rows::tokens, count);
  }
}

void Compiler::communication(const catalog::LayerGroup& g, double count) {
  const double h = static_cast<double>(d_.model.hidden);
  const bool moe = g.mlp.experts > 0;
  const int group = tp_ * table_.dp;
  if (tp_ > 1) {
    const bool mlp_reduces =
        g.mlp.intermediate > 0 || g.mlp.shared_intermediate > 0 || (moe && table_.dp == 1);
    table_.all_reduces += count * ((present(g.attention) ? 1 : 0) + (mlp_reduces ? 1 : 0));
    // Two more reductions, of latency only.
    if (g.attention.qk_norm_across_heads) table_.latency_all_reduces += 2 * count;
  }
  if (moe && table_.dp > 1 && d_.all_to_all != catalog::AllToAll::automatic) {
    exchange(g.mlp, count);
  } else if (moe && table_.dp > 1) {
    // Dispatch and combine: a rank's tokens go to at most k expert groups, all ranks of each.
    const int ep = std::max(1, d_.parallel.ep);
    const double copies =
        std::min<double>(group, std::min(g.mlp.active_experts, ep) * (group / ep));
    table_.all_to_alls += 2 * count;
    table_.all_to_all_bytes += 2 * count * h * 2 * copies;
  }
}

void Compiler::layer_group(const catalog::LayerGroup& g) {
  const double count = g.count * stage_rounding_;
  table_.layers += count;
  const auto& a = g.attention;
  if (present(a)) {
    elementwise(16.0 * static_cast<double>(d_.model.hidden), count);
    switch (a.kind) {
      case AttentionKind::mla:
        mla(a, count);
        break;
      case AttentionKind::linear:
        linear(a, count);
        break;
      case AttentionKind::mamba:
        mamba(a, count);
        break;
      default:
        full(a, count);
        break;
    }
  } else {
    elementwise(8.0 * static_cast<double>(d_.model.hidden), count);
  }
  mlp(g.mlp, count);
  communication(g, count);
}

Table Compiler::run() {
  collect_windows();
  return tabulate();
}

Table Compiler::tabulate() {
  for (const auto& g : d_.model.layers) layer_group(g);
  const double h = static_cast<double>(d_.model.hidden);
  gemm("lm_head", precision("head"), std::ceil(static_cast<double>(d_.model.vocab) / tp_), h,
       Rows::sampled, table_.pp);
  table_.elementwise_per_token =
      table_.elementwise_bytes / (kernels_.bandwidth() * elementwise_fraction);
  table_.elementwise = {"elementwise", fmt::format("e_b {:.2f}", elementwise_fraction),
                        "constant of the form"};
  if (tp_ > 1) {
    const auto k = kernels_.all_reduce(tp_);
    table_.all_reduce = {"all_reduce", k.efficiency, k.source};
    table_.all_reduce_fit = k.fit;
    table_.all_reduce_bytes = 2 * h;
  }
  if (table_.all_to_alls > 0) {
    table_.all_to_all_channel = all_to_all(d_.gpu, tp_ * table_.dp);
    table_.all_to_all = {
        "all_to_all",
        fmt::format("{:.0f} us, {:.0f} GB/s", 1e6 * table_.all_to_all_channel.latency,
                    1e-9 * table_.all_to_all_channel.bandwidth),
        "0.3 of the fabric's rate (fits of MoE serving)"};
  }
  if (table_.pp > 1) {
    table_.sends = table_.pp;
    table_.send_bytes = 4 * h;  // hidden state and residual, 2 bytes each
    table_.send_channel = stage_send(d_.gpu, d_.parallel.gpus());
  }
  table_.kernels = launched_kernels(table_);
  table_.trust = kernels_.trust();
  if (kernels_.gemm_from_data_sheet()) {
    table_.fixed_layers = table_.layers;
    table_.layer_fixed = d_.gpu.achieved.layer_fixed;
  }
  return std::move(table_);
}

Table compile(const model::Deployment& d, const Fits& fits) {
  return Compiler(d, fits).run();
}

}  // namespace servegrid::roofline
