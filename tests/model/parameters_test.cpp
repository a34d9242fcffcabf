#include "model/parameters.hpp"

#include <catch2/catch.hpp>

#include "models.hpp"

using namespace servegrid;
using model::Part;

namespace {
double total(const catalog::Model& m) {
  return static_cast<double>(model::parameters_of(m).total() -
                             model::parameters_of(m).of(Part::vision)) /
         1e9;
}
double active(const catalog::Model& m) {
  return static_cast<double>(model::active_parameters_of(m)) / 1e9;
}
}  // namespace

TEST_CASE("Parameters agree with the published configurations", "[model]") {
  // Totals in billions as recomputed from each model's published configuration.
  CHECK(total(test::llama_70b()) == Approx(70.554).epsilon(1e-4));
  CHECK(total(test::llama_8b()) == Approx(8.030).epsilon(1e-4));
  CHECK(total(test::deepseek_v3()) == Approx(671.026).epsilon(1e-4));
  CHECK(total(test::gpt_oss(36, 128)) == Approx(116.829).epsilon(1e-3));  // biases not counted
  CHECK(total(test::gpt_oss(24, 32)) == Approx(20.915).epsilon(1e-3));
  auto a = test::gqa(64, 4, 128);
  a.qk_norm = true;
  CHECK(total(test::model("qwen3-235b", 4096, 151936, {{94, a, test::moe(128, 8, 1536)}})) ==
        Approx(235.094).epsilon(1e-4));
  CHECK(total(test::model("mixtral", 4096, 32000,
                          {{32, test::gqa(32, 8, 128), test::moe(8, 2, 14336)}})) ==
        Approx(46.703).epsilon(1e-4));
}

TEST_CASE("Active parameters leave the idle experts out", "[model]") {
  CHECK(active(test::llama_70b()) == Approx(70.554).epsilon(1e-4));
  // 36.626 without the input embedding of 129280 x 7168.
  CHECK(active(test::deepseek_v3()) == Approx(36.626 + 0.9267).epsilon(1e-3));
  CHECK(active(test::gpt_oss(36, 128)) == Approx(5.133 + 0.579).epsilon(2e-3));
}

TEST_CASE("Each part is counted by hand on a toy", "[model]") {
  auto a = test::gqa(4, 2, 8);
  a.qkv_bias = a.qk_norm = a.output_gate = true;
  auto mlp = test::moe(4, 1, 6, 5);
  mlp.intermediate = 7;
  const auto p = model::parameters_of(test::model("toy", 10, 100, {{2, a, mlp}}));
  CHECK(p.of(Part::embedding) == 1000);
  CHECK(p.of(Part::head) == 1000);
  // q and gate 2 x (10 + 1) x 32, k and v 2 x (10 + 1) x 16, o 32 x 10
  CHECK(p.of(Part::attention) == 2 * (704 + 352 + 320));
  CHECK(p.of(Part::dense_mlp) == 2 * 3 * 10 * 7);
  CHECK(p.of(Part::experts) == 2 * 4 * 3 * 10 * 6);
  CHECK(p.of(Part::shared_experts) == 2 * 3 * 10 * 5);
  CHECK(p.of(Part::router) == 2 * 10 * 4);
  CHECK(p.of(Part::norms) == 2 * (2 * 10 + 2 * 8) + 10);
  CHECK(p.of(Part::mtp) == 0);
}

TEST_CASE("The sparse indexer of DeepSeek-V3.2 adds 0.85 billion", "[model]") {
  auto m = test::deepseek_v3();
  for (auto& g : m.layers) {
    g.attention.sparse_top_k = 2048;
    g.attention.indexer_heads = 64;
    g.attention.indexer_dim = 128;
  }
  CHECK(total(m) == Approx(671.878).epsilon(1e-4));
}

TEST_CASE("Recurrent layers and one-block layers", "[model]") {
  // Nemotron-3-Nano-30B-A3B: 23 Mamba-2, 6 attention and 23 expert blocks, each a layer of its own.
  catalog::Attention mamba;
  mamba.kind = catalog::AttentionKind::mamba;
  mamba.heads = 64;
  mamba.head_dim = 64;
  mamba.ssm_state = 128;
  mamba.ssm_groups = 8;
  mamba.conv_kernel = 4;
  auto experts = test::moe(128, 6, 1856, 3712);
  experts.gated = false;
  const auto nano = test::model(
      "nano", 2688, 131072, {{23, mamba, {}}, {6, test::gqa(32, 2, 128), {}}, {23, {}, experts}});
  CHECK(total(nano) == Approx(31.578).epsilon(1e-3));
  // Qwen3-Next-80B-A3B: 36 gated delta nets and 12 gated attention layers.
  auto full = test::gqa(16, 2, 256);
  full.qk_norm = full.output_gate = true;
  catalog::Attention linear;
  linear.kind = catalog::AttentionKind::linear;
  linear.linear_key_heads = 16;
  linear.linear_value_heads = 32;
  linear.linear_key_dim = linear.linear_value_dim = 128;
  linear.conv_kernel = 4;
  const auto mlp = test::moe(512, 10, 512, 512);
  CHECK(total(test::model("next", 2048, 151936, {{12, full, mlp}, {36, linear, mlp}})) ==
        Approx(79.674).epsilon(1e-3));
}

TEST_CASE("The MTP module repeats a layer that keeps KV", "[model]") {
  const auto p = model::parameters_of(test::deepseek_v3());
  CHECK(static_cast<double>(p.of(Part::mtp)) / 1e9 == Approx(11.5).epsilon(0.02));
  CHECK(model::mtp_layer(test::qwen_hybrid_27b()).attention.kind == catalog::AttentionKind::full);
}
