// A step model whose times can be worked out by hand.
#pragma once

#include "cluster/simulate.hpp"
#include "metrics/writers.hpp"

namespace toy {

using servegrid::Ticks;
using servegrid::to_ticks;

/// Every step takes `step` seconds, and `per_token` more for each token of context in a decode
/// step.
class Steps final : public servegrid::roofline::StepTimes {
 public:
  explicit Steps(double step, double per_token = 0)
      : step_(to_ticks(step)), per_token_(to_ticks(per_token)) {}
  [[nodiscard]] std::span<const std::int64_t> windows() const override { return {}; }
  [[nodiscard]] servegrid::roofline::DecodeCost decode(std::int64_t) const override {
    return {step_, {per_token_, 0, 0}};
  }
  [[nodiscard]] Ticks mixed(std::span<const servegrid::roofline::PrefillChunk>, std::int64_t,
                            const servegrid::roofline::ContextTokens& context) const override {
    return step_ + per_token_ * context[0];
  }
  [[nodiscard]] Ticks first_token_delay() const override { return 0; }
  [[nodiscard]] double first_token_steps() const override { return 0; }

 private:
  Ticks step_, per_token_;
};

inline servegrid::catalog::LengthSpec fixed(double tokens) {
  servegrid::catalog::LengthSpec spec;
  spec.mean = tokens;
  return spec;
}

inline servegrid::catalog::LengthSpec uniform(double low, double high) {
  servegrid::catalog::LengthSpec spec;
  spec.kind = servegrid::catalog::LengthSpec::Kind::uniform;
  spec.low = low;
  spec.high = high;
  spec.mean = (low + high) / 2;
  return spec;
}

inline servegrid::catalog::Scenario scenario(servegrid::catalog::WorkloadSpec::Kind kind) {
  servegrid::catalog::Scenario s;
  s.workload.kind = kind;
  s.workload.concurrent = 12;
  s.workload.prompt = uniform(20, 300);
  s.workload.turn_input = uniform(5, 50);
  s.workload.output = uniform(1, 200);
  s.workload.history = 100;
  s.workload.turns = 3;
  if (kind == servegrid::catalog::WorkloadSpec::Kind::open) s.workload.rate = 5;
  s.workload.requests = 300;
  s.knobs.max_num_seqs = 8;
  s.knobs.max_num_batched_tokens = 256;
  s.gpu.host_bandwidth = 64e9;
  return s;
}

inline std::string text(const servegrid::metrics::RunResult& result) {
  return requests_csv(result) + timeline_csv(result);
}

}  // namespace toy
