// Why two result folders differ: what was asked, the model behind it, and what came out.
#pragma once

#include <string>
#include <vector>

namespace servegrid::study {

struct Difference {
  std::string kind;  // "scenario", "version", "result"
  std::string key, a, b;
};

/// Throws InputError for a folder that holds no result.
std::vector<Difference> diff_results(const std::string& a, const std::string& b);

}  // namespace servegrid::study
