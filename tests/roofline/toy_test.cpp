// A 2-layer model on a GPU of round numbers: every operator worked out by hand.
#include "toy.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using namespace servegrid;
using namespace servegrid::roofline;

namespace {
Approx us(double microseconds) {
  return Approx(microseconds * 1e-6).epsilon(1e-6);
}
}  // namespace

TEST_CASE("toy decode step: 16 sequences, 16000 tokens of context") {
  const StepModel model(toy::deployment(), toy::fit_file());
  Batch batch;
  batch.sequences = 16;
  batch.context[0] = 16000;
  const auto step = model.explain(batch);
  // GEMMs, 2 layers: bytes/(0.8 TB/s) + 2*16*N*K/(50 TFLOPS) + alpha 0.5 * t0 4 us each.
  // qkv 1024 -> 1536: bytes 1536*1024*2 + 16*1024*2 + 16*1536*2 = 3,227,648: 4.03456 us; math
  // 50,331,648: 1.00663296 us.
  CHECK(toy::seconds_of(step, "qkv_proj") == us(2 * (4.03456 + 1.00663296 + 2)));
  // o 1024 -> 1024: 2,162,688 bytes, 33,554,432 FLOP.
  CHECK(toy::seconds_of(step, "o_proj") == us(2 * (2.70336 + 0.67108864 + 2)));
  // gate and up 1024 -> 8192: 17,072,128 bytes, 268,435,456 FLOP.
  CHECK(toy::seconds_of(step, "mlp_up") == us(2 * (21.34016 + 5.36870912 + 2)));
  // down 4096 -> 1024: 8,552,448 bytes, 134,217,728 FLOP.
  CHECK(toy::seconds_of(step, "mlp_down") == us(2 * (10.69056 + 2.68435456 + 2)));
  // head 1024 -> 32000: 66,592,768 bytes, 1,048,576,000 FLOP.
  CHECK(toy::seconds_of(step, "lm_head") == us(83.24096 + 20.97152 + 2));
  // attention, a layer: 16 sequences * 2 KV heads * 10 ns = 0.32 us; a token has 2*2*128*2 = 1024
  // bytes at 0.9 TB/s, 16000 of them 18.20444 us; 0.5 * 5 us.
  CHECK(toy::seconds_of(step, "decode_attention") == us(2 * (0.32 + 16384.0 / 900 + 2.5)));
  // elementwise: (16*1024 + 4*1024 + 6*4096) = 45,056 bytes a token and layer at 0.75 TB/s; norm,
  // rope and two of the MLP: 4 kernels a layer at 0.5 * 2 us.
  CHECK(toy::seconds_of(step, "elementwise") == us(2 * 16 * 45056e-6 / 0.75 + 8));
  CHECK(toy::seconds_of(step, "host") == us(100 + 16 * 2));
  CHECK(step.operators.size() == 8);
  const double total = 2 * (4.03456 + 1.00663296 + 2.70336 + 0.67108864 + 21.34016 + 5.36870912 +
                            10.69056 + 2.68435456 + 4 * 2) +
                       83.24096 + 20.97152 + 2 + 2 * (0.32 + 16384.0 / 900 + 2.5) +
                       2 * 16 * 45056e-6 / 0.75 + 8 + 132;
  CHECK(step.seconds == us(total));
  CHECK(step.flops == Approx(2.0 * 16 * (2 * (1536 + 1024 + 8192 + 4096) * 1024.0 + 32768000) +
                             2 * 4.0 * 8 * 128 * 16000));
}

TEST_CASE("toy prefill step: one prompt of 512 tokens over 100 cached ones beside 16 sequences") {
  const StepModel model(toy::deployment(), toy::fit_file());
  Batch batch;
  batch.prefill = {{512, 100, true}};
  batch.sequences = 16;
  batch.context[0] = 16000;
  const auto step = model.explain(batch);
  // 528 rows take 5 tiles of 128 rows: math counts 640 rows. All kernels x pf 1.5.
  const double qkv =
      (1536 * 1024 * 2 + 528 * 1024 * 2 + 528 * 1536 * 2) / 0.8e6 + 2.0 * 640 * 1536 * 1024 / 50e6;
  CHECK(toy::seconds_of(step, "qkv_proj") == us(1.5 * 2 * (qkv + 2)));
  // 17 rows of the head: the 16 decoding ones and the prompt's last; a tile of 32 rows.
  const double head =
      (32000 * 1024 * 2 + 17 * 1024 * 2 + 17 * 32000 * 2) / 0.8e6 + 2.0 * 32 * 32000 * 1024 / 50e6;
  CHECK(toy::seconds_of(step, "lm_head") == us(1.5 * (head + 2)));
  // 512*(100 + 256) pairs of 2*8*256 FLOP at 50 TFLOPS x (1 + 128/512); Q and output 512*2*2*1024
  // bytes, K and V of 612 tokens at 1024 bytes each, at 0.5 TB/s.
  const double math = 2.0 * 8 * 256 * 512 * 356;
  const double attention = math * 1.25 / 50e6 + (512 * 4096 + 612 * 1024) / 0.5e6;
  CHECK(toy::seconds_of(step, "prefill_attention") == us(1.5 * 2 * (attention + 3)));
  CHECK(toy::seconds_of(step, "decode_attention") == us(1.5 * 2 * (0.32 + 16384.0 / 900 + 2.5)));
  CHECK(toy::seconds_of(step, "elementwise") == us(1.5 * 2 * 528 * 45056e-6 / 0.75 + 8));
  // 4 GEMMs, 2 kernels of attention, 4 elementwise a layer, and the head: 21, at 50 us for 14.
  CHECK(toy::seconds_of(step, "prefill_launch") == us(75));
  CHECK(toy::seconds_of(step, "host") == us(100 + 17 * 2));
}

TEST_CASE("decode is affine, explain adds up to it, and it grows with sequences and context") {
  for (const char* engine : {"vllm", "sglang"}) {
    auto d = toy::deployment();
    d.engine = engine;
    const StepModel model(d, toy::fit_file());
    Ticks before = 0;
    for (const std::int64_t n : {1, 2, 7, 16, 17, 33, 64, 129, 500}) {
      const auto cost = model.decode(n);
      CHECK(cost.base > before);
      before = cost.base;
      CHECK(cost.per_token[0] > 0);
      CHECK(cost.per_token[1] == 0);
      for (const std::int64_t context : {n, 1000 * n, 100000 * n}) {
        Batch batch;
        batch.sequences = n;
        batch.context[0] = context;
        const double exact = to_seconds(cost.base + cost.per_token[0] * context);
        CHECK(model.explain(batch).seconds == Approx(exact).epsilon(1e-9));
        CHECK(to_seconds(model.mixed({}, n, batch.context)) == Approx(exact).epsilon(1e-9));
      }
      CHECK(model.decode(n).base == cost.base);
    }
  }
}

TEST_CASE("a step's seconds by bound and operators add up; mixed equals explain") {
  const StepModel model(toy::deployment(), toy::fit_file());
  Batch batch;
  batch.prefill = {{300, 0, false}, {40, 2000, true}, {1, 17, true}};
  batch.sequences = 9;
  batch.context[0] = 12345;
  const auto step = model.explain(batch);
  double by_bound = 0, by_operator = 0;
  for (const double s : step.seconds_by_bound) by_bound += s;
  for (const auto& o : step.operators) by_operator += o.seconds;
  CHECK(by_bound == Approx(step.seconds));
  CHECK(by_operator == Approx(step.seconds));
  CHECK(model.mixed(batch.prefill, batch.sequences, batch.context) == to_ticks(step.seconds));
}

TEST_CASE("more bandwidth, less work and more GPUs make a step faster") {
  const auto seconds = [](const model::Deployment& d) {
    return to_seconds(StepModel(d, toy::fit_file()).decode(64).base);
  };
  auto faster = toy::deployment();
  faster.gpu.memory.bandwidth = 1.1e12;
  faster.gpu.overridden = {"memory.bandwidth"};
  CHECK(seconds(faster) < seconds(toy::deployment()));
  CHECK(StepModel(faster, toy::fit_file()).trust() == "what-if");
  auto eight_bit = toy::deployment();
  eight_bit.weights = catalog::Format::fp8;
  CHECK(seconds(eight_bit) < seconds(toy::deployment()));
  auto two = toy::deployment();
  two.parallel.tp = 2;
  const StepModel split(two, toy::fit_file());
  Batch batch;
  batch.sequences = 16;
  batch.context[0] = 16000;
  const auto step = split.explain(batch);
  // Half the heads, half the KV heads: 512 bytes a token; four all-reduces of 16*1024*2 bytes at
  // min(4 us + S/50 GB/s, 14 us + S/100 GB/s); 3 us a layer and log2(2).
  CHECK(toy::seconds_of(step, "decode_attention") == us(2 * (0.16 + 8192.0 / 900 + 2.5)));
  CHECK(toy::seconds_of(step, "all_reduce") == us(4 * (4 + 32768e-6 / 0.05)));
  CHECK(toy::seconds_of(step, "group_sync") == us(6));
}

TEST_CASE("pipeline stages: a round is every stage once, attention work is shared") {
  auto d = toy::deployment();
  d.parallel.pp = 2;
  const StepModel two(d, toy::fit_file());
  const StepModel one(toy::deployment(), toy::fit_file());
  // Two micro-batches of 8 pass both stages: all layers at 8 rows, the head and the host twice.
  const auto expected = one.explain({{}, 8, {}});
  const auto round = two.explain({{}, 16, {}});
  CHECK(toy::seconds_of(round, "mlp_up") == Approx(toy::seconds_of(expected, "mlp_up")));
  CHECK(toy::seconds_of(round, "lm_head") == Approx(2 * toy::seconds_of(expected, "lm_head")));
  CHECK(toy::seconds_of(round, "host") == us(2 * 100 + 16 * 2));
  CHECK(to_seconds(two.decode(16).per_token[0]) ==
        Approx(to_seconds(one.decode(16).per_token[0]) / 2));
  CHECK(toy::seconds_of(round, "pipeline_send") > 0);
}

TEST_CASE("first token of each engine") {
  const StepModel vllm(toy::deployment(), toy::fit_file());
  CHECK(vllm.first_token_steps() == 3);
  CHECK(vllm.first_token_delay() == to_ticks(15e-3));
  auto d = toy::deployment();
  d.engine = "sglang";
  const StepModel sglang(d, toy::fit_file());
  CHECK(sglang.first_token_steps() == 28);
}

TEST_CASE("costs can be replaced, and memoised steps follow") {
  StepModel model(toy::deployment(), toy::fit_file());
  const Ticks before = model.decode(4).base;
  auto costs = model.costs();
  costs.per_step += 1e-3;
  model.set_costs(costs);
  CHECK(to_seconds(model.decode(4).base - before) == Approx(1e-3));
  CHECK_THROWS_AS(model.decode(0), RunError);
}
