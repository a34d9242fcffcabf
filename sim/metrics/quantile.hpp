// Exact quantiles by NumPy's linear rule: of values, and of weighted arithmetic ranges.
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/range.hpp"
#include "metrics/sketch.hpp"

namespace servegrid::metrics {

/// The q-quantile (0 <= q <= 1) of a non-empty sample; reorders it.
double quantile(std::vector<double>& values, double q);
/// Several of them, q ascending, in one pass over what lies above the one before.
std::vector<double> quantiles(std::vector<double>& values, const std::vector<double>& q);

struct Moments {
  double mean = 0, std = 0;  // population standard deviation, as NumPy's default
};
Moments moments(const std::vector<double>& values);

/// Count, mean and variance of values that come in groups (Chan, Golub, LeVeque).
class GroupedMoments {
 public:
  void add(double count, double mean, double squares);  // squares: sum of (x - mean)^2
  void add(const Range& range);
  void add(double value) { add(1, value, 0); }
  [[nodiscard]] double count() const { return count_; }
  [[nodiscard]] Moments moments() const;

 private:
  double count_ = 0, mean_ = 0, squares_ = 0;
};

/// Quantiles of the values of many ranges, without listing or sorting them: a sketch says in which
/// bucket each lies, and only the ranges that reach into that bucket are looked at.
class RangeQuantiles {
 public:
  /// `sketch` holds every value.
  RangeQuantiles(const QuantileSketch& sketch, std::vector<double> q);
  /// Every range, in any order.
  void add(const Range& range);
  /// In ticks (fractional), in the order of the q.
  [[nodiscard]] std::vector<double> values() const;

 private:
  struct Bucket {
    Ticks low = 0, high = 0;
    std::int64_t below = 0;
    std::vector<Range> ranges;  // the parts within
  };
  [[nodiscard]] const Bucket& bucket_of(std::int64_t rank) const;

  std::vector<double> q_;
  std::int64_t count_;
  std::vector<Bucket> buckets_;  // ascending
};

/// How many values the ranges hold.
std::int64_t count(const std::vector<Range>& ranges);
/// The q-quantile in ticks (fractional) of all values together.
double quantile(const std::vector<Range>& ranges, double q);
Moments moments(const std::vector<Range>& ranges);

}  // namespace servegrid::metrics
