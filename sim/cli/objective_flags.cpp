#include "cli/objective_flags.hpp"

#include "units/error.hpp"

namespace servegrid::cli {

void add_objective_flags(po::options_description& group) {
  auto add = group.add_options();
  add("slo", po::value<std::vector<std::string>>()->composing()->value_name("OBJECTIVE"),
      "'p99 ttft <= 2 s', 'mean tpot <= 50 ms' (ttft, tpot, itl, e2el; repeatable, all hold)");
  add("at", po::value<std::string>()->value_name("STATISTIC"),
      "where the objectives of the scenario's slo (and --slo-ttft, --slo-tpot) hold: p99 "
      "(default), "
      "p90, median, mean");
}

plan::Objectives objectives_of(const Parsed& parsed, const catalog::Scenario& scenario) {
  plan::Objectives objectives;
  for (const auto& text : parsed.list("slo")) objectives.push_back(plan::parse_objective(text));
  std::optional<double> percentile = 99;
  if (parsed.has("at") && !plan::parse_statistic(parsed.text("at"), percentile))
    throw InputError("--at takes mean, median or a percentile such as p95, not '" +
                     parsed.text("at") + "'");
  for (const auto& objective : plan::objectives_of(scenario.slo, percentile))
    objectives.push_back(objective);
  if (objectives.empty())
    throw InputError(
        "needs an objective: --slo 'p99 ttft <= 2 s' (repeatable), or the scenario's `slo`");
  return objectives;
}

}  // namespace servegrid::cli
