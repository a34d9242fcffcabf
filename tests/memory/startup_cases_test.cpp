// What engines printed at start-up, in public issue threads, against the ledger. The figures are
// typed in with their source; the constants of the reserve were fitted to some of them, so
// agreement of K04, K23, K25 and K32 is not evidence (docs/memory.md).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "memory/layout.hpp"
#include "memory/reserve.hpp"
#include "memory/weights.hpp"
#include "scenario.hpp"

using namespace servegrid;
using catalog::Format;
using test::gib;

namespace {

struct Case {
  std::string id, what;
  double predicted, logged;
};

double error(const Case& c) {
  return c.predicted / c.logged - 1;
}

std::vector<Case> weights, tokens, layout, pools;  // pools: GiB of KV
std::vector<double> bands;                         // GiB, one a pool

catalog::Scenario v(catalog::Scenario s, const char* version, double fraction, std::int64_t tokens,
                    std::int64_t sequences) {
  s.engine.version = version;
  s.engine.memory.graphs_charged = false;
  s.knobs.memory_fraction = fraction;
  s.knobs.max_num_batched_tokens = tokens;
  s.knobs.max_num_seqs = sequences;
  s.knobs.async_scheduling = false;
  return s;
}

memory::Ledger sized(const catalog::Scenario& s, std::int64_t context) {
  memory::Options o;
  o.context_tokens = context;
  return memory::size(s, o);
}

void pool(const std::string& id, const memory::Ledger& l, double logged) {
  pools.push_back({id, "KV GiB", l.kv_bytes_per_gpu / gib, logged});
  bands.push_back(l.reserve_band_bytes / gib);
}

// vLLM pull 10511: Llama-3-8B on 80 GB, V0 charges everything outside torch (1.79 GiB a rank).
void k04() {
  for (const int tp : {1, 2}) {
    auto s = v(test::scenario(test::llama_8b(), test::gpu("h100", 80e9, 79.2), Format::bf16, tp),
               "0.6.5", 0.9, 8192, 256);
    s.engine.memory.nontorch_per_gpu = 1.79 * gib * tp;
    const auto l = sized(s, 8192);
    weights.push_back({"K04", "weights", l.weights_bytes_per_gpu / gib, tp == 1 ? 14.96 : 7.48});
    pool("K04", l, tp == 1 ? 53.29 : 58.97);
    if (tp == 1) {
      tokens.push_back({"K04", "tokens", static_cast<double>(l.kv_capacity_tokens), 436500});
    }
  }
}

// vLLM issue 13061: DeepSeek-R1-Distill-Qwen-14B on two RTX 4090; refuses 131072 tokens.
void k05() {
  auto a = test::gqa(40, 8, 128);
  a.qkv_bias = true;
  auto gpu = test::gpu("rtx-4090", 24e9, 23.55);
  gpu.fabric.kind = catalog::FabricKind::pcie;
  auto m = test::model("qwen2.5-14b", 5120, 152064, {{48, a, test::dense(13824)}});
  auto s = v(test::scenario(m, gpu, Format::bf16, 2), "0.7.0", 0.98, 2048, 256);
  const auto l = sized(s, 131072);
  CHECK_FALSE(l.fits);
  weights.push_back({"K05", "weights", l.weights_bytes_per_gpu / gib, 13.9476});
  tokens.push_back({"K05", "tokens", static_cast<double>(l.kv_capacity_tokens), 81536});
  pool("K05", l, 81536 * 98304.0 / gib);
}

// vLLM pull 12569: Llama-3.1-70B int8 on an 80 GB card, V1 0.7 charges the context again.
void k06() {
  auto s = v(test::scenario(test::llama_70b(), test::gpu("h100", 80e9, 79.2), Format::int8),
             "0.7.0", 0.98, 8192, 256);
  s.engine.memory.context_charged = 0.5 * gib;
  const auto l = sized(s, 2048);
  CHECK(l.fits);
  weights.push_back({"K06", "weights", l.weights_bytes_per_gpu / gib, 67.7229});
  tokens.push_back({"K06", "tokens", static_cast<double>(l.kv_capacity_tokens), 22096});
  pool("K06", l, 22096 * 327680.0 / gib);
}

// vLLM issue 40691: Qwen3.5-35B-A3B on H20; its fraction is an assumption.
void k19() {
  auto m = test::qwen_hybrid_27b();
  auto full = m.layers[0].attention, linear = m.layers[1].attention;
  full.heads = 16;
  full.kv_heads = 2;
  linear.linear_value_heads = 32;
  const auto mlp = test::moe(256, 8, 512, 512);
  m.hidden = 2048;
  m.layers = {{10, full, mlp}, {30, linear, mlp}};
  auto s = v(test::scenario(m, test::gpu("h20", 96e9, 95.0)), "0.19.0", 0.9, 16384, 16);
  const auto l = sized(s, 32768);
  memory::LayoutOptions o;
  o.prefix_caching = false;  // not yet the default of such models at that version
  const auto p = memory::make_pool(memory::kv_kinds(model::deployment_of(s)), o);
  const auto printed = p.printed_tokens(l.num_blocks, 32768, "concurrency");
  tokens.push_back({"K19", "tokens", static_cast<double>(printed), 1082655});
  pool("K19", l, 1082655.0 / 32768 * static_cast<double>(p.blocks_of(32768) * p.block_bytes) / gib);
}

// vLLM recipes pull 810: Qwen3.8-27B on two RTX 5090 with three drafts of the MTP module.
void k20(Format f, double weights_log, double tokens_log) {
  auto m = test::qwen_hybrid_27b();
  m.checkpoints = {{Format::nvfp4,
                    "",
                    {{"attention", Format::fp8},
                     {"linear_attention", Format::fp8},
                     {"head", Format::nvfp4},
                     {"mtp", Format::bf16}},
                    "its 3.6 sibling's"}};
  auto gpu = test::gpu("rtx-5090", 32e9, 31.37);
  gpu.hardware_formats.push_back(Format::nvfp4);
  gpu.fabric.kind = catalog::FabricKind::pcie;
  auto s = v(test::scenario(m, gpu, f, 2), "0.26.1rc1", 0.92, 2048, 256);
  s.engine.memory.graphs_charged = true;
  const auto d = model::deployment_of(s);
  s.weights_bytes = static_cast<double>(memory::weights_of(d, true).total);
  const auto l = sized(s, 8192);
  memory::LayoutOptions o;
  o.draft_tokens = 3;
  const auto p = memory::make_pool(memory::kv_kinds(d, 3), o);
  const auto blocks = p.blocks_in(static_cast<std::int64_t>(l.kv_bytes_per_gpu));
  const auto printed = p.printed_tokens(blocks, 262144, "concurrency");
  // The NVFP4 checkpoint's own types are not known: no case for the weights.
  if (f == Format::fp8) {
    weights.push_back({"K20", "weights", *s.weights_bytes / gib, weights_log});
    CHECK(blocks >= p.blocks_of(262144));  // the log: 262144 tokens fit
  }
  tokens.push_back({"K20", "tokens", static_cast<double>(printed), tokens_log});
  pool("K20", l, tokens_log / 262144 * 343 * 27852800 / gib);
}

// TensorRT-LLM issue 4275: Llama-3.1-8B FP8 with FP8 KV on RTX 5090, PyTorch backend.
void k23() {
  auto s = v(test::scenario(test::llama_8b(), test::gpu("rtx-5090", 32e9, 31.37), Format::fp8),
             "0.20", 0.9, 8192, 2048);
  s.engine.engine = s.engine.memory.kind = "trtllm";
  s.knobs.block_size = 32;
  s.knobs.kv_cache = Format::fp8;
  const auto l = sized(s, 8192);
  pool("K23", l, 16.05);
  s.kv_bytes = 0.9 * 17.83 * gib;  // free memory as printed
  layout.push_back(
      {"K23", "tokens", static_cast<double>(sized(s, 8192).kv_capacity_tokens), 263008});
}

// TensorRT-LLM issue 1400: Llama-2-7B SmoothQuant on A100, 0.8.0.
void k25() {
  auto m =
      test::model("llama-2-7b", 4096, 32000, {{32, test::gqa(32, 32, 128), test::dense(11008)}});
  auto s =
      v(test::scenario(m, test::gpu("a100", 80e9, 79.25), Format::int8), "0.8.0", 0.9, 5120, 1);
  s.engine.engine = s.engine.memory.kind = "trtllm";
  s.knobs.block_size = 128;
  const auto l = sized(s, 5120);
  weights.push_back({"K25", "weights", l.weights_bytes_per_gpu / gib, 6.53});
  tokens.push_back({"K25", "tokens", static_cast<double>(l.kv_capacity_tokens), 132608});
  pool("K25", l, 64.75);
  s.kv_bytes = 64.75 * gib;
  layout.push_back(
      {"K25", "tokens", static_cast<double>(sized(s, 5120).kv_capacity_tokens), 132608});
}

// vLLM issue 25350: Qwen3-30B-A3B FP8 with FP8 KV; KV bytes as printed.
void k26() {
  auto a = test::gqa(32, 4, 128);
  a.qk_norm = true;
  auto m = test::model("qwen3-30b-a3b", 2048, 151936, {{48, a, test::moe(128, 8, 768)}});
  auto s =
      v(test::scenario(m, test::gpu("l40s", 48e9, 44.52), Format::fp8), "0.10.0", 0.9, 2048, 256);
  s.knobs.kv_cache = Format::fp8;
  weights.push_back({"K26", "weights", sized(s, 8192).weights_bytes_per_gpu / gib, 29.09});
  s.kv_bytes = 10.55 * gib;
  layout.push_back(
      {"K26", "tokens", static_cast<double>(sized(s, 8192).kv_capacity_tokens), 230528});
  const auto kinds = memory::kv_kinds(model::deployment_of(s));
  const auto p = memory::make_pool(kinds, {});
  layout.push_back({"K26", "GiB of a request",
                    static_cast<double>(p.blocks_of(221000) * p.block_bytes) / gib, 10.12});
  const auto few = p.blocks_in(static_cast<std::int64_t>(5.59 * gib));
  layout.push_back({"K26", "longest", static_cast<double>(p.longest(few, 1 << 20)), 122080});
}

// A published set-up (myoceane.fr, 2026): gpt-oss-20b on A100, vLLM 0.19.0.
void k32() {
  auto s = v(test::scenario(test::gpt_oss(24, 32), test::gpu("a100", 80e9, 79.25), Format::mxfp4),
             "0.19.0", 0.65, 2048, 256);
  s.gpu.hardware_formats.clear();
  s.engine.memory.sampler_bytes_per_logit = 22;
  const auto l = sized(s, 131072);
  weights.push_back({"K32", "weights", l.weights_bytes_per_gpu / gib, 13.72});
  pool("K32", l, 36.56);
}

// Computed once, whichever test runs first.
void run_all() {
  if (!weights.empty()) return;
  k04();
  k05();
  k06();
  k19();
  k20(Format::fp8, 14.28, 377456);
  k20(Format::nvfp4, 12.02, 445875);
  k23();
  k25();
  k26();
  k32();
}

}  // namespace

TEST_CASE("Layout with the KV bytes given is exact", "[memory][cases]") {
  run_all();
  REQUIRE(layout.size() == 5);
  for (const Case& c : layout) {
    INFO(c.id << " " << c.what << " " << c.predicted << " against " << c.logged);
    CHECK(std::abs(error(c)) <= 0.005);
  }
}

TEST_CASE("Weights are within 2 % where the types are known", "[memory][cases]") {
  run_all();
  REQUIRE(weights.size() == 8);
  for (const Case& c : weights) {
    INFO(c.id << " " << c.predicted << " against " << c.logged);
    CHECK(std::abs(error(c)) <= 0.02);
  }
}

TEST_CASE("KV tokens are within 6 % at the median", "[memory][cases]") {
  run_all();
  std::vector<double> errors;
  for (const Case& c : tokens) errors.push_back(std::abs(error(c)));
  std::sort(errors.begin(), errors.end());
  REQUIRE(errors.size() == 7);
  CHECK(errors[errors.size() / 2] <= 0.06);
}

TEST_CASE("The reserve's band holds nine of ten pools", "[memory][cases]") {
  run_all();
  REQUIRE(pools.size() == 10);
  int inside = 0;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    inside += std::abs(pools[i].predicted - pools[i].logged) <= bands[i] ? 1 : 0;
  }
  CHECK(inside >= 9);
}

// Not a test: `test_memory "[table]"` prints the table of docs/memory.md.
TEST_CASE("Table of the start-up cases", "[.][table]") {
  run_all();
  for (const auto* table : {&layout, &weights, &tokens, &pools}) {
    for (const Case& c : *table) {
      std::printf("| %s | %s | %.2f | %.2f | %+.2f %% |\n", c.id.c_str(), c.what.c_str(),
                  c.predicted, c.logged, 100 * error(c));
    }
  }
}
