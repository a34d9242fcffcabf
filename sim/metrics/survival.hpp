// Durations of which some were cut off: the request had waited so long when the run stopped.
#pragma once

#include <optional>
#include <vector>

namespace servegrid::metrics {

struct Durations {
  std::vector<double> seen;
  std::vector<double> at_least;  // cut off

  /// Those cut off count as long as they were seen: a lower bound.
  [[nodiscard]] std::vector<double> bounds() const;
  /// Quantiles `q` (ascending) of the Kaplan-Meier estimate: the first duration seen that a share q
  /// does not exceed. Absent where too much was cut off before.
  [[nodiscard]] std::vector<std::optional<double>> quantiles(const std::vector<double>& q) const;
};

}  // namespace servegrid::metrics
