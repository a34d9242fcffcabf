// A plan's answer as the document a planner reads.
#pragma once

#include <string>

#include "plan/plan.hpp"

namespace servegrid::cli {

std::string plan_text(const plan::PlanSpec& plan, const plan::PlanResult& result);

}  // namespace servegrid::cli
