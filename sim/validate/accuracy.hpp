// How wrong: error statistics by group, and how well the predictions order what people choose
// between.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "validate/predict.hpp"

namespace servegrid::validate {

/// One row with its prediction.
struct Scored {
  const MeasuredRow* row = nullptr;
  std::string gpu, engine, model, weights;  // catalogue names
  Prediction prediction;
};

/// Errors in percent of the measurement: |predicted/measured - 1|.
struct ErrorStats {
  std::int64_t n = 0;
  double median_ape = 0, mape = 0, p90_ape = 0;
  double median_signed = 0;              // + = predicted too slow
  double signed_p5 = 0, signed_p95 = 0;  // 90 % range
};

ErrorStats error_stats(std::vector<double> signed_percent);

enum class Metric { tpot, ttft };
/// Signed error of a row in percent; NaN when there is no measurement or prediction.
double signed_error(const Scored& row, Metric metric);
/// Statistics over rows for which `keep` holds.
template <typename Keep>
ErrorStats stats_of(const std::vector<Scored>& rows, Metric metric, Keep keep);

/// What people buy with it.
struct Decisions {
  struct Share {
    std::int64_t pairs = 0, right = 0;
  };
  Share overall, across_gpus, across_engines, across_parallelism;  // throughput order, > 10 % apart
  double median_regret = 0,
         mean_regret = 0;  // of the predicted best set-up, share of the best throughput a GPU
  std::int64_t choices = 0;
  double concurrency_median_error =
      0;  // |log2| of the largest concurrency that meets the TPOT limit
  std::int64_t concurrency_cases = 0;
};

/// Pairs share model, weights bits class, ISL, OSL and concurrency. `tpot_limit_ms` for the
/// concurrency question.
Decisions decisions_of(const std::vector<Scored>& rows, double tpot_limit_ms);

template <typename Keep>
ErrorStats stats_of(const std::vector<Scored>& rows, Metric metric, Keep keep) {
  std::vector<double> errors;
  for (const auto& row : rows) {
    if (!keep(row)) continue;
    const double e = signed_error(row, metric);
    if (e == e) errors.push_back(e);
  }
  return error_stats(std::move(errors));
}

}  // namespace servegrid::validate
