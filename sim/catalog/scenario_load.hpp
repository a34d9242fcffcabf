// Pieces of reading a scenario. For the catalog and the readers of plans.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "catalog/reader.hpp"
#include "catalog/scenario.hpp"

namespace servegrid::catalog {

using Axis = std::pair<std::string, std::vector<std::string>>;

/// What --set and `overrides:` say about the profiles, paths relative to each.
struct ProfileOverrides {
  Overrides gpu, model, engine;
};

/// A scenario file with what it extends under it, before any override.
struct ScenarioText {
  Value value;
  std::string name, file, beside;
};
ScenarioText open_scenario(const std::string& path_or_name);
ScenarioText open_text(const std::string& text, const std::string& file);

/// Sets what concerns the scenario itself in `v` and sorts the rest by profile. `origin` is put
/// before the path in messages ("--set ").
void apply_overrides(Value& v, const Overrides& overrides, const std::string& origin,
                     ProfileOverrides& profiles);
/// Reads the `overrides:` map of a scenario.
void read_overrides(const Value& v, ProfileOverrides& profiles);

Scenario load_scenario(const Value& v, const Catalog& catalog, const ProfileOverrides& profiles,
                       const std::string& name, const std::string& file);

/// "7680 tokens", {uniform: [200 tokens, 400 tokens]} or {lognormal: {mean, sigma, limit}}.
LengthSpec load_length(const Value& v, double low);
WorkloadSpec load_workload(const Value& v, const std::string& beside);
std::vector<Axis> load_sweep(const Value& v);

/// Keys of the engine part that say what drafts, and whether any engine has that key.
std::vector<std::string> speculation_keys(Policy policy);
bool is_speculation_key(const std::string& key);
/// Reads them and the scenario's `speculation` (may be absent) into s.speculation.
void load_speculation(const Value& engine, const Value& assumption, const Catalog& catalog,
                      Scenario& s);
/// The scenario's `speculation` as YAML; empty without drafts.
std::string speculation_text(const Speculation& speculation);

/// The scenario as YAML that reads back as the same scenario.
std::string resolved_text(const Scenario& s, const ProfileOverrides& profiles);

}  // namespace servegrid::catalog
