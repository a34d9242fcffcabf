// The same closed loop under every scheduler, with the same times for the same steps: what sets
// them apart in the literature shows.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "cluster/simulate.hpp"
#include "toy.hpp"

using namespace servegrid;
using catalog::Policy;

namespace {

/// 10 ms and 20 us a sequence for a decode step; 50 us a token for prompts, in the same step or
/// alone.
class Times final : public roofline::StepTimes {
 public:
  [[nodiscard]] std::span<const std::int64_t> windows() const override { return {}; }
  [[nodiscard]] roofline::DecodeCost decode(std::int64_t n) const override {
    return {base_ + n * sequence_, {}};
  }
  [[nodiscard]] Ticks mixed(std::span<const roofline::PrefillChunk> chunks, std::int64_t n,
                            const roofline::ContextTokens&) const override {
    Ticks t = base_ + n * sequence_;
    for (const auto& c : chunks) t += c.tokens * token_;
    return t;
  }
  [[nodiscard]] Ticks first_token_delay() const override { return 0; }
  [[nodiscard]] double first_token_steps() const override { return 0; }

 private:
  Ticks base_ = to_ticks(10e-3), sequence_ = to_ticks(20e-6), token_ = to_ticks(50e-6);
};

struct Seen {
  double ttft = 0;        // mean [s]
  double throughput = 0;  // output tokens a second
  double stall = 0;       // longest time without a decode step while somebody decodes [s]
  std::int64_t preemptions = 0;
};

Seen seen(Policy policy, std::int64_t num_blocks) {
  catalog::Scenario s = toy::scenario(catalog::WorkloadSpec::Kind::closed);
  s.engine.policy = policy;
  s.knobs.max_num_seqs = 64;
  s.knobs.max_num_batched_tokens = policy == Policy::vllm_v0 ? 2048 : 512;
  s.knobs.max_model_len = 2048;
  s.knobs.watermark = policy == Policy::vllm_v0 || policy == Policy::sarathi ? 0.01 : 0;
  s.workload.concurrent = 48;
  s.workload.prompt = toy::uniform(100, 1500);
  s.workload.output = toy::uniform(20, 400);
  s.workload.requests = 960;
  const auto result = cluster::simulate(s, Times(), num_blocks, 0);
  Seen out;
  std::int64_t tokens = 0;
  for (const auto& r : result.requests) {
    REQUIRE(r.outcome == metrics::Outcome::completed);
    out.ttft += to_seconds(r.first_token - r.arrival) / 960;
    tokens += r.output_tokens;
  }
  out.throughput = static_cast<double>(tokens) / to_seconds(result.end);
  double without = 0;
  for (const auto& e : result.timeline) {
    const double step = to_seconds(e.first_step);
    out.stall = std::max(out.stall, e.sequences > 0 ? step : without += step);
    if (e.sequences > 0) without = 0;
  }
  out.preemptions = result.counters.preemptions;
  return out;
}

}  // namespace

TEST_CASE("SGLang's prompts first: the first token comes sooner, and streams stall", "[cluster]") {
  const Seen vllm = seen(Policy::vllm_v1, 10000), sglang = seen(Policy::sglang, 10000);
  CHECK(sglang.ttft < 0.9 * vllm.ttft);
  CHECK(sglang.stall > 3 * vllm.stall);
  // vLLM V0 had the same order of things.
  CHECK(seen(Policy::vllm_v0, 10000).stall > 3 * vllm.stall);
}

TEST_CASE("from static batches to paged and chunked ones", "[cluster]") {
  // 4,000 blocks hold 31 reservations of 2,048 tokens, or all 48 users.
  std::map<Policy, Seen> of;
  for (const Policy p : {Policy::static_batch, Policy::orca, Policy::sarathi, Policy::vllm_v1,
                         Policy::sglang, Policy::vllm_v0, Policy::atom}) {
    of[p] = seen(p, 4000);
  }
  CHECK(of[Policy::orca].throughput > 1.3 * of[Policy::static_batch].throughput);
  CHECK(of[Policy::orca].ttft < of[Policy::static_batch].ttft);
  for (const Policy paged : {Policy::sarathi, Policy::vllm_v1, Policy::sglang, Policy::vllm_v0}) {
    INFO(static_cast<int>(paged));
    CHECK(of[paged].throughput > 1.05 * of[Policy::orca].throughput);
    CHECK(of[paged].ttft < of[Policy::orca].ttft);
  }
  CHECK(of[Policy::orca].preemptions == 0);
}

TEST_CASE("under memory pressure: who preempts, and who forecasts", "[cluster]") {
  // 1,500 blocks: 24,000 tokens for 48 users of 1,000.
  const Seen vllm = seen(Policy::vllm_v1, 1500), sglang = seen(Policy::sglang, 1500);
  const Seen trtllm = seen(Policy::trtllm, 1500);
  CHECK(vllm.preemptions > 20);
  CHECK(sglang.preemptions < vllm.preemptions / 4);
  CHECK(trtllm.preemptions == 0);
}
