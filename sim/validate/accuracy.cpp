#include "validate/accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace servegrid::validate {
namespace {

// NumPy's linear rule.
double quantile(std::vector<double>& values, double q) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(at));
  const auto high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

// Output tokens/s of the closed loop for each GPU: concurrency over the time of one request and
// token.
double throughput_per_gpu(const Scored& s, double ttft_ms, double tpot_ms) {
  const double osl = static_cast<double>(s.row->osl);
  const double request_ms = ttft_ms + (osl - 1) * tpot_ms;
  return 1e3 * static_cast<double>(s.row->concurrency) * osl / request_ms / s.row->gpus;
}

double measured_rate(const Scored& s) {
  return throughput_per_gpu(s, s.row->ttft_ms, s.row->tpot_ms);
}
double predicted_rate(const Scored& s) {
  return throughput_per_gpu(s, s.prediction.ttft_ms, s.prediction.tpot_ms);
}

using LoadKey = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;

void count_pair(const Scored& a, const Scored& b, Decisions& d) {
  const double ma = measured_rate(a);
  const double mb = measured_rate(b);
  if (std::max(ma, mb) / std::min(ma, mb) <= 1.1) return;
  const bool right = (ma > mb) == (predicted_rate(a) > predicted_rate(b));
  const auto add = [&](Decisions::Share& share) {
    ++share.pairs;
    share.right += right ? 1 : 0;
  };
  add(d.overall);
  const bool same_gpu = a.gpu == b.gpu;
  const bool same_engine = a.engine == b.engine;
  const bool same_split = a.row->gpus == b.row->gpus && a.row->ep == b.row->ep;
  if (!same_gpu && same_engine) add(d.across_gpus);
  if (same_gpu && !same_engine) add(d.across_engines);
  if (same_gpu && same_engine && a.weights == b.weights && !same_split) add(d.across_parallelism);
}

// Largest measured or predicted concurrency of a series that meets the limit; 0 when none does.
double largest_within(const std::vector<std::pair<double, double>>& series, double limit) {
  double best = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].second <= limit) {
      best = series[i].first;
    } else if (i > 0 && series[i - 1].second <= limit) {
      const double f = (limit - series[i - 1].second) / (series[i].second - series[i - 1].second);
      return series[i - 1].first * std::pow(series[i].first / series[i - 1].first, f);
    }
  }
  return best;
}

void concurrency_errors(const std::vector<Scored>& rows, double limit, Decisions& d) {
  using SeriesKey = std::tuple<std::string, std::string, std::string, std::string, std::string, int,
                               int, std::int64_t, std::int64_t>;
  std::map<SeriesKey, std::map<std::int64_t, const Scored*>> series;
  for (const auto& s : rows) {
    series[{s.gpu, s.engine, s.model, s.weights, s.row->engine_version, s.row->gpus, s.row->ep,
            s.row->isl, s.row->osl}][s.row->concurrency] = &s;
  }
  std::vector<double> errors;
  for (const auto& [key, points] : series) {
    if (points.size() < 3) continue;
    std::vector<std::pair<double, double>> measured, predicted;
    for (const auto& [c, s] : points) {
      measured.emplace_back(static_cast<double>(c), s->row->tpot_ms);
      predicted.emplace_back(static_cast<double>(c), s->prediction.tpot_ms);
    }
    // The question needs an answer inside the series: some points meet the limit and some do not.
    if (measured.front().second > limit || measured.back().second <= limit) continue;
    const double truth = largest_within(measured, limit);
    const double answer = std::max(largest_within(predicted, limit), measured.front().first / 2);
    errors.push_back(100 * std::abs(answer / truth - 1));
  }
  d.concurrency_cases = static_cast<std::int64_t>(errors.size());
  d.concurrency_median_error = quantile(errors, 0.5);
}

}  // namespace

ErrorStats error_stats(std::vector<double> e) {
  ErrorStats s;
  s.n = static_cast<std::int64_t>(e.size());
  if (e.empty()) return s;
  s.median_signed = quantile(e, 0.5);
  s.signed_p5 = quantile(e, 0.05);
  s.signed_p95 = quantile(e, 0.95);
  double sum = 0;
  for (double& x : e) {
    x = std::abs(x);
    sum += x;
  }
  s.mape = sum / static_cast<double>(e.size());
  s.median_ape = quantile(e, 0.5);
  s.p90_ape = quantile(e, 0.9);
  return s;
}

double signed_error(const Scored& s, Metric metric) {
  const double measured = metric == Metric::tpot ? s.row->tpot_ms : s.row->ttft_ms;
  const double predicted = metric == Metric::tpot ? s.prediction.tpot_ms : s.prediction.ttft_ms;
  if (measured <= 0 || predicted <= 0) return std::numeric_limits<double>::quiet_NaN();
  return 100 * (predicted / measured - 1);
}

Decisions decisions_of(const std::vector<Scored>& rows, double tpot_limit_ms) {
  std::map<LoadKey, std::vector<const Scored*>> loads;
  for (const auto& s : rows) {
    if (s.row->ttft_ms <= 0 || s.row->tpot_ms <= 0) continue;
    loads[{s.model, s.row->isl, s.row->osl, s.row->concurrency}].push_back(&s);
  }
  Decisions d;
  std::vector<double> regrets;
  for (const auto& [key, group] : loads) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::size_t j = i + 1; j < group.size(); ++j) count_pair(*group[i], *group[j], d);
    }
    if (group.size() < 2) continue;
    const auto* picked = *std::max_element(group.begin(), group.end(), [](auto* a, auto* b) {
      return predicted_rate(*a) < predicted_rate(*b);
    });
    const auto* best = *std::max_element(group.begin(), group.end(), [](auto* a, auto* b) {
      return measured_rate(*a) < measured_rate(*b);
    });
    regrets.push_back(100 * (1 - measured_rate(*picked) / measured_rate(*best)));
  }
  d.choices = static_cast<std::int64_t>(regrets.size());
  double sum = 0;
  for (const double r : regrets) sum += r;
  if (!regrets.empty()) d.mean_regret = sum / static_cast<double>(regrets.size());
  d.median_regret = quantile(regrets, 0.5);
  concurrency_errors(rows, tpot_limit_ms, d);
  return d;
}

}  // namespace servegrid::validate
