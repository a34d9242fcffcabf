// Quantiles of any number of values in bounded memory, within 0.1 % of the exact ones.
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/range.hpp"

namespace servegrid::metrics {

/// Counts of non-negative values by bucket: 512 equal ones between powers of two (the layout of
/// HdrHistogram), so that the middle of a bucket is within 1/1024 of each value in it; below 1024
/// every value has its own. Two sketches merge by adding counts; the order of adding is
/// immaterial.
class QuantileSketch {
 public:
  void add(Ticks value, std::int64_t weight = 1);
  /// All values of the range, at the cost of the buckets it spans.
  void add(const Range& range);
  void merge(const QuantileSketch& other);

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// The q-quantile by NumPy's linear rule between the middles of buckets; of at least one value.
  [[nodiscard]] double quantile(double q) const;

  /// The bucket that holds the k-th smallest value (from 0), and how many lie in smaller ones.
  struct Place {
    Ticks low = 0, high = 0;  // values of the bucket: [low, high)
    std::int64_t below = 0;
  };
  [[nodiscard]] Place place(std::int64_t k) const;

 private:
  [[nodiscard]] static std::size_t bucket(Ticks value);
  [[nodiscard]] static Ticks lowest(std::size_t bucket);
  void count(std::size_t bucket, std::int64_t values);

  std::vector<std::int64_t> counts_;  // of buckets first_ and up
  std::size_t first_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace servegrid::metrics
