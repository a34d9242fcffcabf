// Points as tables, CSV and JSON: shared by run, compare and sweep.
#pragma once

#include <string>
#include <vector>

#include "cli/table.hpp"
#include "study/compare.hpp"

namespace servegrid::cli {

/// One point, readable at a glance.
std::string run_text(const study::Point& point);
std::string run_csv(const study::Point& point);

/// One row a point. `wide` adds the columns that only a file needs.
Table points_table(const std::vector<study::Point>& points);
/// One line a point, plain numbers, metrics under the names of `vllm bench serve`.
std::string points_csv(const std::vector<study::Point>& points);

/// Set-ups with their prices.
Table costs_table(const std::vector<study::SetUp>& set_ups);

/// The whole comparison as one JSON document.
std::string points_json(const std::string& command, const std::vector<study::Point>& points,
                        const std::vector<study::SetUp>& set_ups,
                        const std::vector<std::string>& headline);

}  // namespace servegrid::cli
