// The cost of a speculative step, worked out by hand on the toy GPU.
#include <catch2/catch.hpp>

#include "toy.hpp"

using namespace servegrid;
using namespace servegrid::roofline;

namespace {

Approx us(double microseconds) {
  return Approx(microseconds * 1e-6).epsilon(1e-6);
}

catalog::Speculation drafts(catalog::Speculation::Method method, std::int64_t passes) {
  catalog::Speculation s;
  s.method = method;
  s.passes = passes;
  s.verified = passes + 1;
  s.acceptance.assign(static_cast<std::size_t>(passes), 0.5);
  return s;
}

Batch sixteen() {
  Batch batch;
  batch.sequences = 16;
  batch.context[0] = 16000;
  return batch;
}

}  // namespace

TEST_CASE("ngram: the step verifies 3 tokens of each of 16 sequences, nothing else") {
  auto d = toy::deployment();
  d.speculation = drafts(catalog::Speculation::Method::ngram, 2);
  const StepModel model(d, toy::fit_file());
  const auto step = model.explain(sixteen());
  // 48 rows take a tile of 64: math 2*64*N*K at 50 TFLOPS, bytes at 0.8 TB/s, 0.5 * 4 us.
  const double qkv =
      (1536 * 1024 * 2 + 48 * 1024 * 2 + 48 * 1536 * 2) / 0.8e6 + 2.0 * 64 * 1536 * 1024 / 50e6;
  const double head =
      (32000 * 1024 * 2 + 48 * 1024 * 2 + 48 * 32000 * 2) / 0.8e6 + 2.0 * 64 * 32000 * 1024 / 50e6;
  CHECK(toy::seconds_of(step, "qkv_proj") == us(2 * (qkv + 2)));
  CHECK(toy::seconds_of(step, "lm_head") == us(head + 2));
  // Keys are read once a sequence: 1024 bytes a token at 0.9 TB/s is 1.138 ns; the math of three
  // queries, 3 * 2*8*256 FLOP at 50 TFLOPS, is 0.246 ns and hides behind it.
  CHECK(toy::seconds_of(step, "decode_attention") == us(2 * (0.32 + 16384.0 / 900 + 2.5)));
  CHECK(toy::seconds_of(step, "elementwise") == us(2 * 48 * 45056e-6 / 0.75 + 8));
  CHECK(toy::seconds_of(step, "host") == us(100 + 16 * 2));
  for (const auto& o : step.operators) CHECK(o.name.rfind("draft_", 0) != 0);
}

TEST_CASE("MTP: two passes of one layer and the head, the first over all verified tokens") {
  auto d = toy::deployment();
  d.model.mtp_layers = 1;
  d.speculation = drafts(catalog::Speculation::Method::mtp, 2);
  const StepModel model(d, toy::fit_file());
  const auto step = model.explain(sixteen());
  const auto gemm = [](double m, double tile, double n, double k) {
    return (n * k * 2 + m * k * 2 + m * n * 2) / 0.8e6 + 2 * tile * n * k / 50e6 + 2;
  };
  CHECK(toy::seconds_of(step, "draft_qkv_proj") ==
        us(gemm(48, 64, 1536, 1024) + gemm(16, 16, 1536, 1024)));
  CHECK(toy::seconds_of(step, "draft_lm_head") ==
        us(gemm(48, 64, 32000, 1024) + gemm(16, 16, 32000, 1024)));
  // The model's state and the token's embedding, 2048 wide, become one of 1024.
  CHECK(toy::seconds_of(step, "draft_join") ==
        us(gemm(48, 64, 1024, 2048) + gemm(16, 16, 1024, 2048)));
  // One layer reads all keys in each pass.
  CHECK(toy::seconds_of(step, "draft_decode_attention") == us(2 * (0.32 + 16384.0 / 900 + 2.5)));
  CHECK(toy::seconds_of(step, "host") == us(132));  // once a step
  // Sum of what is explained = what the engine is told; 4 layers' reads of a token of context.
  const DecodeCost cost = model.decode(16);
  CHECK(to_seconds(cost.base + cost.per_token[0] * 16000) == Approx(step.seconds).epsilon(1e-9));
  CHECK(to_seconds(cost.per_token[0]) == Approx(4 * 1024 / 0.9e12).epsilon(1e-6));
  double sum = 0;
  for (const auto& o : step.operators) sum += o.seconds;
  CHECK(sum == Approx(step.seconds).epsilon(1e-12));
}

TEST_CASE("A draft model of one layer; a prompt passes through it once") {
  auto d = toy::deployment();
  d.speculation = drafts(catalog::Speculation::Method::draft_model, 3);
  auto draft = toy::model();
  draft.name = "small";
  draft.layers[0].count = 1;
  d.speculation.draft = std::make_shared<const catalog::Model>(draft);
  const StepModel model(d, toy::fit_file());
  Batch prompt;
  prompt.prefill = {{512, 0, true}};
  const auto step = model.explain(prompt);
  CHECK(toy::seconds_of(step, "draft_qkv_proj") ==
        Approx(toy::seconds_of(step, "qkv_proj") / 2).epsilon(1e-9));
  CHECK(toy::seconds_of(step, "draft_join") == 0);
  // Faster per token than without, when half of the drafts are accepted, and slower when none is.
  const StepModel plain(toy::deployment(), toy::fit_file());
  const double with = model.explain(sixteen()).seconds, without = plain.explain(sixteen()).seconds;
  CHECK(with > without);
  CHECK(with / d.speculation.tokens_per_step() < 2 * without);
}

TEST_CASE("Drafts that do not fit the ranks are refused") {
  auto d = toy::deployment();
  d.speculation = drafts(catalog::Speculation::Method::draft_model, 1);
  auto draft = toy::model();
  draft.name = "small";
  draft.layers[0].attention.heads = 3;
  draft.layers[0].attention.kv_heads = 3;
  d.speculation.draft = std::make_shared<const catalog::Model>(draft);
  d.parallel.tp = 2;
  CHECK_THROWS_WITH(model::check(d),
                    Catch::Matchers::Contains("draft small: tp 2 does not divide"));
  d = toy::deployment();
  d.speculation = drafts(catalog::Speculation::Method::ngram, 1);
  d.parallel.pp = 2;
  CHECK_THROWS_WITH(model::check(d), Catch::Matchers::Contains("over pp 2 stages is not modelled"));
}
