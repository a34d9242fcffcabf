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
/// Parts of a scenario or of a pool, read into `s`, whose model and weights are known.
void load_replica(const Value& replica, const Catalog& catalog, const Overrides& overrides,
                  Scenario& s);
void load_engine_part(const Value& engine, const Catalog& catalog, const Overrides& overrides,
                      Scenario& s);
void load_memory_part(const Value& v, Scenario& s);
/// Model and weights, when the keys are there.
void load_model_part(const Value& v, const Catalog& catalog, const Overrides& overrides,
                     Scenario& s);

/// Pools, router, transfer, network, faults and operations; null when none is there. `s` holds what
/// the scenario says for all pools and becomes the first one.
void load_cluster(const Value& v, const Catalog& catalog, const ProfileOverrides& profiles,
                  Scenario& s);
/// The same sections as YAML; empty when there are none.
std::string cluster_text(const Scenario& s, const Catalog& catalog);
/// Measured overrides of memory, "memory: {...}" on a line; empty when there are none.
std::string memory_text(const Scenario& s);
/// How a profile is named so that the resolved scenario finds it: by its key, or by its file when
/// it was given as one (no file of that key in the catalogue's folders).
std::string reference(const std::string& name, const std::string& file, const std::string& kind,
                      const Catalog& catalog);

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
