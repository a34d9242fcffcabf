#include "memory/ledger.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "scenario.hpp"
#include "units/error.hpp"

using namespace servegrid;
using catalog::Format;
using memory::Ledger;
using memory::Options;
using memory::Rule;

namespace {

std::int64_t sum(const Ledger& l) {
  std::int64_t s = 0;
  for (const auto& line : l.lines) s += static_cast<std::int64_t>(line.bytes);
  return s;
}

const memory::Line* find(const Ledger& l, const std::string& name) {
  for (const auto& line : l.lines) {
    if (line.name == name) return &line;
  }
  return nullptr;
}

catalog::Gpu b200() {
  return test::gpu("b200", 180e9, 178.35);
}
catalog::Gpu mi355x() {
  auto g = test::gpu("mi355x", 288e9, 287.98);
  g.vendor = "AMD";
  g.fabric.kind = catalog::FabricKind::full_mesh;
  return g;
}

Options by(Rule rule, bool nominal, std::int64_t context = 8192) {
  Options o;
  o.rule = rule;
  o.nominal_parameters = nominal;
  o.context_tokens = context;
  return o;
}

}  // namespace

TEST_CASE("weights_only: the articles' 14.90 and 55.13 conversations", "[memory]") {
  const auto on_b200 =
      memory::size(test::scenario(test::llama_70b(), b200()), by(Rule::weights_only, true));
  // The article rounds to 15; whole counts here are floors.
  CHECK(on_b200.conversations == Approx(14.90).margin(0.005));
  CHECK(on_b200.conversations_whole == 14);
  const auto on_mi355x =
      memory::size(test::scenario(test::llama_70b(), mi355x()), by(Rule::weights_only, true));
  CHECK(on_mi355x.conversations == Approx(55.13).margin(0.005));
  CHECK(on_mi355x.conversations_whole == 55);
  // By count, 70.55 billion.
  CHECK(memory::size(test::scenario(test::llama_70b(), b200()), by(Rule::weights_only, false))
            .conversations == Approx(14.49).margin(0.005));
  CHECK(memory::size(test::scenario(test::llama_70b(), mi355x()), by(Rule::weights_only, false))
            .conversations == Approx(54.72).margin(0.005));
}

TEST_CASE("engine: fewer than the label promises, and lines that add up to the byte", "[memory]") {
  for (const auto& gpu : {b200(), mi355x()}) {
    for (const Format f : {Format::bf16, Format::fp8}) {
      const auto s = test::scenario(test::llama_70b(), gpu, f);
      const auto l = memory::size(s, by(Rule::engine, false));
      CHECK(l.fits);
      CHECK(sum(l) == static_cast<std::int64_t>(l.kv_bytes_per_gpu));
      CHECK(l.conversations_whole <= static_cast<std::int64_t>(l.conversations));
      CHECK(l.num_blocks == static_cast<std::int64_t>(l.kv_bytes_per_gpu) / (327680 * 16));
      CHECK(l.kv_capacity_tokens == l.num_blocks * 16);
      if (gpu.name == "b200" && f == Format::bf16) {
        CHECK(l.conversations < 14.49);
        CHECK(l.note.find("max_model_len") != std::string::npos);
      }
    }
  }
}

TEST_CASE("A model that does not fit says what is missing and what would fit", "[memory]") {
  const auto s = test::scenario(test::llama_70b(), test::gpu("h100", 80e9, 79.2));
  const auto l = memory::size(s, by(Rule::engine, false));
  CHECK_FALSE(l.fits);
  CHECK_FALSE(l.may_not_fit);
  CHECK(l.kv_bytes_per_gpu == 0);
  CHECK(l.num_blocks == 0);
  CHECK(l.conversations == 0);
  CHECK(sum(l) == 0);
  REQUIRE(find(l, "short by") != nullptr);
  CHECK(l.gpus_needed == 4);
  CHECK(l.note.find("tp 4") != std::string::npos);
  // Beyond the scale-up domain by pipeline stages.
  const auto big =
      memory::size(test::scenario(test::deepseek_v3(), test::gpu("h100", 80e9, 79.2), Format::fp8),
                   by(Rule::engine, false));
  CHECK(big.gpus_needed == 16);
  CHECK(big.note.find("tp 8, pp 2") != std::string::npos);
  // Of no group at all.
  const auto none = memory::size(test::scenario(test::llama_70b(), test::gpu("rtx", 24e9, 4)),
                                 by(Rule::engine, false));
  CHECK(none.gpus_needed == 0);
}

TEST_CASE("Inside the reserve's band the answer is not a yes", "[memory]") {
  auto s = test::scenario(test::llama_70b(), b200());
  auto o = by(Rule::engine, false);
  const auto l = memory::size(s, o);
  REQUIRE(l.reserve_band_bytes == test::gib);
  const auto tokens = [&](double bytes) {
    return static_cast<std::int64_t>((l.kv_bytes_per_gpu + bytes) / 327680);
  };
  o.context_tokens = tokens(-1.5e9);
  CHECK(memory::size(s, o).fits);
  CHECK_FALSE(memory::size(s, o).may_not_fit);
  o.context_tokens = tokens(-0.5e9);
  CHECK(memory::size(s, o).fits);
  CHECK(memory::size(s, o).may_not_fit);
  o.context_tokens = tokens(0.5e9);
  CHECK_FALSE(memory::size(s, o).fits);
  CHECK(memory::size(s, o).may_not_fit);
  o.context_tokens = tokens(1.5e9);
  CHECK_FALSE(memory::size(s, o).fits);
  CHECK_FALSE(memory::size(s, o).may_not_fit);
  // A measured reserve has no band.
  s.reserve_bytes = l.reserve_bytes;
  o.context_tokens = tokens(-0.5e9);
  CHECK(memory::size(s, o).fits);
  CHECK_FALSE(memory::size(s, o).may_not_fit);
}

TEST_CASE("Measured values override each level", "[memory]") {
  auto s = test::scenario(test::llama_70b(), b200());
  const auto o = by(Rule::engine, false);
  const auto before = memory::size(s, o);
  s.weights_bytes = before.weights_bytes_per_gpu - 1e9;
  CHECK(memory::size(s, o).kv_bytes_per_gpu == before.kv_bytes_per_gpu + 1e9);
  s.reserve_bytes = before.reserve_bytes + 1e9;
  CHECK(memory::size(s, o).kv_bytes_per_gpu == before.kv_bytes_per_gpu);
  s.kv_bytes = 30e9;
  CHECK(memory::size(s, o).kv_bytes_per_gpu == 30e9);
  CHECK(sum(memory::size(s, o)) == 30'000'000'000);
  s.num_gpu_blocks = 5000;
  const auto l = memory::size(s, o);
  CHECK(l.num_blocks == 5000);
  CHECK(l.kv_capacity_tokens == 80000);
  CHECK(l.conversations == Approx(5000.0 / 512));
  CHECK(sum(l) == static_cast<std::int64_t>(l.kv_bytes_per_gpu));
  CHECK(find(l, "measured") != nullptr);
}

TEST_CASE("More memory, more GPUs and smaller formats never hold less", "[memory]") {
  const auto conversations = [](Format f, int tp, double gib) {
    auto s = test::scenario(test::llama_70b(), test::gpu("x", 180e9, gib), f, tp);
    return memory::size(s, by(Rule::engine, false)).conversations;
  };
  CHECK(conversations(Format::bf16, 1, 190) > conversations(Format::bf16, 1, 178));
  CHECK(conversations(Format::fp8, 1, 178) > conversations(Format::bf16, 1, 178));
  CHECK(conversations(Format::bf16, 2, 178) > 2 * conversations(Format::bf16, 1, 178));
  CHECK(conversations(Format::bf16, 8, 178) > conversations(Format::bf16, 4, 178));
}

TEST_CASE("Sequences' maximum is a first-order memory knob", "[memory]") {
  auto s = test::scenario(test::llama_70b(), b200());
  const auto many = memory::size(s, by(Rule::engine, false));
  s.knobs.max_num_seqs = 256;
  const auto few = memory::size(s, by(Rule::engine, false));
  // 38 B x 1024 or 256 rows x 128256 logits; with 256 the forward pass does not overtake.
  CHECK(many.reserve_bytes - few.reserve_bytes == Approx(38.0 * 768 * 128256).epsilon(0.2));
}

TEST_CASE("Recurrent layers bound the sequences, and the note says so", "[memory]") {
  auto s = test::scenario(test::qwen_hybrid_27b(), test::gpu("l40s", 48e9, 44.5), Format::fp8);
  s.knobs.max_num_seqs = 512;
  const auto l = memory::size(s, by(Rule::engine, false));
  REQUIRE(l.fits);
  REQUIRE(l.num_blocks < 512);
  CHECK(l.blocks_per_request_fixed == 3 * 2);
  CHECK(l.note.find("max_num_seqs 512") != std::string::npos);
  CHECK(l.conversations == Approx(static_cast<double>(l.num_blocks) /
                                  (std::ceil(8192.0 / static_cast<double>(l.block_tokens)) + 6)));
}

TEST_CASE("Attention-DP ranks each keep a pool", "[memory]") {
  auto s = test::scenario(test::deepseek_v3(), mi355x(), Format::fp8);
  s.parallel = {1, 1, 8, 8};
  s.engine.memory.sampler_bytes_per_logit = 38;
  const auto dp = memory::size(s, by(Rule::engine, false));
  s.parallel = {8, 1, 8, 1};
  const auto tp = memory::size(s, by(Rule::engine, false));
  REQUIRE(dp.fits);
  REQUIRE(tp.fits);
  // The latent is not divided by TP: eight pools hold about eight times the conversations, less
  // what the replicated attention weights take.
  CHECK(dp.conversations > 5 * tp.conversations);
  CHECK(dp.num_blocks % 8 == 0);
}

TEST_CASE("SGLang and TensorRT-LLM take their fractions of something else", "[memory]") {
  auto s = test::scenario(test::llama_70b(), b200());
  s.engine.memory.kind = s.engine.engine = "sglang";
  s.knobs.memory_fraction = 0.9;
  s.knobs.block_size = 1;
  const auto sg = memory::size(s, by(Rule::engine, false));
  const double before = (178.35 - 0.5) * test::gib;
  CHECK(sg.kv_bytes_per_gpu == Approx(0.9 * before - sg.weights_bytes_per_gpu).margin(2));
  CHECK(sum(sg) == static_cast<std::int64_t>(sg.kv_bytes_per_gpu));
  CHECK(sg.kv_capacity_tokens == static_cast<std::int64_t>(sg.kv_bytes_per_gpu) / 327680);

  s.engine.memory.kind = s.engine.engine = "trtllm";
  s.engine.version = "1.1";
  s.knobs.block_size = 32;
  const auto trt = memory::size(s, by(Rule::engine, false));
  const double free = 178.35 * test::gib - trt.weights_bytes_per_gpu - trt.reserve_bytes;
  CHECK(trt.kv_bytes_per_gpu == Approx(0.9 * free).margin(2));
  CHECK(sum(trt) == static_cast<std::int64_t>(trt.kv_bytes_per_gpu));
  CHECK(trt.kv_capacity_tokens % 32 == 0);

  s.engine.memory.kind = "unheard-of";
  CHECK_THROWS_AS(memory::size(s, by(Rule::engine, false)), InputError);
}

TEST_CASE("A rule by name needs a name with a number", "[memory]") {
  auto s = test::scenario(test::llama_70b(), b200());
  s.model.nominal_billions = 0;
  CHECK_THROWS_AS(memory::size(s, by(Rule::articles, true)), InputError);
  CHECK(memory::size(s, by(Rule::articles, false)).gpus_needed == 2);
}
