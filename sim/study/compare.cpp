#include "study/compare.hpp"

#include <algorithm>

#include "study/run_jobs.hpp"
#include "units/error.hpp"

namespace servegrid::study {

namespace {

bool ends_with(const std::string& text, const std::string& tail) {
  return text.size() >= tail.size() &&
         text.compare(text.size() - tail.size(), tail.size(), tail) == 0;
}

bool names_load_or_gpus(const std::string& path) {
  return ends_with(path, ".concurrent") || ends_with(path, ".rate") ||
         path.rfind("replica.", 0) == 0 || path == "replicas" || path == "workload.requests";
}

constexpr std::size_t most_points = 10000;

}  // namespace

std::vector<Case> cases_of(const Reader& read) {
  const catalog::Scenario base = read({});
  std::size_t points = 1;
  for (const auto& [path, values] : base.sweep) {
    if (values.empty()) throw InputError("sweep axis '" + path + "' has no values");
    points *= values.size();
    if (points > most_points)
      throw InputError("the sweep has more than " + std::to_string(most_points) + " points");
  }
  std::vector<Case> cases;
  for (std::size_t i = 0; i < points; ++i) {
    catalog::Overrides overrides;
    std::size_t left = i, block = points;
    Case one;
    for (const auto& [path, values] : base.sweep) {
      block /= values.size();
      const std::string& value = values[left / block];
      left %= block;
      overrides.emplace_back(path, value);
      one.label += (one.label.empty() ? "" : ", ") + path + '=' + value;
      if (!names_load_or_gpus(path))
        one.variant += (one.variant.empty() ? "" : ", ") + path + '=' + value;
    }
    one.scenario = base.sweep.empty() ? base : read(overrides);
    if (one.label.empty()) one.label = one.scenario.name;
    cases.push_back(std::move(one));
  }
  return cases;
}

std::vector<Point> simulate_all(const std::vector<Case>& cases, const CompareOptions& options) {
  std::vector<Point> points;
  std::vector<std::size_t> to_run;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    points.push_back(describe(cases[i].scenario, cases[i].label));
    if (points.back().feasible)
      to_run.push_back(i);
    else if (options.done)
      options.done();
  }
  run_jobs(cases, to_run, options, points);
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (!cases[i].variant.empty()) points[i].set_up += ", " + cases[i].variant;
  return points;
}

}  // namespace servegrid::study
