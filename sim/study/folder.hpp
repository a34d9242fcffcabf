// Result folders: written whole or not at all, and never over anything that is not a result.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "study/run.hpp"

namespace servegrid::study {

/// Throws InputError when `path` exists and is not an empty folder or a result folder.
void check_output_folder(const std::string& path);

/// Name and content of each file. Replaces a result folder that is there. Throws RunError when it
/// cannot be written; nothing is left behind then.
using Files = std::vector<std::pair<std::string, std::string>>;
void write_folder(const std::string& path, const Files& files);

/// summary.json, requests.csv, timeline.csv, scenario.resolved.yaml of one run.
void write_run(const std::string& path, const catalog::Scenario& scenario, const Point& point,
               const metrics::RunResult& result);

}  // namespace servegrid::study
