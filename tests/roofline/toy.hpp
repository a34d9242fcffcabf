// A GPU, models and a fit file of round numbers, so that a test can work every operator out by
// hand.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "model/deployment.hpp"
#include "roofline/step_model.hpp"
#include "units/error.hpp"

namespace servegrid::roofline::toy {

/// 1 TB/s, 100 TFLOPS in bf16, 200 in fp8, 100 SMs, a switch of 8 with 100 GB/s each way.
inline catalog::Gpu gpu() {
  catalog::Gpu g;
  g.name = "toy";
  g.title = "Toy";
  g.vendor = "NVIDIA";
  g.architecture = "Toy";
  g.compute_units = 100;
  g.memory.label_bytes = 80e9;
  g.memory.bandwidth = 1e12;
  g.peak = {{"bf16", 100e12}, {"fp8", 200e12}};
  g.hardware_formats = {catalog::Format::fp8};
  g.fabric = {catalog::FabricKind::switched, "toy link", 10, 10e9, 8, false, {}};
  g.achieved = {0.8, 0.8, 0.5, 40e-6, 5e-6};
  g.software.engines = {{"vllm", "yes"}, {"sglang", "yes"}, {"trtllm", "yes"}};
  return g;
}

/// 2 layers, hidden 1024, 8 heads and 2 KV heads of 128, MLP 4096, 32000 tokens.
inline catalog::Model model() {
  catalog::Model m;
  m.name = "toy";
  m.hidden = 1024;
  m.vocab = 32000;
  m.max_context = 131072;
  catalog::LayerGroup g;
  g.count = 2;
  g.attention.kind = catalog::AttentionKind::full;
  g.attention.heads = 8;
  g.attention.kv_heads = 2;
  g.attention.head_dim = 128;
  g.mlp.intermediate = 4096;
  m.layers = {g};
  return m;
}

inline model::Deployment deployment() {
  model::Deployment d;
  d.model = model();
  d.gpu = gpu();
  d.engine = "vllm";
  d.engine_version = "0.24.0";
  return d;
}

/// p = 1 (compute + bytes) and fractional waves keep GEMM times simple.
inline const char* const fit_text = R"(gpu: toy
base: {bandwidth: 1 TB/s, bf16: 100 TFLOPS, fp8: 200 TFLOPS}
date: 2026-12-01
model_version: 1
kernels:
  - {engine: vllm, op: gemm, dtype: bf16, kernel_source: all, rows: 100, t0: 4 us, ec: 0.5, eb: 0.8, p: 1, w: 0, median_error: 5 %}
  - {engine: vllm, op: prefill_attention, dtype: bf16, kernel_source: all, rows: 100, t0: 6 us, ec: 0.5, q0: 128, eb: 0.5, median_error: 5 %}
  - {engine: vllm, op: decode_attention, dtype: bf16, kernel_source: all, rows: 100, t0: 5 us, t_seq: 10 ns, eb: 0.9, median_error: 5 %}
  - {engine: vllm, op: moe, dtype: bf16, kernel_source: few, rows: 10, t0: 99 us, eb: 0.1, ec: 0.1, pad: 0, ea: 0.1, median_error: 5 %}
  - {engine: vllm, op: moe, dtype: bf16, kernel_source: many, rows: 100, t0: 20 us, eb: 0.8, ec: 0.5, pad: 10, ea: 0.5, median_error: 5 %}
  - {engine: sglang, op: mla_decode, dtype: bf16, kernel_source: all, rows: 100, t0: 8 us, eb: 0.8, ec: 0.5, c_seq: 30 ns, median_error: 5 %}
  - {engine: sglang, op: mla_prefill, dtype: bf16, kernel_source: all, rows: 100, t0: 9 us, ec: 0.5, eb: 0.5, median_error: 5 %}
  - {engine: vllm, op: all_reduce, gpus: 2, kernel_source: all, rows: 23, a: 4 us, b1: 50 GB/s, a2: 10 us, b2: 100 GB/s, median_error: 5 %}
serving:
  - {engine: vllm, rows: 10, alpha: 0.5, a_n: 3 us, h0: 100 us, hs: 2 us, tlp: 50 us, pf: 1.5, ttft0: 15 ms, s: 1, r: 3, origin: fitted}
  - {engine: sglang, rows: 10, alpha: 0.5, a_n: 3 us, h0: 100 us, hs: 2 us, tlp: 50 us, pf: 1.5, ttft0: 15 ms, s: 1, r: 28, origin: fitted}
)";

/// A temporary file, removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    char name[] = "/tmp/servegrid-fit-XXXXXX";
    const int fd = mkstemp(name);
    path_ = name;
    if (fd >= 0) close(fd);
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline const std::string& fit_file() {
  static const TemporaryFile file(fit_text);
  return file.path();
}

inline double seconds_of(const StepBreakdown& b, const std::string& name) {
  double sum = 0;
  for (const auto& o : b.operators) sum += o.name == name ? o.seconds : 0;
  return sum;
}

}  // namespace servegrid::roofline::toy
