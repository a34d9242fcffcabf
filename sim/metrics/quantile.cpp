#include "metrics/quantile.hpp"

#include <algorithm>
#include <cmath>

namespace servegrid::metrics {

namespace {

// Values of `r` that are <= v.
std::int64_t count_up_to(const Range& r, Ticks v) {
  if (v < r.first) return 0;
  if (r.growth == 0) return r.steps * r.weight;
  const Ticks steps = (v - r.first) / r.growth + 1;
  return static_cast<std::int64_t>(std::min<Ticks>(steps, r.steps)) * r.weight;
}

Ticks last_of(const Range& r) {
  return r.first + (r.steps - 1) * r.growth;
}

// The k-th smallest value (from 0), by bisection of the value; ranges that lie wholly on one side
// of what is left are dropped, so that the work shrinks with it.
Ticks order_statistic(std::vector<Range> active, std::int64_t k) {
  Ticks low = active.front().first, high = low;
  for (const Range& r : active) {
    low = std::min(low, r.first);
    high = std::max(high, last_of(r));
  }
  std::int64_t below = 0;  // values of dropped ranges that are < low
  while (low < high) {
    const Ticks middle = low + (high - low) / 2;
    std::int64_t up_to = below;
    for (const Range& r : active) up_to += count_up_to(r, middle);
    if (up_to > k) {
      high = middle;
    } else {
      low = middle + 1;
    }
    std::size_t kept = 0;
    for (const Range& r : active) {
      if (last_of(r) < low) {
        below += r.steps * r.weight;
      } else if (r.first <= high) {
        active[kept++] = r;
      }
    }
    active.resize(kept);
  }
  return low;
}

}  // namespace

double quantile(std::vector<double>& values, double q) {
  const double position = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::ptrdiff_t>(std::floor(position));
  const double share = position - std::floor(position);
  std::nth_element(values.begin(), values.begin() + low, values.end());
  const double a = values[static_cast<std::size_t>(low)];
  if (share <= 0) return a;
  const double b = *std::min_element(values.begin() + low + 1, values.end());
  return a + (b - a) * share;
}

Moments moments(const std::vector<double>& values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) m.mean += v;
  m.mean /= n;
  for (const double v : values) m.std += (v - m.mean) * (v - m.mean);
  m.std = std::sqrt(m.std / n);
  return m;
}

std::int64_t count(const std::vector<Range>& ranges) {
  std::int64_t n = 0;
  for (const Range& r : ranges) n += r.steps * r.weight;
  return n;
}

double quantile(const std::vector<Range>& ranges, double q) {
  const double position = q * static_cast<double>(count(ranges) - 1);
  const auto low = static_cast<std::int64_t>(std::floor(position));
  const double share = position - std::floor(position);
  const Ticks a = order_statistic(ranges, low);
  if (share <= 0) return static_cast<double>(a);
  const Ticks b = order_statistic(ranges, low + 1);
  return static_cast<double>(a) + static_cast<double>(b - a) * share;
}

Moments moments(const std::vector<Range>& ranges) {
  Moments m;
  const auto n = static_cast<double>(count(ranges));
  for (const Range& r : ranges) {
    const auto steps = static_cast<double>(r.steps);
    const double middle =
        static_cast<double>(r.first) + static_cast<double>(r.growth) * (steps - 1) / 2;
    m.mean += static_cast<double>(r.weight) * steps * middle;
  }
  m.mean /= n;
  for (const Range& r : ranges) {
    const auto steps = static_cast<double>(r.steps);
    const auto growth = static_cast<double>(r.growth);
    const double middle = static_cast<double>(r.first) + growth * (steps - 1) / 2 - m.mean;
    // Variance of an arithmetic sequence about its middle: growth^2 (steps^2 - 1) / 12.
    m.std += static_cast<double>(r.weight) * steps *
             (middle * middle + growth * growth * (steps * steps - 1) / 12);
  }
  m.std = std::sqrt(m.std / n);
  return m;
}

}  // namespace servegrid::metrics
