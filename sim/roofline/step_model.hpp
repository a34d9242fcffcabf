// The step model: operators of a deployment, each with FLOPs, bytes of HBM and of fabric, a time
// and what bounds it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/deployment.hpp"
#include "roofline/step_times.hpp"

namespace servegrid::roofline {

enum class Bound { compute, memory, fabric, latency, host };

struct OperatorTime {
  std::string
      name;  // "qkv_proj", "decode_attention", "all_reduce", "moe_experts", "lm_head", "host", ...
  int count = 1;            // times in the step
  double flops = 0;         // all of them together, per GPU
  double bytes = 0;         // HBM bytes, all together, per GPU
  double fabric_bytes = 0;  // sent per GPU
  double seconds = 0;       // all together
  Bound bound = Bound::memory;
  std::string efficiency;  // "e_c 0.80, e_b 0.87, t0 3.6 us"
  std::string
      source;  // "fit b200/vllm gemm bf16 (7 %, n 2100)" or "data sheet", "inherited from ..."
};

/// A step as MFU, MBU and the time-by-bound metric need it.
struct StepTotals {
  double seconds = 0;
  double flops = 0, bytes = 0;               // per GPU
  std::array<double, 5> seconds_by_bound{};  // index: Bound
};

/// The same with every operator.
struct StepBreakdown : StepTotals {
  std::vector<OperatorTime> operators;
};

struct Batch {
  std::vector<PrefillChunk> prefill;
  std::int64_t sequences = 0;
  ContextTokens context{};
};

class StepModel final : public StepTimes {
 public:
  /// Compiles the operator table of a deployment. `fits_dir_lookup` finds a fit file by name ("" =
  /// none). Throws InfeasibleError / InputError as model::check does.
  StepModel(const model::Deployment& deployment, const std::string& fit_file);
  ~StepModel() override;

  [[nodiscard]] std::span<const std::int64_t> windows() const override;
  [[nodiscard]] DecodeCost decode(std::int64_t sequences) const override;
  [[nodiscard]] Ticks mixed(std::span<const PrefillChunk> chunks, std::int64_t sequences,
                            const ContextTokens& context) const override;
  [[nodiscard]] DecodeCost decode_rank(std::int64_t sequences, std::int64_t rows) const override;
  [[nodiscard]] Ticks mixed_rank(std::span<const PrefillChunk> chunks, std::int64_t sequences,
                                 const ContextTokens& context, std::int64_t rows) const override;
  [[nodiscard]] Ticks first_token_delay() const override;
  [[nodiscard]] double first_token_steps() const override;

  /// Every operator of one step; the sum of seconds equals decode()/mixed() within a tick.
  [[nodiscard]] StepBreakdown explain(const Batch& batch) const;
  /// Its sums alone, without the operators' names.
  [[nodiscard]] StepTotals totals(const Batch& batch) const;
  /// Replaces the serving costs (calibration).
  void set_costs(const catalog::ServingCosts& costs);
  [[nodiscard]] const catalog::ServingCosts& costs() const;
  /// "measured", "inherited", "data sheet" or "what-if": the worst layer used.
  [[nodiscard]] std::string trust() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace servegrid::roofline
