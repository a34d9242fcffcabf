#include "metrics/survival.hpp"

#include <algorithm>
#include <utility>

namespace servegrid::metrics {

std::vector<double> Durations::bounds() const {
  std::vector<double> all = seen;
  all.insert(all.end(), at_least.begin(), at_least.end());
  return all;
}

std::vector<std::optional<double>> Durations::quantiles(const std::vector<double>& q) const {
  std::vector<std::pair<double, bool>> all;  // one seen goes before one cut off at the same time
  for (const double v : seen) all.emplace_back(v, false);
  for (const double v : at_least) all.emplace_back(v, true);
  std::sort(all.begin(), all.end());
  std::vector<std::optional<double>> out(q.size());
  double longer = 1;  // share that lasts longer
  std::size_t next = 0;
  for (std::size_t i = 0; i < all.size() && next < q.size(); ++i) {
    if (all[i].second) continue;
    longer *= 1 - 1 / static_cast<double>(all.size() - i);
    // A quantile that falls on a step of equal shares must not be missed by rounding.
    while (next < q.size() && 1 - longer >= q[next] - 1e-12) out[next++] = all[i].first;
  }
  return out;
}

}  // namespace servegrid::metrics
