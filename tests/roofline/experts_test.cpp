// Mixture of experts, MLA, sliding windows, sparse and linear attention.
#include <catch2/catch.hpp>
#include <cmath>

#include "roofline/kernel_forms.hpp"
#include "toy.hpp"

using namespace servegrid;
using namespace servegrid::roofline;

namespace {

Approx us(double microseconds) {
  return Approx(microseconds * 1e-6).epsilon(1e-6);
}

model::Deployment moe() {
  auto d = toy::deployment();
  auto& m = d.model.layers[0].mlp;
  m = {};
  m.experts = 64;
  m.active_experts = 4;
  m.moe_intermediate = 512;
  return d;
}

catalog::Attention mla() {
  catalog::Attention a;
  a.kind = catalog::AttentionKind::mla;
  a.heads = 8;
  a.q_lora = 256;
  a.kv_lora = 128;
  a.qk_nope = 128;
  a.qk_rope = 64;
  a.v_head_dim = 128;
  return a;
}

StepBreakdown decode(const model::Deployment& d, std::int64_t n,
                     const ContextTokens& context = {}) {
  return StepModel(d, toy::fit_file()).explain({{}, n, context});
}

double bytes_of(const StepBreakdown& step, const std::string& name) {
  double sum = 0;
  for (const auto& o : step.operators) sum += o.name == name ? o.bytes : 0;
  return sum;
}

}  // namespace

TEST_CASE("experts: touched experts, pad and activation traffic by hand") {
  // 16 tokens x 4 experts; with s = 1 the chances are Beta(1, 15): 15 / (15 + 16) stay untouched.
  const double touched = 64 * 16.0 / 31;
  const double weights = touched * 3 * 1024 * 512 * 2 / 0.8e6;        // us
  const double math = 6.0 * 1024 * 512 * (64 + 10 * touched) / 50e6;  // us
  const double activations = 64 * (4 * 1024 + 6 * 512) / 0.5e6;       // us
  const double streamed = std::cbrt(weights * weights * weights + math * math * math);
  CHECK(toy::seconds_of(decode(moe(), 16), "moe_experts") ==
        us(2 * (streamed + activations + 0.5 * 20)));
  CHECK(toy::seconds_of(decode(moe(), 16), "router") > 0);
}

TEST_CASE("experts left untouched: one token uses k, equal chances are the limit of large shapes") {
  for (const double shape : {0.1, 0.5, 1.0, 20.0}) {
    CHECK(untouched_share(0.0625, shape, 1) == Approx(0.9375));
    CHECK(untouched_share(0.0625, shape, 0) == 1);
    CHECK(untouched_share(1, shape, 3) == 0);
  }
  CHECK(untouched_share(0.0625, 1e6, 16) == Approx(std::pow(0.9375, 16)).epsilon(1e-4));
  CHECK(untouched_share(0.0625, 0.5, 16) > untouched_share(0.0625, 1, 16));
}

TEST_CASE("experts: at one token no more than k are read, at many nearly all are") {
  const double expert = 3.0 * 1024 * 512 * 2, activations = 4 * (4 * 1024.0 + 6 * 512);
  CHECK(bytes_of(decode(moe(), 1), "moe_experts") == Approx(2 * (4 * expert + activations)));
  CHECK(bytes_of(decode(moe(), 4096), "moe_experts") ==
        Approx(2 * (64 * 4096.0 / 4111 * expert + 4096 * activations)));
}

TEST_CASE("expert parallelism: a rank holds whole experts and a share of the tokens") {
  auto tp = moe(), ep = moe();
  tp.parallel.tp = 2;
  ep.parallel.tp = 2;
  ep.parallel.ep = 2;
  // 4096 / (15 + 4096) of the experts touched: half of each, or half of them: the same bytes of
  // weights, half the pairs.
  const double weights = 32 * 4096.0 / 4111 * 3 * 1024 * 512 * 2;
  CHECK(bytes_of(decode(tp, 4096), "moe_experts") ==
        Approx(2 * (weights + 4096 * 4 * (4 * 1024.0 + 6 * 256))));
  CHECK(bytes_of(decode(ep, 4096), "moe_experts") ==
        Approx(2 * (weights + 4096 * 2 * (4 * 1024.0 + 6 * 512))));
}

TEST_CASE("attention-DP: a rank attends to its share, experts see all tokens, all-to-all appears") {
  auto d = moe();
  d.parallel.dp = 2;
  d.parallel.ep = 2;
  const auto step = decode(d, 16, {16000, 0, 0});
  const auto one = decode(moe(), 8, {8000, 0, 0});
  CHECK(toy::seconds_of(step, "decode_attention") ==
        Approx(toy::seconds_of(one, "decode_attention")));
  CHECK(toy::seconds_of(step, "qkv_proj") == Approx(toy::seconds_of(one, "qkv_proj")));
  // 8 tokens of a rank x 1024 x 2 bytes x 2 groups, twice a layer, at 0.3 x 100 GB/s and 12 us.
  CHECK(toy::seconds_of(step, "all_to_all") == us(4 * (12 + 8 * 1024 * 2 * 2 / 30e3)));
  CHECK(toy::seconds_of(step, "all_reduce") == 0);
  const StepModel model(d, toy::fit_file());
  const StepModel single(moe(), toy::fit_file());
  CHECK(to_seconds(model.decode(16).per_token[0]) ==
        Approx(to_seconds(single.decode(16).per_token[0]) / 2));
}

TEST_CASE("MLA: one latent a token whatever TP; compute and bytes by hand") {
  auto d = toy::deployment();
  d.model.layers[0].attention = mla();
  const StepModel one(d, toy::fit_file());
  // A token: (128 + 64)*2 = 384 bytes at 0.8 TB/s; 2*8*(2*128 + 64) = 5120 FLOP at 50 TFLOPS;
  // joined by the 3-norm, both being proportional to the context.
  const double memory = 384 / 0.8e6, math = 5120 / 50e6;
  const double token = std::cbrt(memory * memory * memory + math * math * math);
  CHECK(to_seconds(one.decode(4).per_token[0]) == us(2 * token));
  d.parallel.tp = 2;
  const StepModel two(d, toy::fit_file());
  const auto a = one.explain({{}, 4, {1000000, 0, 0}}), b = two.explain({{}, 4, {1000000, 0, 0}});
  CHECK(bytes_of(a, "decode_attention") == Approx(2 * 384e6));
  CHECK(bytes_of(b, "decode_attention") == bytes_of(a, "decode_attention"));
  // Decode absorbs the latent's expansion, prefill does it; each only in its own step.
  CHECK(toy::seconds_of(a, "absorbed_k") > 0);
  CHECK(toy::seconds_of(a, "kv_b_proj") == 0);
  const auto p = one.explain({{{64, 100, false}}, 0, {}});
  CHECK(toy::seconds_of(p, "absorbed_k") == 0);
  CHECK(toy::seconds_of(p, "kv_b_proj") > 0);
}

TEST_CASE("sliding windows are a context class of their own") {
  auto d = toy::deployment();
  d.model.layers[0].count = 1;
  d.model.layers.push_back(d.model.layers[0]);
  d.model.layers[1].attention.kind = catalog::AttentionKind::window;
  d.model.layers[1].attention.window = 128;
  const StepModel model(d, toy::fit_file());
  REQUIRE(model.windows().size() == 1);
  CHECK(model.windows()[0] == 128);
  const auto cost = model.decode(3);
  CHECK(cost.per_token[0] == cost.per_token[1]);
  CHECK(cost.per_token[2] == 0);
  // A long prompt costs the window layer 128 pairs a token at most.
  const auto step = model.explain({{{4096, 8192, false}}, 0, {}});
  double full = 0, window = 0;
  for (const auto& o : step.operators) {
    if (o.name == "prefill_attention") full = o.flops;
    if (o.name == "prefill_attention_window") window = o.flops;
  }
  CHECK(full == Approx(2.0 * 8 * 256 * 4096 * (8192 + 2048)));
  CHECK(window == Approx(2.0 * 8 * 256 * 4096 * 128));
  for (const std::int64_t w : {256, 512}) {
    d.model.layers.push_back(d.model.layers[1]);
    d.model.layers.back().attention.window = w;
  }
  CHECK_THROWS_AS(StepModel(d, toy::fit_file()), InputError);
}

TEST_CASE("sparse attention reads top-k keys, its indexer all of them") {
  auto d = toy::deployment();
  auto a = mla();
  a.sparse_top_k = 2048;
  a.indexer_heads = 4;
  a.indexer_dim = 64;
  d.model.layers[0].attention = a;
  const StepModel model(d, toy::fit_file());
  REQUIRE(model.windows().size() == 1);
  CHECK(model.windows()[0] == 2048);
  const auto cost = model.decode(1);
  // Indexer: 68 bytes a token at 0.8 TB/s against 512 FLOP at 0.4 x 200 TFLOPS.
  CHECK(to_seconds(cost.per_token[0]) == us(2 * 68 / 0.8e6));
  CHECK(cost.per_token[1] > cost.per_token[0]);
}

TEST_CASE("linear attention: state a sequence, nothing a token of context") {
  auto d = toy::deployment();
  auto& a = d.model.layers[0].attention;
  a = {};
  a.kind = catalog::AttentionKind::linear;
  a.linear_key_heads = 4;
  a.linear_value_heads = 8;
  a.linear_key_dim = 64;
  a.linear_value_dim = 64;
  a.conv_kernel = 4;
  const StepModel model(d, toy::fit_file());
  CHECK(model.decode(8).per_token[0] == 0);
  // 8*64*64*4 bytes of state and (2*256 + 512)*3*2 of convolution, read and written, at 0.6 TB/s.
  const auto step = model.explain({{}, 8, {}});
  CHECK(toy::seconds_of(step, "linear_attention") == us(2 * 8 * 2 * (131072 + 6144) / 0.6e6));
}

TEST_CASE("weights without units for their format: its bytes, arithmetic of bf16") {
  auto d = toy::deployment();
  d.weights = catalog::Format::nvfp4;
  const auto small = decode(d, 1);
  CHECK(bytes_of(small, "mlp_up") == Approx(2 * (8192 * 1024 * 0.5625 + 1024 * 2 + 8192 * 2)));
  // 2,048 rows are bound by arithmetic: no faster than bf16.
  const auto nvfp4 = decode(d, 2048), bf16 = decode(toy::deployment(), 2048);
  const double math = 2 * 2.0 * 2048 * 8192 * 1024 / 50e12;
  CHECK(toy::seconds_of(nvfp4, "mlp_up") > math);
  CHECK(toy::seconds_of(nvfp4, "mlp_up") < toy::seconds_of(bf16, "mlp_up"));
}
