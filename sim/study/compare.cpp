#include "study/compare.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "study/run_jobs.hpp"
#include "units/error.hpp"

namespace servegrid::study {

namespace {

bool ends_with(const std::string& text, const std::string& tail) {
  return text.size() >= tail.size() &&
         text.compare(text.size() - tail.size(), tail.size(), tail) == 0;
}

bool names_load(const std::string& path) {
  return ends_with(path, ".concurrent") || ends_with(path, ".rate") || path == "workload.requests";
}

bool names_load_or_gpus(const std::string& path) {
  return names_load(path) || path.rfind("replica.", 0) == 0 || path == "replica" ||
         path == "replicas" || path.rfind("engine.speculative_", 0) == 0;
}

// A row for values that are no scenario.
Point invalid_point(const Case& one) {
  Point point;
  point.label = one.label;
  point.set_up = one.set_up;
  point.model = one.scenario.model.name;
  point.workload = "-";
  point.feasible = false;
  point.reason = one.invalid;
  return point;
}

constexpr std::size_t most_points = 10000;

using Axes = std::vector<std::pair<std::string, std::vector<std::string>>>;

Axes axes_of(const catalog::Scenario& base, const catalog::Overrides& fixed) {
  Axes axes;
  std::size_t points = 1;
  for (const auto& axis : base.sweep) {
    if (std::any_of(fixed.begin(), fixed.end(),
                    [&](const auto& item) { return item.first == axis.first; }))
      continue;
    if (axis.second.empty()) throw InputError("sweep axis '" + axis.first + "' has no values");
    points *= axis.second.size();
    if (points > most_points)
      throw InputError("the sweep has more than " + std::to_string(most_points) + " points");
    axes.push_back(axis);
  }
  return axes;
}

// Names that mean nothing are an error of the whole sweep, not a row.
void check_names(const Axes& axes, const std::string& file) {
  const catalog::Catalog catalog(std::filesystem::path(file).parent_path().string());
  for (const auto& [path, values] : axes)
    for (const auto& value : values) {
      if (path == "replica.gpu") static_cast<void>(catalog.gpu(value));
      if (path == "model") static_cast<void>(catalog.model(value));
      if (path == "engine" || path == "engine.profile") static_cast<void>(catalog.engine(value));
      if (path == "weights") static_cast<void>(catalog::parse_format(value));
    }
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// The i-th combination, last axis fastest.
catalog::Overrides combination(const Axes& axes, std::size_t points, std::size_t i) {
  catalog::Overrides chosen;
  std::size_t block = points;
  for (const auto& [path, values] : axes) {
    block /= values.size();
    chosen.emplace_back(path, values[i / block]);
    i %= block;
  }
  return chosen;
}

}  // namespace

std::vector<Case> cases_of(const Reader& read, const catalog::Overrides& fixed) {
  const catalog::Scenario base = read({});
  const Axes axes = axes_of(base, fixed);
  check_names(axes, base.file);
  std::size_t points = 1, invalid = 0;
  for (const auto& axis : axes) points *= axis.second.size();
  std::vector<Case> cases;
  std::optional<InputError> first_error;
  for (std::size_t i = 0; i < points; ++i) {
    const catalog::Overrides chosen = combination(axes, points, i);
    Case one;
    for (const auto& [path, value] : chosen) {
      one.label += (one.label.empty() ? "" : ", ") + path + '=' + value;
      if (!names_load_or_gpus(path))
        one.variant += (one.variant.empty() ? "" : ", ") + path + '=' + value;
      if (!names_load(path)) one.set_up += (one.set_up.empty() ? "" : ", ") + value;
    }
    try {
      one.scenario = chosen.empty() ? base : read(chosen);
    } catch (const InputError& e) {
      if (!first_error) first_error = e;
      one.invalid = first_line(e.what());
      one.scenario = base;
      ++invalid;
    }
    if (one.label.empty()) one.label = one.scenario.name;
    cases.push_back(std::move(one));
  }
  if (first_error && invalid == points) throw InputError(*first_error);
  return cases;
}

std::vector<Point> simulate_all(const std::vector<Case>& cases, const CompareOptions& options) {
  std::vector<Point> points;
  std::vector<std::size_t> to_run;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    points.push_back(one.invalid.empty()
                         ? describe(one.scenario, one.label, true, options.limits.any())
                         : invalid_point(one));
    if (points.back().feasible)
      to_run.push_back(i);
    else if (options.done)
      options.done();
  }
  run_jobs(cases, to_run, options, points);
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (!cases[i].variant.empty() && cases[i].invalid.empty())
      points[i].set_up += ", " + cases[i].variant;
  return points;
}

}  // namespace servegrid::study
