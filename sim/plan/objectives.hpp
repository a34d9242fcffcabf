// Service-level objectives: a latency, a percentile (or the mean) and a limit; all hold together.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/scenario.hpp"

namespace servegrid::plan {

enum class Metric { ttft, tpot, itl, e2el };

struct Objective {
  Metric metric = Metric::ttft;
  std::optional<double> percentile;  // in (0, 100); absent: the mean
  double limit = 0;                  // [s]

  /// "p99 TTFT <= 2 s", as parse_objective reads it.
  [[nodiscard]] std::string text() const;
  /// "p99_ttft_ms", as `vllm bench serve` names it.
  [[nodiscard]] std::string name() const;
};

using Objectives = std::vector<Objective>;

/// "ttft", "tpot", "itl", "e2el".
std::string_view name(Metric metric);
/// Any case; nullopt for another word.
std::optional<Metric> parse_metric(std::string_view text);
/// "p99", "p99.9", "median", "mean" -> percentile; nullopt in `percentile` is the mean. False when
/// the text is none of these.
bool parse_statistic(std::string_view text, std::optional<double>& percentile);

/// "p99 ttft <= 2 s", "mean tpot<=50ms". Throws InputError that shows the form.
Objective parse_objective(const std::string& text);

/// The objectives of a scenario's `slo`, each held at that percentile.
Objectives objectives_of(const catalog::SloSpec& slo, std::optional<double> percentile);

/// "p99 TTFT <= 2 s, mean TPOT <= 50 ms".
std::string text(const Objectives& objectives);

}  // namespace servegrid::plan
