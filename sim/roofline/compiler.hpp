// How a deployment becomes an operator table; internal to roofline.
#pragma once

#include "roofline/kernels.hpp"
#include "roofline/operators.hpp"
#include "roofline/step_times.hpp"

namespace servegrid::roofline {

class Compiler {
 public:
  Compiler(const model::Deployment& d, const Fits& fits);
  Table run();
  /// The table of one pass of a draft, whose windows must be among those of the model it drafts
  /// for.
  Table run_draft(const std::vector<std::int64_t>& windows, bool joins_states);

 private:
  void collect_windows();
  Table tabulate();
  void layer_group(const catalog::LayerGroup& g);
  void full(const catalog::Attention& a, double count);
  void mla(const catalog::Attention& a, double count);
  void indexer(const catalog::Attention& a, double count);
  void linear(const catalog::Attention& a, double count);
  void mamba(const catalog::Attention& a, double count);
  void state(const std::string& name, double state_bytes, double flops_per_token, double count);
  void mlp(const catalog::Mlp& m, double count);
  void experts(const catalog::Mlp& m, double count);
  void exchange(const catalog::Mlp& m, double count);
  void communication(const catalog::LayerGroup& g, double count);
  void gemm(const std::string& name, const Precision& p, double n, double k, Rows rows,
            double count);
  void attention(AttentionOp op);
  void elementwise(double bytes_per_token, double count);
  void floors(double kernels, double count);
  [[nodiscard]] Precision precision(const std::string& part) const;
  [[nodiscard]] int context_class(std::int64_t window) const;

  const model::Deployment& d_;
  Kernels kernels_;
  Table table_;
  int tp_ = 1;
  double queries_ = 1;  // tokens of a decoding sequence in a step
  double stage_rounding_ = 1;
};

}  // namespace servegrid::roofline
