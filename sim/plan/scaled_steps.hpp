// A step model that is slower (or faster) by one factor: what a run would be if the model erred by
// that much everywhere.
#pragma once

#include <cmath>

#include "roofline/step_times.hpp"

namespace servegrid::plan {

class ScaledSteps final : public roofline::StepTimes {
 public:
  ScaledSteps(const roofline::StepTimes& steps, double factor) : steps_(steps), factor_(factor) {}

  [[nodiscard]] std::span<const std::int64_t> windows() const override { return steps_.windows(); }
  [[nodiscard]] roofline::DecodeCost decode(std::int64_t sequences) const override {
    return scaled(steps_.decode(sequences));
  }
  [[nodiscard]] roofline::DecodeCost decode_rank(std::int64_t sequences,
                                                 std::int64_t rows) const override {
    return scaled(steps_.decode_rank(sequences, rows));
  }
  [[nodiscard]] Ticks mixed_rank(std::span<const roofline::PrefillChunk> chunks,
                                 std::int64_t sequences, const roofline::ContextTokens& context,
                                 std::int64_t rows) const override {
    return scaled(steps_.mixed_rank(chunks, sequences, context, rows));
  }
  [[nodiscard]] Ticks mixed(std::span<const roofline::PrefillChunk> chunks, std::int64_t sequences,
                            const roofline::ContextTokens& context) const override {
    return scaled(steps_.mixed(chunks, sequences, context));
  }
  [[nodiscard]] Ticks first_token_delay() const override {
    return scaled(steps_.first_token_delay());
  }
  [[nodiscard]] double first_token_steps() const override { return steps_.first_token_steps(); }

 private:
  [[nodiscard]] Ticks scaled(Ticks t) const {
    return factor_ == 1.0 ? t
                          : static_cast<Ticks>(std::nearbyint(static_cast<double>(t) * factor_));
  }
  [[nodiscard]] roofline::DecodeCost scaled(roofline::DecodeCost cost) const {
    cost.base = scaled(cost.base);
    for (auto& each : cost.per_token) each = scaled(each);
    return cost;
  }
  const roofline::StepTimes& steps_;
  double factor_;
};

}  // namespace servegrid::plan
