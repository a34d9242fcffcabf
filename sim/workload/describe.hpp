// A workload in numbers, without simulating it: how fast requests come, how long they are, how much
// of their prompts was seen before. One pass; memory does not grow with the number of requests, but
// for what identifies shared prefixes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalog/scenario.hpp"

namespace servegrid::workload {

/// Counts of whole numbers; those from 4096 on keep 12 binary digits (0.05 %).
class Histogram {
 public:
  void add(std::int64_t value);
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] double mean() const;
  [[nodiscard]] double std() const;
  [[nodiscard]] std::int64_t least() const { return least_; }
  [[nodiscard]] std::int64_t most() const { return most_; }
  /// The smallest value that a share q of all do not exceed.
  [[nodiscard]] double quantile(double q) const;
  [[nodiscard]] const std::map<std::int64_t, std::int64_t>& counts() const { return counts_; }

 private:
  std::map<std::int64_t, std::int64_t> counts_;
  std::int64_t count_ = 0, least_ = 0, most_ = 0;
  double sum_ = 0, squares_ = 0;
};

struct Description {
  std::int64_t requests = 0;
  bool cut = false;            // a closed loop of more requests than were looked at
  std::optional<double> span;  // [s] from the first arrival to the last; of open loops and traces
  double gap_cv = 0;           // of the time between arrivals: 1 for Poisson, above it bursty
  double dispersion = 0;       // variance over mean of the arrivals a minute: 1 for Poisson
  double peak_second = 0, peak_minute = 0;  // [1/s] in the busiest second, minute
  Histogram prompt, output;
  double correlation = 0;          // of prompt and output lengths
  double prefix_share = 0;         // of the prompt tokens, seen before: what an endless cache finds
  std::int64_t conversations = 0;  // 0: requests stand alone
  int most_turns = 0;
  std::vector<std::pair<std::string, std::int64_t>> classes;  // requests of each
  /// Arrivals a second by time: (start of the bin [s], rate).
  std::vector<std::pair<double, double>> rates;
  std::vector<std::string> notes;
};

Description describe(const catalog::WorkloadSpec& spec, std::uint64_t seed);

}  // namespace servegrid::workload
