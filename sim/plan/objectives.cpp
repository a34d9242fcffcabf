#include "plan/objectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "units/error.hpp"
#include "units/quantity.hpp"

namespace servegrid::plan {

namespace {

constexpr std::array<std::string_view, 4> metric_names = {"ttft", "tpot", "itl", "e2el"};
constexpr double longest = 1e7;  // [s], as a scenario's objectives

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

std::string statistic(const std::optional<double>& percentile) {
  return percentile ? fmt::format("p{:.6g}", *percentile) : "mean";
}

}  // namespace

std::string_view name(Metric metric) {
  return metric_names.at(static_cast<std::size_t>(metric));
}

std::optional<Metric> parse_metric(std::string_view text) {
  const auto it = std::find(metric_names.begin(), metric_names.end(), lower(text));
  if (it == metric_names.end()) return std::nullopt;
  return static_cast<Metric>(it - metric_names.begin());
}

bool parse_statistic(std::string_view text, std::optional<double>& percentile) {
  const std::string word = lower(text);
  if (word == "mean" || word == "average") {
    percentile.reset();
    return true;
  }
  if (word == "median") {
    percentile = 50;
    return true;
  }
  double number = 0;
  if (word.size() < 2 || word[0] != 'p') return false;
  if (units::scan_number(word.substr(1), number) != word.size() - 1) return false;
  if (!(number > 0) || !(number < 100)) return false;
  percentile = number;
  return true;
}

std::string Objective::text() const {
  return fmt::format("{} {} <= {}", statistic(percentile), upper(plan::name(metric)),
                     units::exact(limit, units::Dimension::seconds));
}

std::string Objective::name() const {
  return fmt::format("{}_{}_ms", statistic(percentile), plan::name(metric));
}

Objective parse_objective(const std::string& written) {
  const auto fail = [&](const std::string& why) {
    std::string shown;
    for (const char c : written.substr(0, 80)) shown += c >= ' ' && c < 127 ? c : '?';
    return InputError("'" + shown + "' is no objective: " + why +
                      " (write it as 'p99 ttft <= 2 s' or 'mean tpot <= 50 ms')");
  };
  const auto sign = written.find("<=");
  if (sign == std::string::npos) throw fail("it has no '<='");
  std::string left = trimmed(std::string_view(written).substr(0, sign));
  std::replace(left.begin(), left.end(), '_', ' ');
  const auto space = left.find(' ');
  if (space == std::string::npos) throw fail("it needs a percentile or 'mean', and a latency");
  Objective objective;
  if (!parse_statistic(left.substr(0, space), objective.percentile))
    throw fail("'" + left.substr(0, std::min<std::size_t>(space, 20)) +
               "' is neither 'mean', 'median' nor a percentile between p0 and p100");
  const auto metric = parse_metric(trimmed(left.substr(space + 1)));
  if (!metric) throw fail("the latency is one of ttft, tpot, itl, e2el");
  objective.metric = *metric;
  try {
    objective.limit = units::parse(trimmed(std::string_view(written).substr(sign + 2)),
                                   units::Dimension::seconds);
  } catch (const InputError& e) {
    throw fail(e.what());
  }
  if (!(objective.limit > 0) || objective.limit > longest)
    throw fail("the limit must be above 0 and at most 1e7 s");
  return objective;
}

Objectives objectives_of(const catalog::SloSpec& slo, std::optional<double> percentile) {
  Objectives out;
  if (slo.ttft) out.push_back({Metric::ttft, percentile, *slo.ttft});
  if (slo.tpot) out.push_back({Metric::tpot, percentile, *slo.tpot});
  if (slo.e2el) out.push_back({Metric::e2el, percentile, *slo.e2el});
  return out;
}

std::string text(const Objectives& objectives) {
  std::string out;
  for (const auto& objective : objectives) out += (out.empty() ? "" : ", ") + objective.text();
  return out;
}

}  // namespace servegrid::plan
