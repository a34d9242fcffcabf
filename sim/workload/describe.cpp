#include "workload/describe.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <unordered_map>

#include "workload/source.hpp"

namespace servegrid::workload {

namespace {

constexpr std::int64_t most_of_a_loop = 1'000'000;  // requests of a closed loop that are looked at
constexpr std::size_t most_bins = 2000;             // of the rate over time

/// Counts in bins of a width that doubles when there are too many.
class Series {
 public:
  explicit Series(double width) : width_(width) {}
  void add(double time) {
    auto bin = static_cast<std::size_t>(time / width_);
    while (bin >= most_bins) {
      counts_.resize(most_bins, 0);
      for (std::size_t i = 0; i < most_bins / 2; ++i) {
        counts_[i] = counts_[2 * i] + counts_[2 * i + 1];
      }
      counts_.resize(most_bins / 2);
      width_ *= 2;
      bin = static_cast<std::size_t>(time / width_);
    }
    if (bin >= counts_.size()) counts_.resize(bin + 1, 0);
    ++counts_[bin];
  }
  [[nodiscard]] std::vector<std::pair<double, double>> rates() const {
    std::vector<std::pair<double, double>> out;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      out.emplace_back(static_cast<double>(i) * width_, static_cast<double>(counts_[i]) / width_);
    }
    return out;
  }

 private:
  double width_;
  std::vector<std::int64_t> counts_;
};

/// Arrivals in whole windows, one after the other: their peak, mean and variance.
class Windows {
 public:
  explicit Windows(double width) : width_(width) {}
  void add(double time) {
    const double window = std::floor(time / width_);
    if (window > present_) {
      close();
      const double skipped = window - present_ - 1;
      count_ += skipped;
      present_ = window;
    }
    ++in_;
  }
  void close() {
    peak_ = std::max(peak_, in_);
    sum_ += in_;
    squares_ += in_ * in_;
    ++count_;
    in_ = 0;
  }
  [[nodiscard]] double peak() const { return peak_ / width_; }
  [[nodiscard]] double dispersion() const {
    const double mean = sum_ / count_;
    return mean > 0 ? (squares_ / count_ - mean * mean) / mean : 0;
  }

 private:
  double width_, present_ = 0, in_ = 0, peak_ = 0, sum_ = 0, squares_ = 0, count_ = 0;
};

/// A prefix cache without end, token by token.
class Seen {
 public:
  /// Tokens of the prompt that were there before; the request's own are from now on.
  std::int64_t add(const Request& r) {
    std::vector<std::pair<StreamId, std::int64_t>> path;  // stream and where it ends, leaf first
    const auto all = r.prompt_tokens + r.output_tokens;
    if (r.stream >= 0) path.emplace_back(r.stream, std::min(all, r.stream_tokens));
    for (const Fork* f = r.fork; f != nullptr; f = f->parent)
      path.emplace_back(f->stream, f->tokens);
    if (r.fork == nullptr && r.shared_stream >= 0)
      path.emplace_back(r.shared_stream, r.shared_prefix);
    std::int64_t known = 0, begin = 0;
    for (auto it = path.rbegin(); it != path.rend(); begin = it->second, ++it) {
      std::int64_t& end = ends_[it->first];
      if (known == begin) known = std::max(known, std::min(end, it->second));
      end = std::max(end, it->second);
    }
    return std::min(known, r.prompt_tokens);
  }

 private:
  std::unordered_map<StreamId, std::int64_t> ends_;  // looked up only
};

struct Sums {
  double xy = 0, cached = 0;
  double gaps = 0, gap_squares = 0;
};

// Of the requests in the order in which they come; a closed loop's ends at once.
template <typename Use>
bool each_request(Source& source, bool loop, const Use& use) {
  std::deque<Request> open;
  std::int64_t seen = 0;
  for (;;) {
    std::optional<Request> r = source.next_arrival();
    if (!r && !open.empty()) {
      const Request last = open.front();
      open.pop_front();
      r = source.on_end(last, last.arrival, true);
      if (!r) continue;
    }
    if (!r) return false;
    use(*r);
    if (!loop) continue;
    if (++seen >= most_of_a_loop) return true;
    open.push_back(*r);
  }
}

}  // namespace

void Histogram::add(std::int64_t value) {
  least_ = count_ == 0 ? value : std::min(least_, value);
  most_ = std::max(most_, value);
  ++count_;
  const auto v = static_cast<double>(value);
  sum_ += v;
  squares_ += v * v;
  const auto digits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
  const int dropped = std::max(0, digits - 12);
  ++counts_[(value >> dropped) << dropped];
}

double Histogram::mean() const {
  return sum_ / static_cast<double>(count_);
}

double Histogram::std() const {
  return std::sqrt(std::max(0.0, squares_ / static_cast<double>(count_) - mean() * mean()));
}

double Histogram::quantile(double q) const {
  const double goal = q * static_cast<double>(count_);
  double below = 0;
  for (const auto& [value, count] : counts_) {
    below += static_cast<double>(count);
    if (below >= goal) return static_cast<double>(value);
  }
  return static_cast<double>(most_);
}

Description describe(const catalog::WorkloadSpec& spec, std::uint64_t seed) {
  using Kind = catalog::WorkloadSpec::Kind;
  const auto source = make_source(spec, seed);
  const bool loop = spec.kind == Kind::closed || spec.kind == Kind::conversations;
  Description d;
  for (const catalog::ClassSpec& c : spec.classes) d.classes.emplace_back(c.name, 0);
  Series series(0.1);
  Windows seconds(1), minutes(60);
  Seen cache;
  Sums sums;
  double first = 0, last = 0;
  d.cut = each_request(*source, loop, [&](const Request& r) {
    const double time = to_seconds(r.arrival);
    if (d.requests == 0) {
      first = time;
    } else {
      sums.gaps += time - last;
      sums.gap_squares += (time - last) * (time - last);
    }
    last = time;
    ++d.requests;
    if (!loop) {
      series.add(time);
      seconds.add(time - first);
      minutes.add(time - first);
    }
    d.prompt.add(r.prompt_tokens);
    d.output.add(r.output_tokens);
    sums.xy += static_cast<double>(r.prompt_tokens) * static_cast<double>(r.output_tokens);
    sums.cached += static_cast<double>(cache.add(r));
    const bool turns = loop ? r.stream >= 0 : r.user >= 0;
    if (turns && r.turn == 0) ++d.conversations;
    d.most_turns = std::max(d.most_turns, turns ? r.turn + 1 : 0);
    if (!d.classes.empty()) ++d.classes[static_cast<std::size_t>(r.class_index)].second;
  });
  const auto n = static_cast<double>(d.requests);
  const double spread = d.prompt.std() * d.output.std();
  if (spread > 0) d.correlation = (sums.xy / n - d.prompt.mean() * d.output.mean()) / spread;
  d.prefix_share = sums.cached / (d.prompt.mean() * n);
  if (!loop && spec.kind != Kind::batch) {
    seconds.close();
    minutes.close();
    d.span = last - first;
    const double mean = sums.gaps / std::max(1.0, n - 1);
    const double squares = sums.gap_squares / std::max(1.0, n - 1);
    if (mean > 0) d.gap_cv = std::sqrt(std::max(0.0, squares - mean * mean)) / mean;
    d.peak_second = seconds.peak();
    d.peak_minute = minutes.peak();
    d.dispersion = minutes.dispersion();
    d.rates = series.rates();
  }
  d.notes = source->notes();
  return d;
}

}  // namespace servegrid::workload
