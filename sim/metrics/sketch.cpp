#include "metrics/sketch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace servegrid::metrics {

namespace {

constexpr int sub_bits = 9;  // 512 buckets between powers of two
constexpr std::size_t sub = std::size_t{1} << sub_bits;

int width_of(Ticks value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(value));
}

}  // namespace

// Values below 2 * sub are their own bucket; then the leading bit and the sub_bits after it.
std::size_t QuantileSketch::bucket(Ticks value) {
  const int shift = std::max(0, width_of(value) - sub_bits - 1);
  return static_cast<std::size_t>(shift) * sub + static_cast<std::size_t>(value >> shift);
}

Ticks QuantileSketch::lowest(std::size_t bucket) {
  if (bucket < 2 * sub) return static_cast<Ticks>(bucket);
  const std::size_t shift = bucket / sub - 1;
  return static_cast<Ticks>(bucket - shift * sub) << shift;
}

void QuantileSketch::count(std::size_t bucket, std::int64_t values) {
  if (counts_.empty()) first_ = bucket;
  if (bucket < first_) {
    counts_.insert(counts_.begin(), first_ - bucket, 0);
    first_ = bucket;
  }
  if (bucket - first_ >= counts_.size()) counts_.resize(bucket - first_ + 1);
  counts_[bucket - first_] += values;
  count_ += values;
}

void QuantileSketch::add(Ticks value, std::int64_t weight) {
  count(bucket(std::max<Ticks>(0, value)), weight);
}

void QuantileSketch::add(const Range& range) {
  if (range.steps <= 0 || range.weight <= 0) return;
  const std::size_t last = bucket(range.last());
  std::size_t b = bucket(range.first);
  std::int64_t counted = 0;
  for (; b < last; ++b) {
    const std::int64_t below = steps_below(range, lowest(b + 1));
    if (below > counted) count(b, (below - counted) * range.weight);
    counted = below;
  }
  count(last, (range.steps - counted) * range.weight);
}

void QuantileSketch::merge(const QuantileSketch& other) {
  for (std::size_t i = 0; i < other.counts_.size(); ++i) {
    if (other.counts_[i] > 0) count(other.first_ + i, other.counts_[i]);
  }
}

QuantileSketch::Place QuantileSketch::place(std::int64_t k) const {
  std::int64_t below = 0;
  std::size_t i = 0;
  while (below + counts_[i] <= k) below += counts_[i++];
  return {lowest(first_ + i), lowest(first_ + i + 1), below};
}

double QuantileSketch::quantile(double q) const {
  const double position = q * static_cast<double>(count_ - 1);
  const auto k = static_cast<std::int64_t>(std::floor(position));
  const double share = position - std::floor(position);
  // Values that have a bucket of their own are exact.
  const auto middle = [this](std::int64_t rank) {
    const Place p = place(rank);
    return static_cast<double>(p.low) + static_cast<double>(p.high - p.low - 1) / 2;
  };
  const double a = middle(k);
  return share <= 0 ? a : a + (middle(k + 1) - a) * share;
}

}  // namespace servegrid::metrics
