// Pieces of reading plans and presets. Private to the plan module.
#pragma once

#include <array>

#include "catalog/reader.hpp"
#include "plan/plan_file.hpp"

namespace servegrid::plan {

/// 24 numbers, or "office", "consumer", "flat".
std::array<double, 24> load_curve(const catalog::Value& v);
/// "09:00-18:00"
std::array<double, 24> load_hours(const catalog::Value& v);
/// [p99 ttft <= 2 s, ...] or {ttft: {p99: 2 s}}
Objectives load_slo(const catalog::Value& v);
/// What a preset says, and what a plan's `load` may say otherwise.
void read_preset_values(const catalog::Value& v, Preset& p);

}  // namespace servegrid::plan
