#include "metrics/quantile.hpp"

#include <algorithm>
#include <cmath>

namespace servegrid::metrics {

namespace {

struct Position {
  std::int64_t low = 0;
  double share = 0;
};

Position position_of(double q, std::int64_t count) {
  const double position = q * static_cast<double>(count - 1);
  return {static_cast<std::int64_t>(std::floor(position)), position - std::floor(position)};
}

// The k-th smallest value (from 0), by bisection of the value; ranges that lie wholly on one side
// of what is left are dropped, so that the work shrinks with it.
Ticks order_statistic(std::vector<Range> active, std::int64_t k) {
  Ticks low = active.front().first, high = low;
  for (const Range& r : active) {
    low = std::min(low, r.first);
    high = std::max(high, r.last());
  }
  std::int64_t below = 0;  // values of dropped ranges that are < low
  while (low < high) {
    const Ticks middle = low + (high - low) / 2;
    std::int64_t up_to = below;
    for (const Range& r : active) up_to += steps_below(r, middle + 1) * r.weight;
    if (up_to > k) {
      high = middle;
    } else {
      low = middle + 1;
    }
    std::size_t kept = 0;
    for (const Range& r : active) {
      if (r.last() < low) {
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
  return quantiles(values, {q}).front();
}

std::vector<double> quantiles(std::vector<double>& values, const std::vector<double>& q) {
  std::vector<double> out;
  auto from = values.begin();
  for (const double one : q) {
    const Position p = position_of(one, static_cast<std::int64_t>(values.size()));
    const auto at = values.begin() + p.low;
    std::nth_element(from, at, values.end());
    const double a = *at;
    const double b = p.share > 0 ? *std::min_element(at + 1, values.end()) : a;
    out.push_back(a + (b - a) * p.share);
    from = at;
  }
  return out;
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

void GroupedMoments::add(double count, double mean, double squares) {
  const double all = count_ + count, apart = mean - mean_;
  squares_ += squares + apart * apart * (count_ * count / all);
  mean_ += apart * (count / all);
  count_ = all;
}

void GroupedMoments::add(const Range& r) {
  const auto steps = static_cast<double>(r.steps), growth = static_cast<double>(r.growth);
  const double values = steps * static_cast<double>(r.weight);
  // Variance of an arithmetic sequence about its middle: growth^2 (steps^2 - 1) / 12.
  add(values, static_cast<double>(r.first) + growth * (steps - 1) / 2,
      values * growth * growth * (steps * steps - 1) / 12);
}

Moments GroupedMoments::moments() const {
  return {mean_, std::sqrt(squares_ / count_)};
}

RangeQuantiles::RangeQuantiles(const QuantileSketch& sketch, std::vector<double> q)
    : q_(std::move(q)), count_(sketch.count()) {
  std::vector<std::int64_t> ranks;
  for (const double one : q_) {
    const Position p = position_of(one, count_);
    ranks.push_back(p.low);
    if (p.share > 0) ranks.push_back(p.low + 1);
  }
  std::sort(ranks.begin(), ranks.end());
  for (const std::int64_t rank : ranks) {
    const QuantileSketch::Place place = sketch.place(rank);
    if (buckets_.empty() || buckets_.back().low != place.low) {
      buckets_.push_back({place.low, place.high, place.below, {}});
    }
  }
}

void RangeQuantiles::add(const Range& r) {
  const Ticks last = r.last();
  for (Bucket& b : buckets_) {
    if (b.low > last) return;
    if (b.high <= r.first) continue;
    const std::int64_t skipped = steps_below(r, b.low);
    const std::int64_t within = steps_below(r, b.high) - skipped;
    if (within <= 0) continue;
    b.ranges.push_back({r.first + skipped * r.growth, r.growth, within, r.weight});
  }
}

const RangeQuantiles::Bucket& RangeQuantiles::bucket_of(std::int64_t rank) const {
  std::size_t i = buckets_.size() - 1;
  while (i > 0 && buckets_[i].below > rank) --i;
  return buckets_[i];
}

std::vector<double> RangeQuantiles::values() const {
  const auto exact = [this](std::int64_t rank) {
    const Bucket& b = bucket_of(rank);
    return order_statistic(b.ranges, rank - b.below);
  };
  std::vector<double> out;
  for (const double q : q_) {
    const Position p = position_of(q, count_);
    const Ticks a = exact(p.low);
    const Ticks b = p.share > 0 ? exact(p.low + 1) : a;
    out.push_back(static_cast<double>(a) + static_cast<double>(b - a) * p.share);
  }
  return out;
}

std::int64_t count(const std::vector<Range>& ranges) {
  std::int64_t n = 0;
  for (const Range& r : ranges) n += r.steps * r.weight;
  return n;
}

double quantile(const std::vector<Range>& ranges, double q) {
  QuantileSketch sketch;
  for (const Range& r : ranges) sketch.add(r);
  RangeQuantiles exact(sketch, {q});
  for (const Range& r : ranges) exact.add(r);
  return exact.values().front();
}

Moments moments(const std::vector<Range>& ranges) {
  GroupedMoments m;
  for (const Range& r : ranges) m.add(r);
  return m.moments();
}

}  // namespace servegrid::metrics
