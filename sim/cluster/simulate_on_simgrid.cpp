#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "cluster/driver.hpp"
#include "cluster/platform.hpp"
#include "cluster/simgrid_plugin.hpp"
#include "cluster/simulate.hpp"
#include "units/error.hpp"
#include "units/own_folder.hpp"

namespace servegrid::cluster {

namespace fs = std::filesystem;

namespace {

constexpr const char* plugin_name = "libservegrid_simgrid.so";

// Installed: PREFIX/bin beside PREFIX/LIBDIR/servegrid, or the plugin beside us. In a build tree:
// sim/cluster of one of the folders above.
std::vector<fs::path> candidates() {
  std::vector<fs::path> found;
  const fs::path folder = units::own_folder();
  for (const fs::path& package : units::package_folders()) found.push_back(package / plugin_name);
  found.push_back(folder.parent_path() / SERVEGRID_LIBDIR / "servegrid" / plugin_name);
  fs::path above = folder;
  for (int level = 0; level < 4 && above.has_relative_path(); ++level) {
    above = above.parent_path();
    found.push_back(above / "sim" / "cluster" / plugin_name);
  }
  return found;
}

}  // namespace

const SimGridEntry& simgrid_entry() {
  static const SimGridEntry* entry = nullptr;
  if (entry != nullptr) return *entry;
  std::string tried;
  for (const fs::path& path : candidates()) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      tried += "\n  " + path.string() + ": not there";
      continue;
    }
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    void* symbol = library == nullptr ? nullptr : dlsym(library, simgrid_symbol);
    if (symbol != nullptr) {
      entry = static_cast<const SimGridEntry*>(symbol);
      return *entry;
    }
    const char* why = dlerror();
    tried += "\n  " + path.string() + ": " + (why != nullptr ? why : "cannot be loaded");
  }
  throw RunError("cannot load the SimGrid plugin; looked for" + tried +
                 "\nInstall ServeGrid as a whole, with SimGrid's run-time library.");
}

void load_simgrid() {
  static_cast<void>(simgrid_entry());
}

metrics::RunResult simulate_on_simgrid(const catalog::Scenario& scenario,
                                       const std::vector<PoolModel>& pools,
                                       const RunOptions& options) {
  Driver driver(scenario, pools, options);
  const Platform platform = platform_of(scenario);
  Routes routes(platform);
  driver.set_latency([&](int from, int to) {
    return routes.latency(platform.gpus.at(static_cast<std::size_t>(from)),
                          platform.gpus.at(static_cast<std::size_t>(to)));
  });
  driver.set_links([&](int from, int to) {
    Invariants::Links links;
    for (const int l : routes.links(platform.gpus.at(static_cast<std::size_t>(from)),
                                    platform.gpus.at(static_cast<std::size_t>(to)))) {
      links.emplace_back(l, platform.links[static_cast<std::size_t>(l)].bandwidth);
    }
    return links;
  });
  simgrid_entry().run(platform, driver);
  return driver.take_result();
}

metrics::RunResult simulate_on_simgrid(const catalog::Scenario& scenario,
                                       const roofline::StepTimes& steps, std::int64_t num_blocks,
                                       std::int64_t blocks_fixed, const RunOptions& options) {
  return simulate_on_simgrid(scenario, {PoolModel{&steps, num_blocks, blocks_fixed, 0, 0, 0, 0}},
                             options);
}

}  // namespace servegrid::cluster
