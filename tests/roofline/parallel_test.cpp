// Pipeline stages, ranks of attention data parallelism and expert ranks, on the toy GPU by hand.
#include <catch2/catch.hpp>

#include "toy.hpp"

using namespace servegrid;
using namespace servegrid::roofline;
using catalog::AllToAll;

namespace {

Approx us(double microseconds) {
  return Approx(microseconds * 1e-6).epsilon(1e-6);
}

/// 64 experts of 512, 4 of them a token, spread over 8 ranks.
model::Deployment wide() {
  auto d = toy::deployment();
  auto& m = d.model.layers[0].mlp;
  m = {};
  m.experts = 64;
  m.active_experts = 4;
  m.moe_intermediate = 512;
  d.parallel = {1, 1, 8, 8};
  return d;
}

}  // namespace

TEST_CASE("pipeline: a round is a micro-batch through all stages; the fullest sets the pace") {
  auto d = toy::deployment();
  d.parallel.pp = 2;
  d.step_tokens = 512;
  const StepModel two(d, toy::fit_file()), one(toy::deployment(), toy::fit_file());
  // 16 sequences are two micro-batches of 8: GEMMs of 8 rows over both layers.
  const auto round = two.explain({{}, 16, {16000}});
  const auto half = one.explain({{}, 8, {8000}});
  CHECK(toy::seconds_of(round, "qkv_proj") == Approx(toy::seconds_of(half, "qkv_proj")));
  CHECK(toy::seconds_of(round, "decode_attention") ==
        Approx(toy::seconds_of(half, "decode_attention")));
  CHECK(toy::seconds_of(round, "host") == us(2 * 100 + 16 * 2));  // a launch a stage
  // Two sends of 8 rows of 4 * 1024 bytes: 5 us and 50 % of 100 GB/s.
  CHECK(toy::seconds_of(round, "pipeline_send") == us(2 * (5 + 8 * 4096e-3 / 50)));
  // A prompt within the budget rides in one micro-batch; two of them in two.
  const auto prompt = one.explain({{{512, 0, true}}, 0, {}});
  CHECK(toy::seconds_of(two.explain({{{512, 0, true}}, 0, {}}), "qkv_proj") ==
        Approx(toy::seconds_of(prompt, "qkv_proj")));
  CHECK(toy::seconds_of(two.explain({{{512, 0, true}, {512, 0, true}}, 0, {}}), "qkv_proj") ==
        Approx(toy::seconds_of(prompt, "qkv_proj")));
}

TEST_CASE("ranks: evenly loaded they are the replica's step, unevenly the larger one's") {
  const StepModel model(wide(), toy::fit_file());
  const DecodeCost all = model.decode(64), rank = model.decode_rank(8, 64);
  CHECK(rank.base == all.base);
  // Context of the rank itself counts whole, that of the replica an eighth.
  CHECK(to_seconds(rank.per_token[0]) == Approx(8 * to_seconds(all.per_token[0])).epsilon(1e-6));
  CHECK(model.decode_rank(16, 64).base > rank.base);
  CHECK(model.decode_rank(8, 128).base > rank.base);  // the experts see what others bring
  // A chunk of one rank beside 8 sequences, 600 tokens in all.
  const std::vector<PrefillChunk> chunk = {{512, 0, true}};
  CHECK(model.mixed_rank(chunk, 8, {8000, 0, 0}, 600) > model.mixed_rank({}, 8, {8000, 0, 0}, 600));
  CHECK(model.mixed_rank(chunk, 8, {8000, 0, 0}, 600) <
        model.mixed_rank(chunk, 8, {8000, 0, 0}, 4096));
}

TEST_CASE("expert imbalance: the busiest rank computes and receives that much more") {
  auto d = wide();
  const StepModel even(d, toy::fit_file());
  d.parallel.expert_imbalance = 2;
  const StepModel skewed(d, toy::fit_file());
  const auto flops = [](const StepModel& m) {
    for (const auto& o : m.explain({{}, 64, {}}).operators) {
      if (o.name == "moe_experts") return o.flops;
    }
    return 0.0;
  };
  // 64 tokens x 4 / 8 ranks = 32 pairs of 6 * 1024 * 512 FLOP in 2 layers; twice as many.
  CHECK(flops(even) == Approx(2 * 32 * 6.0 * 1024 * 512));
  CHECK(flops(skewed) == Approx(2 * flops(even)));
  CHECK(skewed.decode(64).base > even.decode(64).base);
}

TEST_CASE("all-to-all backends by hand: 8 ranks of 8 tokens each") {
  auto d = wide();
  d.all_to_all = AllToAll::gather;
  auto step = StepModel(d, toy::fit_file()).explain({{}, 64, {}});
  // 2 layers; 64 tokens of 2048 bytes, 7/8 of them over 50 % of 100 GB/s; 5 us.
  const double gather = 2 * (5 + 64 * 2048e-3 * 7 / 8 / 50);
  CHECK(toy::seconds_of(step, "all_gather") == us(gather));
  CHECK(toy::seconds_of(step, "reduce_scatter") == us(gather));
  CHECK(toy::seconds_of(step, "all_to_all") == 0);
  d.all_to_all = AllToAll::deepep_low_latency;
  CHECK_THROWS_WITH(StepModel(d, toy::fit_file()),
                    Catch::Matchers::Contains("DeepEP was measured"));
  d.gpu.architecture = "Hopper";
  step = StepModel(d, toy::fit_file()).explain({{}, 64, {}});
  // 8 tokens of a rank to 4 experts each: 1 byte a value out at 60 %, 2 back at 55 % of 100 GB/s.
  CHECK(toy::seconds_of(step, "expert_dispatch") == us(2 * (11 + 8 * 4 * 1024e-3 / 60)));
  CHECK(toy::seconds_of(step, "expert_combine") == us(2 * (10.8 + 8 * 4 * 2048e-3 / 55)));
}

TEST_CASE("backends that have nobody to talk to are refused") {
  auto d = wide();
  d.all_to_all = AllToAll::gather;
  d.parallel = {8, 1, 8, 1};
  d.model.layers[0].attention.kv_heads = 8;
  CHECK_THROWS_WITH(model::check(d), Catch::Matchers::Contains("dp 1 has one rank only"));
  d = wide();
  d.parallel.ep = 4;
  d.all_to_all = AllToAll::deepep_normal;
  CHECK_THROWS_WITH(model::check(d), Catch::Matchers::Contains("ep 4 is not tp 1 x dp 8 = 8"));
}
