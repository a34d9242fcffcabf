// Serving costs of each (GPU, engine) from measured serving runs: nine numbers, shared by dense and
// MoE models.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "catalog/engine.hpp"
#include "validate/predict.hpp"

namespace servegrid::validate {

struct ServingFit {
  std::string gpu, engine;
  std::int64_t rows = 0;
  catalog::ServingCosts costs;
  double loss_before = 0, loss_after = 0;
};

/// Enough from the defaults for a fit that is only judged.
inline constexpr int left_out_iterations = 12;

struct FitOptions {
  int iterations = 30;  // steps tried
  unsigned threads = 2;
  std::string leave_out_model;  // catalogue name: rows of this model are not fitted
};

/// Fits the rows of one (GPU, engine); their step models are left with the fitted costs. Loss: soft
/// L1 of log TPOT and half of log TTFT (queued runs above 5 s: TPOT only), rows weighted so that
/// a model counts with the fifth root of its rows, weak priors around the defaults. Deterministic
/// on any number of threads.
ServingFit fit_serving(std::vector<PreparedRow*> rows, const catalog::ServingCosts& start,
                       const FitOptions& options);

/// Calls work(i) for i in [0, n) on `threads` threads; each i exactly once.
void for_each_index(std::size_t n, unsigned threads, const std::function<void(std::size_t)>& work);

}  // namespace servegrid::validate
