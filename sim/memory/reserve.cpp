#include "memory/reserve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "model/deployment.hpp"
#include "model/parameters.hpp"

namespace servegrid::memory {

using catalog::Format;
using catalog::Scenario;

namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

struct Shape {
  double hidden = 0, vocab = 0, intermediate = 0, moe_intermediate = 0, active_experts = 0;
  double layers = 0;
  bool state = false, moe = false;
};

Shape shape_of(const Scenario& s) {
  Shape shape;
  shape.hidden = static_cast<double>(s.model.hidden);
  shape.vocab = static_cast<double>(s.model.vocab);
  for (const auto& g : s.model.layers) {
    const auto dense = std::max(g.mlp.intermediate, g.mlp.shared_intermediate);
    shape.intermediate = std::max(shape.intermediate, static_cast<double>(dense));
    shape.layers += g.count;
    shape.state = shape.state || model::has_state(g.attention);
    if (g.mlp.experts == 0) continue;
    shape.moe = true;
    shape.moe_intermediate =
        std::max(shape.moe_intermediate, static_cast<double>(g.mlp.moe_intermediate));
    shape.active_experts =
        std::max(shape.active_experts, static_cast<double>(g.mlp.active_experts));
  }
  return shape;
}

// Bytes of one activation quantised for the GEMM; 0 when the math stays in 16 bit.
double activation_bytes(const Scenario& s) {
  const auto support = s.gpu.support_of(s.weights, s.engine.engine, s.engine.version);
  switch (support.compute) {
    case Format::bf16:
    case Format::fp16:
    case Format::fp32:
      return 0;
    default:
      return catalog::nominal_bytes(support.compute);
  }
}

// The forward pass of T tokens; the larger of the dense and the expert form.
double vllm_forward(const Scenario& s, const Shape& m, double tokens) {
  const double tp = s.parallel.tp, h = m.hidden, f = m.intermediate / tp;
  const double q = activation_bytes(s);
  double widths = 3 * f + 5 * h;
  double dense = tokens * 2 * widths;
  if (q > 0) {
    const double halves = version_at_least(s.engine.version, "0.8") ? 2 : 3;
    dense = tokens * (2 * halves * f + q * f + 2 * 5 * h);
  }
  if (!m.moe) return dense;
  const double i = m.moe_intermediate * s.parallel.ep / (s.parallel.tp * s.parallel.dp);
  const double experts = tokens * 2 * (m.active_experts * (std::max(2 * i, h) + i) + 5 * h);
  return std::max(dense, experts);
}

void vllm_activation(const Scenario& s, const Shape& m, Reserve& r) {
  const auto tokens = static_cast<double>(s.knobs.max_num_batched_tokens);
  const double rows = std::min(static_cast<double>(s.knobs.max_num_seqs), tokens);
  const double per_logit = s.engine.memory.sampler_bytes_per_logit;
  const double forward = vllm_forward(s, m, tokens);
  const double sampler = per_logit * rows * m.vocab + 2 * tokens * m.hidden;
  r.activation = static_cast<std::int64_t>(std::max(forward, sampler));
  r.activation_source = sampler >= forward
                            ? fmt::format("sampler: {:.0f} B x {:.0f} sequences x {:.0f} logits",
                                          per_logit, rows, m.vocab)
                            : fmt::format("forward pass of {:.0f} tokens", tokens);
}

void vllm_nontorch(const Scenario& s, Reserve& r) {
  const bool many = s.parallel.tp * s.parallel.dp * s.parallel.pp > 1;
  double size = 0;
  if (s.engine.memory.nontorch_per_gpu > 0) {
    size = s.engine.memory.nontorch_per_gpu;
    r.nontorch_source = "given by the engine profile";
  } else if (s.gpu.vendor == "AMD") {
    size = (many ? 2.5 : 1.5) * gib;
    r.nontorch_source = "AMD, a prior";
  } else if (!many) {
    size = 0.15 * gib;
    r.nontorch_source = "one GPU, start-up logs";
  } else if (s.gpu.fabric.kind == catalog::FabricKind::switched) {
    size = 0.6 * gib;
    r.nontorch_source = "several GPUs over NVLink, a prior";
  } else {
    size = 0.25 * gib;
    r.nontorch_source = "several GPUs over PCIe, start-up logs";
  }
  r.nontorch = static_cast<std::int64_t>(size + s.engine.memory.context_charged);
  if (s.engine.memory.context_charged > 0) r.nontorch_source += ", and the context";
}

Reserve vllm_reserve(const Scenario& s, const Shape& m) {
  Reserve r;
  vllm_activation(s, m, r);
  vllm_nontorch(s, r);
  double graphs = 0.25 * gib * m.layers / s.parallel.pp / 32;
  if (m.state && version_at_least(s.engine.version, "0.26")) {
    graphs += static_cast<double>(s.knobs.max_num_batched_tokens) * 100e3;
  }
  r.graphs = static_cast<std::int64_t>(graphs);
  r.graphs_charged = s.engine.memory.graphs_charged;
  r.context = static_cast<std::int64_t>(0.5 * gib);
  return r;
}

Reserve sglang_reserve(const Scenario& s) {
  Reserve r;
  const bool many = s.parallel.tp * s.parallel.dp * s.parallel.pp > 1;
  r.nontorch = static_cast<std::int64_t>((many ? 1.4 : 0.5) * gib);
  r.nontorch_source = "context and process group before loading, a prior";
  r.graphs_charged = false;
  return r;
}

Reserve trtllm_reserve(const Scenario& s, const Shape& m) {
  Reserve r;
  const auto tokens = static_cast<double>(s.knobs.max_num_batched_tokens);
  const auto batch = static_cast<double>(s.knobs.max_num_seqs);
  const double f = m.intermediate > 0 ? m.intermediate / s.parallel.tp
                                      : m.active_experts * m.moe_intermediate / s.parallel.tp;
  if (version_at_least(s.engine.version, "0.17")) {  // PyTorch backend
    const double q = activation_bytes(s) > 0 ? activation_bytes(s) : 2;
    r.activation =
        static_cast<std::int64_t>(tokens * ((4 + q) * f + 10 * m.hidden) + 12 * batch * m.vocab);
    r.nontorch = static_cast<std::int64_t>((s.parallel.tp > 1 ? 1.9 : 1.3) * gib);
  } else {
    r.activation =
        static_cast<std::int64_t>(tokens * 2 * (3 * f + 5 * m.hidden) + 4 * batch * m.vocab);
    r.nontorch = static_cast<std::int64_t>(0.45 * gib);
  }
  r.activation_source = fmt::format("dummy run of {:.0f} tokens, {:.0f} sequences", tokens, batch);
  r.nontorch_source = "context, NCCL and runtime, fitted to one start-up log";
  r.graphs_charged = true;
  return r;
}

}  // namespace

bool version_at_least(const std::string& version, const std::string& least) {
  const auto numbers = [](const std::string& text) {
    std::vector<long> out;
    const char* at = text.c_str();
    while (*at >= '0' && *at <= '9') {
      char* end = nullptr;
      out.push_back(std::strtol(at, &end, 10));
      at = *end == '.' ? end + 1 : end;
      if (at == end) break;
    }
    return out;
  };
  const auto have = numbers(version), want = numbers(least);
  return have >= want;
}

Reserve reserve_of(const Scenario& s) {
  const Shape m = shape_of(s);
  const std::string& kind = s.engine.memory.kind;
  Reserve r = kind == "sglang"   ? sglang_reserve(s)
              : kind == "trtllm" ? trtllm_reserve(s, m)
                                 : vllm_reserve(s, m);
  const bool well_known = s.gpu.vendor == "NVIDIA" && !m.moe && !m.state && kind != "sglang" &&
                          !s.engine.version.empty();
  r.band = (well_known ? 1.0 : 2.5) * gib;
  return r;
}

}  // namespace servegrid::memory
