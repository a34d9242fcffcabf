// A plan's answer as documents: the JSON, the CSVs and the text of what to check before signing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/plan.hpp"

namespace servegrid::plan {

/// The whole answer (docs/planning.md lists the fields).
std::string plan_json(const PlanSpec& plan, const PlanResult& result);

/// One line a plan and price source, ranked.
std::string plans_csv(const PlanSpec& plan, const PlanResult& result);
std::string rejected_csv(const PlanResult& result);
/// The day, hour by hour, of the chosen plan.
std::string hours_csv(const PlanSpec& plan, const PlanResult& result);
/// Curves of one replica of each finalist over the load.
std::string curves_csv(const PlanSpec& plan, const PlanResult& result);
std::string sensitivity_csv(const PlanResult& result);

/// The chosen plan as a scenario: the fleet under the plan's load.
std::string winner_text(const PlanSpec& plan, const PlanResult& result);
/// Its launch and bench commands, as a script with comments.
std::string launch_text(const PlanSpec& plan, const PlanResult& result);

/// Dependencies, checkpoint, trial and the number that would reverse the decision.
std::vector<std::string> before_you_sign(const PlanSpec& plan, const PlanResult& result);

/// The sentence: what to take, how many, for how much, how sure.
std::string answer_sentence(const PlanSpec& plan, const PlanResult& result);

/// Where simulated throughput turns the ranking by memory around: who leads by GPU memory for the
/// money, and where simulation puts it. Empty when the same set-up leads, or without money.
std::string memory_note(const PlanSpec& plan, const PlanResult& result, std::size_t source,
                        const std::string& precision);

/// Where the cheapest plan changes along tokens/s for each user: (tokens/s, row, cost per million
/// output tokens under that source), one entry a speed that any finalist reaches.
struct SpeedBest {
  double tokens_per_second = 0;
  std::vector<std::pair<std::size_t, double>> costs;  // by row, cheapest first
};
std::vector<SpeedBest> by_speed(const PlanSpec& plan, const PlanResult& result, std::size_t source,
                                const std::string& precision);

/// Everything of the result folder, by file name.
std::vector<std::pair<std::string, std::string>> plan_files(const PlanSpec& plan,
                                                            const PlanResult& result);

}  // namespace servegrid::plan
