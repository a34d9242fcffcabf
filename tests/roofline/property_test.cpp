// What holds for every deployment: finite and positive times, decode affine and growing, mixed
// equal to its explanation, more prefill never faster.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "toy.hpp"

using namespace servegrid;
using namespace servegrid::roofline;

namespace {

/// Raw draws only: distributions of the standard library differ between compilers.
class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % n); }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<std::int64_t>(values.size()))];
  }

 private:
  std::mt19937 engine_;
};

catalog::Attention attention(Draw& draw) {
  auto a = toy::model().layers[0].attention;
  switch (draw.below(5)) {
    case 0:
      a.kind = catalog::AttentionKind::window;
      a.window = 512;
      break;
    case 1:
      a = {};
      a.kind = catalog::AttentionKind::mla;
      a.heads = 16;
      a.q_lora = draw.of({0, 512});
      a.kv_lora = 256;
      a.qk_nope = 128;
      a.qk_rope = 64;
      a.v_head_dim = 128;
      if (draw.below(2) == 1) {
        a.sparse_top_k = 2048;
        a.indexer_heads = 16;
        a.indexer_dim = 128;
      }
      break;
    case 2:
      a = {};
      a.kind = catalog::AttentionKind::linear;
      a.linear_key_heads = 8;
      a.linear_value_heads = 16;
      a.linear_key_dim = a.linear_value_dim = 128;
      a.conv_kernel = 4;
      break;
    case 3:
      a = {};
      a.kind = catalog::AttentionKind::mamba;
      a.heads = 16;
      a.head_dim = 64;
      a.ssm_state = 128;
      a.ssm_groups = 2;
      a.conv_kernel = 4;
      break;
    default:
      a.qk_norm = draw.below(2) == 1;
      a.output_gate = draw.below(2) == 1;
      break;
  }
  return a;
}

model::Deployment deployment(Draw& draw) {
  auto d = toy::deployment();
  d.model.layers.clear();
  const auto groups = 1 + draw.below(3);
  for (std::int64_t i = 0; i < groups; ++i) {
    catalog::LayerGroup g;
    g.count = static_cast<int>(2 + draw.below(20));
    g.attention = attention(draw);
    if (draw.below(2) == 1) {
      g.mlp.intermediate = 4096;
    } else {
      g.mlp.experts = 64;
      g.mlp.active_experts = 4;
      g.mlp.moe_intermediate = 512;
      g.mlp.shared_intermediate = draw.of({0, 512});
    }
    d.model.layers.push_back(g);
  }
  d.engine = draw.of({"vllm", "sglang", "trtllm"});
  d.weights = draw.of({catalog::Format::bf16, catalog::Format::fp8, catalog::Format::fp8_block,
                       catalog::Format::nvfp4, catalog::Format::int4_g128});
  d.kv_cache = draw.of({catalog::Format::bf16, catalog::Format::fp8});
  d.parallel.tp = draw.of({1, 2});
  d.parallel.dp = draw.of({1, 2, 4});
  d.parallel.pp = draw.of({1, 2});
  bool experts = false;
  for (const auto& g : d.model.layers) experts = experts || g.mlp.experts > 0;
  d.parallel.ep = experts && draw.below(2) == 1 ? d.parallel.tp * d.parallel.dp : 1;
  return d;
}

void check(const StepModel& model, Draw& draw) {
  const std::int64_t n = 1 + draw.below(300);
  Batch batch;
  batch.sequences = n;
  for (auto& c : batch.context) c = n * draw.below(5000);
  const auto cost = model.decode(n);
  CHECK(model.decode(n + 64).base > cost.base);
  Ticks affine = cost.base;
  for (std::size_t c = 0; c < batch.context.size(); ++c) {
    CHECK(cost.per_token[c] >= 0);
    affine += cost.per_token[c] * batch.context[c];
  }
  const auto decode = model.explain(batch);
  CHECK(std::isfinite(decode.seconds));
  CHECK(decode.seconds == Approx(to_seconds(affine)).epsilon(1e-9));
  const auto chunks = 1 + draw.below(4);
  for (std::int64_t i = 0; i < chunks; ++i) {
    batch.prefill.push_back({1 + draw.below(4000), draw.below(20000), draw.below(2) == 1});
  }
  const auto step = model.explain(batch);
  CHECK(model.mixed(batch.prefill, n, batch.context) == to_ticks(step.seconds));
  CHECK(step.seconds > decode.seconds);
  double sum = 0;
  for (const auto& o : step.operators) {
    CHECK(o.seconds >= 0);
    CHECK(std::isfinite(o.flops + o.bytes + o.fabric_bytes));
    sum += o.seconds;
  }
  CHECK(sum == Approx(step.seconds));
  auto more = batch.prefill;
  more.back().tokens += 4000;
  CHECK(model.mixed(more, n, batch.context) > to_ticks(step.seconds));
}

}  // namespace

TEST_CASE("300 random deployments: affine, growing, explained to the tick") {
  Draw draw(7);
  for (int i = 0; i < 300; ++i) {
    const auto d = deployment(draw);
    INFO("deployment " << i << ": " << d.engine << " tp " << d.parallel.tp << " dp "
                       << d.parallel.dp << " pp " << d.parallel.pp << " ep " << d.parallel.ep);
    const StepModel model(d, draw.below(3) == 0 ? std::string() : toy::fit_file());
    check(model, draw);
  }
}
