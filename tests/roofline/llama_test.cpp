// Llama 3.1 70B on real fits: in the range of what was measured.
#include <catch2/catch.hpp>

#include "toy.hpp"

using namespace servegrid;
using namespace servegrid::roofline;

namespace {

catalog::Model llama_70b() {
  auto m = toy::model();
  m.name = "llama-3.1-70b";
  m.hidden = 8192;
  m.vocab = 128256;
  auto& g = m.layers[0];
  g.count = 80;
  g.attention.heads = 64;
  g.attention.kv_heads = 8;
  g.mlp.intermediate = 28672;
  return m;
}

model::Deployment on(const std::string& gpu, int tp) {
  auto d = toy::deployment();
  d.model = llama_70b();
  d.weights = catalog::Format::fp8;
  d.parallel.tp = tp;
  auto& g = d.gpu;
  g.name = gpu;
  const bool blackwell = gpu == "b200";
  g.architecture = blackwell ? "Blackwell" : "Hopper";
  g.compute_units = blackwell ? 148 : 132;
  g.memory.bandwidth = blackwell ? 8e12 : 3.35e12;
  g.peak = {{"bf16", blackwell ? 2250e12 : 989e12}, {"fp8", blackwell ? 4500e12 : 1979e12}};
  g.fabric = {catalog::FabricKind::switched, "NVLink", 18, blackwell ? 50e9 : 25e9, 8, true, {}};
  return d;
}

std::string fits(const std::string& gpu) {
  return std::string(SERVEGRID_SOURCE_DIR) + "/hw_profiles/fits/" + gpu + ".yaml";
}

double tpot_ms(const std::string& gpu, int tp, std::int64_t n, std::int64_t context) {
  const StepModel model(on(gpu, tp), fits(gpu));
  const auto cost = model.decode(n);
  return 1e3 * to_seconds(cost.base + cost.per_token[0] * n * context);
}

}  // namespace

TEST_CASE("Llama 70B FP8 decode steps, vLLM, near what InferenceX measured") {
  // TPOT of InferenceX at 1024/1024 and concurrency 4 and 16 (H100 TP2: 17.4 and 19.7 ms, B200 TP1:
  // 16.3 and 17.7 ms); a decode step at the mean context leaves out the prefills between.
  CHECK(tpot_ms("h100-sxm", 2, 4, 1400) == Approx(17.41).epsilon(0.1));
  CHECK(tpot_ms("h100-sxm", 2, 16, 1400) == Approx(19.74).epsilon(0.1));
  CHECK(tpot_ms("b200", 1, 4, 1400) == Approx(16.34).epsilon(0.1));
  CHECK(tpot_ms("b200", 1, 16, 1400) == Approx(17.67).epsilon(0.1));
}

TEST_CASE("Llama 70B: tensor parallelism helps, less than ideally") {
  double before = tpot_ms("h100-sxm", 1, 16, 2048);
  for (const int tp : {2, 4, 8}) {
    const double ms = tpot_ms("h100-sxm", tp, 16, 2048);
    CHECK(ms < before);
    CHECK(ms > 0.5 * before);
    before = ms;
  }
}

TEST_CASE("Llama 70B: the KV cache is 320 KiB a token, 40 of them on a GPU under TP 8") {
  const StepModel model(on("h100-sxm", 8), fits("h100-sxm"));
  const auto step = model.explain({{}, 1, {1000, 0, 0}});
  for (const auto& o : step.operators) {
    if (o.name == "decode_attention") CHECK(o.bytes == Approx(1000.0 * 80 * 512));
  }
  CHECK(model.trust() == "measured");
}
