// The catalogue: every GPU, model, engine, price sheet and scenario that can be named. Looked up
// beside the scenario, then in SERVEGRID_DATA, then where ServeGrid is installed (or its source
// tree).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catalog/engine.hpp"
#include "catalog/gpu.hpp"
#include "catalog/model.hpp"
#include "catalog/price.hpp"
#include "catalog/scenario.hpp"

namespace servegrid::catalog {

using Overrides = std::vector<std::pair<std::string, std::string>>;  // --set path=value, in order

class FileCache;
class Value;

class Catalog {
 public:
  /// `beside`: folder of the scenario file (may be empty).
  explicit Catalog(std::string beside = {});

  // Names resolve as people write them: catalogue key, alias, Hugging Face id (with or without
  // organisation), any case,
  // '_' or ' ' for '-'. Unknown or ambiguous names throw InputError with the nearest ones. A path
  // to a .yaml file is read as it is. `overrides` apply inside the profile (paths relative to it)
  // and follow `extends`.
  [[nodiscard]] Gpu gpu(const std::string& name, const Overrides& overrides = {}) const;
  [[nodiscard]] Model model(const std::string& name, const Overrides& overrides = {}) const;
  [[nodiscard]] EngineProfile engine(const std::string& name,
                                     const Overrides& overrides = {}) const;
  [[nodiscard]] PriceSheet prices(const std::string& name) const;

  [[nodiscard]] std::vector<std::string> gpu_names() const;
  [[nodiscard]] std::vector<std::string> model_names() const;
  [[nodiscard]] std::vector<std::string> engine_names() const;
  [[nodiscard]] std::vector<std::string> price_names() const;
  [[nodiscard]] std::vector<std::string> scenario_names() const;

  /// Path of a data file: kind is "hw_profiles", "hw_profiles/fits", "hw_profiles/prices",
  /// "models", "engines", "scenarios"; empty when there is none.
  [[nodiscard]] std::string find_file(const std::string& kind, const std::string& stem) const;

  /// Path of the file that `name` means; a path relative to `folder`. Throws InputError.
  [[nodiscard]] std::string locate(const std::string& kind, const std::string& name,
                                   const std::string& folder) const;
  /// The parsed file with what it extends under it, as a copy of the caller's own. Throws
  /// InputError.
  [[nodiscard]] Value read(const std::string& kind, const std::string& path) const;
  /// The same for a file already parsed as `top`.
  [[nodiscard]] Value extended(const std::string& kind, const Value& top,
                               const std::string& path) const;

 private:
  std::string beside_;
  std::vector<std::string> roots_;
  std::shared_ptr<FileCache> cache_;
};

/// Reads a scenario file (or a name in scenarios/) with --set overrides: paths into the scenario
/// ("replica.tp=2", "workload.conversations.concurrent=55") or into the profiles it uses
/// ("gpu.memory.bandwidth=8.8 TB/s", "model.…", "engine.max_num_seqs=256"). Throws InputError.
Scenario read_scenario(const std::string& path_or_name, const Overrides& overrides = {});

/// The same from YAML text; `file` is its name in messages.
Scenario read_scenario_text(const std::string& text, const std::string& file,
                            const Overrides& overrides = {});

/// One scenario per point of the sweep, axes varying last-fastest; without a sweep, the scenario
/// itself. Each has its own label ("replica.gpu=b200, workload.conversations.concurrent=15"). An
/// invalid point throws InputError.
std::vector<std::pair<std::string, Scenario>> expand_sweep(const std::string& path_or_name,
                                                           const Overrides& overrides);

}  // namespace servegrid::catalog
