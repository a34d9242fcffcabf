// Exact quantiles by NumPy's linear rule: of values, and of weighted arithmetic ranges.
#pragma once

#include <cstdint>
#include <vector>

#include "units/time.hpp"

namespace servegrid::metrics {

/// The q-quantile (0 <= q <= 1) of a non-empty sample; reorders it.
double quantile(std::vector<double>& values, double q);

struct Moments {
  double mean = 0, std = 0;  // population standard deviation, as NumPy's default
};
Moments moments(const std::vector<double>& values);

/// first, first + growth, ..., `steps` values, each `weight` times; growth >= 0.
struct Range {
  Ticks first = 0, growth = 0;
  std::int64_t steps = 0, weight = 0;
};

/// How many values the ranges hold.
std::int64_t count(const std::vector<Range>& ranges);
/// The q-quantile in ticks (fractional) of all values together, without listing them.
double quantile(const std::vector<Range>& ranges, double q);
Moments moments(const std::vector<Range>& ranges);

}  // namespace servegrid::metrics
