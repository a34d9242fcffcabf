// The stages of making a plan. Private to the plan module.
#pragma once

#include "plan/plan.hpp"

namespace servegrid::plan {

/// The goals that spend what is there; the others meet the load with the least.
inline bool serves_most(Goal goal) {
  return goal == Goal::budget || goal == Goal::goodput;
}

/// Jobs in the fork pool, with progress; throws RunError when one fails.
std::vector<std::string> run_pool(const std::string& what, std::size_t n,
                                  const PlanOptions& options,
                                  const std::function<std::string(std::size_t)>& job);

/// Fills the options (one a source) of a candidate that sustains `capacity` a replica. False, with
/// the reason in the first option, when no source makes it possible. `latency`: mean E2EL [s].
bool score_options(const PlanSpec& plan, const Demand& demand, const Candidate& candidate,
                   double capacity, double latency, std::vector<Option>& options);

/// Simulates what survives the bounds; moves the rest to `rejected`.
void screen(const PlanSpec& plan, const PlanOptions& options, PlanResult& result);
/// Simulates the fleets of the best and settles their replicas.
void check_finalists(const PlanSpec& plan, const PlanOptions& options, PlanResult& result);
/// Replicas over the model's error, and how often each wins.
void draw_errors(const PlanSpec& plan, const PlanOptions& options, PlanResult& result);
/// The tornado of the chosen plan.
void swing(const PlanSpec& plan, const PlanOptions& options, PlanResult& result);
/// Ranks and costs from what is known so far; picks the chosen plan.
void rank(const PlanSpec& plan, PlanResult& result);

}  // namespace servegrid::plan
