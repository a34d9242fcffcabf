#include "memory/weights.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "memory/ledger.hpp"
#include "scenario.hpp"

using namespace servegrid;
using catalog::Format;
using model::Part;

namespace {

std::map<std::string, std::int64_t> by_part(const memory::Weights& w) {
  std::map<std::string, std::int64_t> out;
  for (const auto& c : w.classes) out[std::string(model::name(c.part))] = c.bytes;
  return out;
}

model::Deployment deploy(catalog::Model m, Format f, catalog::Parallelism p) {
  model::Deployment d;
  d.model = std::move(m);
  d.weights = f;
  d.parallel = p;
  d.gpu = test::gpu("h100", 80e9, 79.2);
  return d;
}

}  // namespace

TEST_CASE("A dense model in 16 bit is two bytes a parameter", "[memory]") {
  const auto w = memory::weights_of(deploy(test::llama_8b(), Format::bf16, {1, 1, 1, 1}));
  CHECK(w.total == 2 * model::parameters_of(test::llama_8b()).total());
  std::int64_t sum = 0;
  for (const auto& c : w.classes) sum += c.bytes;
  CHECK(sum == w.total);
  CHECK(w.repack_band == 0);
}

TEST_CASE("Embedding, head and norms keep 16 bit in FP8", "[memory]") {
  const auto parts =
      by_part(memory::weights_of(deploy(test::llama_8b(), Format::fp8, {1, 1, 1, 1})));
  CHECK(parts.at("embedding") == 2LL * 128256 * 4096);
  CHECK(parts.at("head") == 2LL * 128256 * 4096);
  CHECK(parts.at("dense_mlp") == 32LL * 3 * 4096 * 14336);
  CHECK(parts.at("norms") == 2LL * 65 * 4096);
}

TEST_CASE("A checkpoint's exceptions win over the defaults", "[memory]") {
  auto m = test::llama_8b();
  m.checkpoints = {{Format::nvfp4, "", {{"head", Format::nvfp4}, {"attention", Format::bf16}}, ""}};
  const auto parts = by_part(memory::weights_of(deploy(m, Format::nvfp4, {1, 1, 1, 1})));
  CHECK(parts.at("head") == 128256LL * 4096 * 9 / 16);
  CHECK(parts.at("attention") == 2LL * 32 * 4096 * (2 * 4096 + 2 * 1024));
  CHECK(parts.at("dense_mlp") == 32LL * 3 * 4096 * 14336 * 9 / 16);
}

TEST_CASE("What tensor parallelism divides and what it does not", "[memory]") {
  const auto one = by_part(memory::weights_of(deploy(test::llama_70b(), Format::bf16, {})));
  const auto eight =
      by_part(memory::weights_of(deploy(test::llama_70b(), Format::bf16, {8, 1, 1, 1})));
  CHECK(eight.at("dense_mlp") * 8 == one.at("dense_mlp"));
  CHECK(eight.at("embedding") * 8 == one.at("embedding"));
  CHECK(eight.at("norms") == one.at("norms"));
  // 16 ranks share 8 KV heads: K and V are half the heads' bytes on each.
  const auto sixteen =
      by_part(memory::weights_of(deploy(test::llama_70b(), Format::bf16, {16, 1, 1, 1})));
  const std::int64_t q_and_o = 2LL * 8192 * 8192, one_kv_head = 2LL * 8192 * 128;
  CHECK(sixteen.at("attention") == 80 * 2 * (q_and_o / 16 + one_kv_head));
  CHECK(eight.at("attention") == 80 * 2 * (q_and_o / 8 + one_kv_head));
}

TEST_CASE("Experts are divided over tp x dp, attention over tp alone", "[memory]") {
  const auto tp8 =
      by_part(memory::weights_of(deploy(test::deepseek_v3(), Format::fp8, {8, 1, 8, 1})));
  const auto dp8 =
      by_part(memory::weights_of(deploy(test::deepseek_v3(), Format::fp8, {1, 1, 8, 8})));
  CHECK(tp8.at("experts") == dp8.at("experts"));
  CHECK(tp8.at("experts") == 58LL * 256 * 3 * 7168 * 2048 / 8);
  CHECK(dp8.at("attention") > 4 * tp8.at("attention"));
  CHECK(dp8.at("attention") < 8 * tp8.at("attention"));  // the down-projections are replicated
}

TEST_CASE("The fullest pipeline stage holds its share of layers and one end", "[memory]") {
  const auto one = by_part(memory::weights_of(deploy(test::llama_70b(), Format::bf16, {})));
  const auto w = memory::weights_of(deploy(test::llama_70b(), Format::bf16, {1, 3, 1, 1}));
  const auto three = by_part(w);
  CHECK(three.at("dense_mlp") == one.at("dense_mlp") / 80 * 27);
  CHECK(three.count("embedding") == 0);
  CHECK(three.at("head") == one.at("head"));
}

TEST_CASE("The MTP module loads only with speculation", "[memory]") {
  const auto d = deploy(test::deepseek_v3(), Format::fp8, {8, 1, 1, 1});
  CHECK(by_part(memory::weights_of(d)).count("mtp") == 0);
  CHECK(by_part(memory::weights_of(d, true)).at("mtp") > 1'400'000'000);
}

TEST_CASE("What drafts takes memory: weights and KV, to the byte", "[memory]") {
  auto s = test::scenario(test::llama_70b(), test::gpu("h200", 141e9, 139.8), Format::bf16, 2);
  const auto plain = memory::size(s, {});
  // A head of one layer like the model's own, in bf16: 8192 * (10240 + 8192) of attention and 3 *
  // 8192 * 28672 of MLP over two GPUs, a joining matrix of 2 * 8192 * 8192 over two, its own output
  // head of 128256 (rows to a multiple of 64) * 8192 over two, three norms on both.
  auto head = test::llama_70b();
  head.name = "head";
  head.layers = {head.layers.front()};
  head.layers[0].count = 1;
  s.speculation.method = catalog::Speculation::Method::eagle;
  s.speculation.passes = 2;
  s.speculation.verified = 3;
  s.speculation.draft = std::make_shared<const catalog::Model>(head);
  const auto drafted = memory::size(s, {});
  const double elements =
      (8192.0 * (10240 + 8192) + 3 * 8192.0 * 28672 + 2 * 8192.0 * 8192 + 128256 * 8192.0) / 2 +
      3 * 8192;
  CHECK(drafted.weights_bytes_per_gpu - plain.weights_bytes_per_gpu == 2 * elements);
  // 81 layers keep 2 * 4 * 128 * 2 bytes a token and GPU instead of 80.
  CHECK(plain.kv_bytes_per_token_per_gpu == 80 * 2048);
  CHECK(drafted.kv_bytes_per_token_per_gpu == 81 * 2048);
  // Prompt lookup takes neither.
  s.speculation.method = catalog::Speculation::Method::ngram;
  s.speculation.draft = nullptr;
  const auto ngram = memory::size(s, {});
  CHECK(ngram.weights_bytes_per_gpu == plain.weights_bytes_per_gpu);
  CHECK(ngram.num_blocks == plain.num_blocks);
}

TEST_CASE("MXFP4 experts are padded where the GPU has no FP4 units", "[memory]") {
  auto d = deploy(test::gpt_oss(24, 32), Format::mxfp4, {});
  const std::int64_t real = 24LL * 32 * 3 * 2880 * 2880 * 17 / 32;
  const auto marlin = memory::weights_of(d);
  CHECK(by_part(marlin).at("experts") == 24LL * 32 * 3 * 3072 * 2944 * 17 / 32);
  CHECK(marlin.repack_band == 0);
  d.gpu.hardware_formats.push_back(Format::mxfp4);
  const auto native = memory::weights_of(d);  // a kernel whose padding is not known: a band
  CHECK(by_part(native).at("experts") == real);
  CHECK(static_cast<double>(native.repack_band) ==
        Approx(0.08 * static_cast<double>(real)).epsilon(1e-6));
}
