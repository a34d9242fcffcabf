// The catalogue as text.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "cli/options.hpp"

namespace servegrid::cli {

/// Every kind with its names and titles.
std::string catalog_text(const catalog::Catalog& catalog);

/// A data file: as it is written (it holds its sources), as JSON, or path,value as CSV.
std::string show_text(const std::string& path, OutputFormat format);

/// Data sheets side by side, one column a GPU, prices under each sheet at the end.
std::string compare_text(const catalog::Catalog& catalog, const std::vector<catalog::Gpu>& gpus,
                         OutputFormat format);

}  // namespace servegrid::cli
