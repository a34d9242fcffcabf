// What a point says beside its summary: tables of classes, tenants and replicas, whether it keeps
// up, and what a reader must know.
#pragma once

#include <string>

#include "metrics/groups.hpp"
#include "study/run.hpp"

namespace servegrid::study {

/// The classes of a scenario with the objectives that each must meet (at least one), and which
/// requests are measured.
metrics::Grouping grouping_of(const catalog::Scenario& scenario, const metrics::RunResult& result);

/// Fills verdict, notes and tables.
void add_tables(const catalog::Scenario& scenario, const metrics::RunResult& result,
                const metrics::Grouping& grouping, Point& point);

/// Writes the run as a Chrome trace, whole or not at all.
void write_trace(const std::string& path, const metrics::RunResult& result, int replicas);

}  // namespace servegrid::study
