// A data folder of its own, with the examples of docs/data-files.md in small, used through
// SERVEGRID_DATA or as the scenario's folder; removed at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace servegrid::test {

inline constexpr const char* gpu_yaml = R"(title: Test GPU
vendor: NVIDIA
architecture: Blackwell
aliases: [toy-sxm, Toy_GPU]
source: a data sheet
date: 2025-03
compute_units: 148
memory: {type: HBM3e, label: 180 GB, driver: 192265846784 B, torch: 178.35 GiB, bandwidth: 8 TB/s, cache: 126 MiB}
peak: {fp64: 37 TFLOPS, bf16: 2250 TFLOPS, fp8: 4500 TFLOPS, int8: 4500 TOPS, fp4: 9000 TFLOPS}
formats: [fp8, fp8-block, int8, mxfp8, nvfp4]
fp8_variant: OCP
fabric: {kind: switched, name: NVLink 5, links: 18, link_bandwidth: 50 GB/s, domain: 8, in_network_reduction: true}
host: {link: PCIe 5 x16, bandwidth: 64 GB/s}
nic: {name: ConnectX-7 400G, bandwidth: 400 Gb/s}
power: 1000 W
software:
  stack: CUDA
  target: sm_100
  engines: {toyllm: yes, trtllm: "no: not ported"}
format_support:
  - {format: mxfp4, engine: toyllm, version: "0.10", support: native, compute: fp8, source: release notes}
  - {format: mxfp4, engine: "*", support: emulated, source: docs}
achieved: {gemm: 0.78, bandwidth: 81 %, layer_fixed: 45 us, source: measured}
facts:
  - {path: memory.bandwidth, value: 8 TB/s, source: the data sheet, date: 2025-03, note: bus and clock give 7.67}
)";

inline constexpr const char* model_yaml = R"(title: Toy 70B
family: Toy
aliases: [toy-org/Toy-70B-Instruct, toy70]
nominal_billions: 70
hidden: 8192
vocab: 128256
max_context: 131072
native_format: bf16
source: config.json
date: 2024-07
layers:
  - count: 80
    attention: {kind: full, heads: 64, kv_heads: 8, head_dim: 128}
    mlp: {intermediate: 28672}
checkpoints:
  - {format: nvfp4, id: toy-org/Toy-FP4, parts: {attention: bf16, head: bf16}, source: the hub}
)";

inline constexpr const char* engine_yaml = R"(title: ToyLLM 1.0
engine: toyllm
version: "1.0"
date: 2026-07
aliases: [toyllm]
policy: vllm_v1
source: its source
memory: {kind: vllm, sampler_bytes_per_logit: 38, graphs_charged: true, context_charged: 0 GiB}
defaults:
  - {memory_at_least: 160 GiB, max_num_seqs: 1024, max_num_batched_tokens: 16384}
  - {memory_at_least: 70 GiB, except: [a100-80g], max_num_seqs: 1024, max_num_batched_tokens: 8192}
  - {max_num_seqs: 256, max_num_batched_tokens: 2048}
)";

inline constexpr const char* prices_yaml = R"(title: A sheet
date: 2026-11-28
currency: USD
source: a web page
offers:
  - {gpu: toy, title: a box, counts: [1, 2, 4, 8], per_gpu: 1409 USD/month, kind: list, source: S}
  - {gpu: toy, title: a server, counts: [8], per_server: 8000 USD/month, kind: list, source: S}
  - {gpu: toy, title: single, counts: [1], per_gpu: 1 USD/h, domain: 1, kind: from, source: S}
)";

inline constexpr const char* scenario_yaml = R"(description: How many?
model: toy-70b
weights: bf16
replica: {gpu: toy, tp: 2}
engine: {profile: toyllm-1.0, max_num_seqs: 256}
workload:
  closed: {concurrent: 15, prompt: 7680 tokens, output: 512 tokens}
  requests: 600
slo: {ttft: 2 s, tpot: 50 ms}
prices: [sheet]
seed: 7
)";

class DataFolder {
 public:
  DataFolder() {
    char pattern[] = "/tmp/servegrid-test-XXXXXX";
    root_ = ::mkdtemp(pattern);
    write("hw_profiles/toy.yaml", gpu_yaml);
    write("models/toy-70b.yaml", model_yaml);
    write("engines/toyllm-1.0.yaml", engine_yaml);
    write("hw_profiles/prices/sheet.yaml", prices_yaml);
    write("scenarios/toy.yaml", scenario_yaml);
    write("scenario.yaml", scenario_yaml);
  }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;
  ~DataFolder() { std::filesystem::remove_all(root_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(root_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  [[nodiscard]] std::string path(const std::string& name) const { return root_ + "/" + name; }
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  std::string root_;
};

/// `text` with the first `from` replaced.
inline std::string edited(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace servegrid::test
