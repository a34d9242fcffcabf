// Which kernel stands for an operator: a fit with what its fractions are relative to, or the
// data-sheet fractions of the profile.
#pragma once

#include "model/deployment.hpp"
#include "roofline/fits.hpp"
#include "roofline/precision.hpp"

namespace servegrid::roofline {

template <class Fit>
struct Kernel {
  Fit fit;
  KernelBase base;
  std::string efficiency, source;
};

/// Looks kernels up and remembers the worst trust.
class Kernels {
 public:
  Kernels(const model::Deployment& d, const Fits& fits) : d_(d), fits_(fits) {}

  Kernel<GemmFit> gemm(const Precision& p);
  Kernel<MoeFit> moe(const Precision& p, bool gated);
  Kernel<PrefillAttentionFit> prefill_attention();
  Kernel<DecodeAttentionFit> decode_attention();
  Kernel<MlaPrefillFit> mla_prefill();
  Kernel<MlaDecodeFit> mla_decode();
  Kernel<AllReduceFit> all_reduce(int gpus);

  [[nodiscard]] Trust trust() const { return trust_; }
  [[nodiscard]] double bandwidth() const { return fits_.bandwidth(); }
  [[nodiscard]] double bf16_peak() const { return fits_.peak(catalog::Format::bf16); }
  [[nodiscard]] bool gemm_from_data_sheet() const { return gemm_from_data_sheet_; }

 private:
  ChosenFit choose(const std::string& op, const std::vector<std::string>& dtypes,
                   const KernelWanted& wanted = {});
  [[nodiscard]] KernelBase base(catalog::Format compute) const;

  const model::Deployment& d_;
  const Fits& fits_;
  Trust trust_ = Trust::measured;
  bool gemm_from_data_sheet_ = false;
};

}  // namespace servegrid::roofline
