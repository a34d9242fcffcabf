// --set, `overrides:` and the points of a sweep.
#include <fmt/core.h>

#include <algorithm>

#include "catalog/load.hpp"
#include "catalog/relative.hpp"
#include "catalog/scenario_load.hpp"
#include "catalog/tree.hpp"

namespace servegrid::catalog {

namespace {

bool sort_by_profile(const std::string& path, const std::string& text, ProfileOverrides& to) {
  const auto rest = [&](std::string_view prefix) { return path.substr(prefix.size()); };
  if (path.starts_with("gpu.")) {
    to.gpu.emplace_back(rest("gpu."), text);
  } else if (path.starts_with("model.")) {
    to.model.emplace_back(rest("model."), text);
  } else if (path.starts_with("engine.") && path != "engine.profile" && !is_knob(rest("engine."))) {
    to.engine.emplace_back(rest("engine."), text);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void apply_overrides(Value& v, const Overrides& overrides, const std::string& origin,
                     ProfileOverrides& profiles) {
  for (const auto& [path, text] : overrides) {
    if (sort_by_profile(path, text, profiles)) continue;
    const std::string place = fmt::format("{}{}={}", origin, path, text);
    if (path.starts_with("engine.")) {
      const Value engine = v.find("engine");  // a bare name becomes a map that can hold knobs
      if (engine.is_scalar()) {
        v.set("engine", "{profile: " + yaml_scalar(engine.text(), true) + "}", place);
      }
      // Relative to a default of the engine, which is known only once its profile is read.
      const std::string knob = path.substr(7);
      if (engine.present() && is_knob(knob) && relative_factor(text) > 0 &&
          !v.find("engine").find(knob).present()) {
        std::string flow = v.find("engine").flow();
        flow.insert(flow.size() - 1, ", " + knob + ": " + yaml_scalar(text, true));
        v.set("engine", flow, place);
        continue;
      }
    }
    v.set(path, text, place);
  }
}

void read_overrides(const Value& v, ProfileOverrides& profiles) {
  const Value overrides = v.find("overrides");
  if (!overrides.present()) return;
  for (const auto& [path, value] : overrides.entries()) {
    const std::string text = value.is_scalar() ? value.text() : value.flow();
    if (!sort_by_profile(path, text, profiles)) {
      throw value.error(fmt::format(
          "overrides change a profile: the path starts with gpu., model. or engine., not '{}'",
          printable(path)));
    }
  }
}

std::vector<std::pair<std::string, Scenario>> expand_sweep(const std::string& path_or_name,
                                                           const Overrides& overrides) {
  ScenarioText text = open_scenario(path_or_name);
  ProfileOverrides profiles;
  read_overrides(text.value, profiles);
  apply_overrides(text.value, overrides, "--set ", profiles);
  const Catalog catalog(text.beside);
  std::vector<Axis> axes;
  if (const Value sweep = text.value.find("sweep"); sweep.present()) axes = load_sweep(sweep);
  // What --set fixes is not swept.
  std::erase_if(axes, [&](const Axis& axis) {
    return std::any_of(overrides.begin(), overrides.end(),
                       [&](const auto& o) { return o.first == axis.first; });
  });
  const Value base = text.value.without("sweep");
  std::size_t points = 1;
  for (const Axis& axis : axes) points *= axis.second.size();
  std::vector<std::pair<std::string, Scenario>> out;
  for (std::size_t point = 0; point < points; ++point) {
    Overrides chosen;
    std::string label;
    std::size_t rest = point, block = points;
    for (const Axis& axis : axes) {
      block /= axis.second.size();
      const std::string& value = axis.second[rest / block];
      rest %= block;
      chosen.emplace_back(axis.first, value);
      label += (label.empty() ? "" : ", ") + axis.first + "=" + value;
    }
    Value v = base.clone();
    ProfileOverrides with_axis = profiles;
    apply_overrides(v, chosen, text.file + ": sweep ", with_axis);
    out.emplace_back(label, load_scenario(v, catalog, with_axis, text.name, text.file));
  }
  return out;
}

}  // namespace servegrid::catalog
