// A scenario as YAML that reads back as the same scenario: all defaults written out, with units.
#include <fmt/core.h>

#include "catalog/cluster.hpp"
#include "catalog/load.hpp"
#include "catalog/names.hpp"
#include "catalog/scenario_load.hpp"
#include "catalog/tree.hpp"
#include "catalog/workload_load.hpp"

namespace servegrid::catalog {

using units::Dimension;
using units::exact;

std::string memory_text(const Scenario& s) {
  std::string out;
  const auto add = [&](const char* key, const std::string& value) {
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", key, value);
  };
  if (s.num_gpu_blocks) add("num_gpu_blocks", std::to_string(*s.num_gpu_blocks));
  if (s.kv_bytes) add("kv_bytes", exact(*s.kv_bytes, Dimension::bytes));
  if (s.reserve_bytes) add("reserve", exact(*s.reserve_bytes, Dimension::bytes));
  if (s.weights_bytes) add("weights", exact(*s.weights_bytes, Dimension::bytes));
  for (std::size_t i = 0; i < s.cache_tiers.size(); ++i) {
    const CacheTierSpec& tier = s.cache_tiers[i];
    add(i == 0 ? "host_cache" : "disk_cache",
        fmt::format("{{size: {}, bandwidth: {}}}", exact(tier.bytes, Dimension::bytes),
                    exact(tier.bandwidth, Dimension::bytes_per_second)));
  }
  return out.empty() ? out : "memory: {" + out + "}\n";
}

namespace {

std::string list_text(const std::vector<std::string>& words) {
  std::string out = "[";
  for (const std::string& w : words) out += (out.size() > 1 ? ", " : "") + w;
  return out + "]";
}

}  // namespace

std::string reference(const std::string& name, const std::string& file, const std::string& kind,
                      const Catalog& catalog) {
  const std::string found = catalog.find_file(kind, name);
  return yaml_scalar(found == file || found.empty() == file.empty() ? name : file, true);
}

namespace {

std::string overrides_text(const ProfileOverrides& profiles) {
  std::string out;
  const auto add = [&](const char* profile, const Overrides& overrides) {
    for (const auto& [path, text] : overrides) {
      const bool branch = !text.empty() && (text.front() == '[' || text.front() == '{');
      out += fmt::format("  {}: {}\n", yaml_scalar(fmt::format("{}.{}", profile, path), false),
                         branch ? text : yaml_scalar(text, false));
    }
  };
  add("gpu", profiles.gpu);
  add("model", profiles.model);
  add("engine", profiles.engine);
  return out.empty() ? out : "overrides:\n" + out;
}

}  // namespace

std::string resolved_text(const Scenario& s, const ProfileOverrides& profiles) {
  const Catalog catalog(folder_of(s.file));
  const auto flow = [](const std::string& text) { return yaml_scalar(text, true); };
  std::string out;
  if (!s.description.empty()) {
    out += "description: " + yaml_scalar(s.description, false) + "\n";
  }
  if (cluster_of(s).pools.empty()) {
    out += "model: " + reference(s.model.name, s.model.file, "models", catalog) + "\n";
    out += fmt::format("weights: {}\n", name(s.weights));
    out += fmt::format("replica: {{gpu: {}, tp: {}, pp: {}, ep: {}, dp: {}{}}}\n",
                       reference(s.gpu.name, s.gpu.file, "hw_profiles", catalog), s.parallel.tp,
                       s.parallel.pp, s.parallel.ep, s.parallel.dp,
                       s.parallel.expert_imbalance > 1
                           ? fmt::format(", expert_imbalance: {}", s.parallel.expert_imbalance)
                           : "");
    out += fmt::format("replicas: {}\n", s.replicas);
    out +=
        "engine:\n  profile: " + reference(s.engine.name, s.engine.file, "engines", catalog) + "\n";
    for (const auto& [knob, value] : write_knobs(s.knobs, s.engine.policy)) {
      out += "  " + knob + ": " + value + "\n";
    }
    out += s.speculation.written_as + speculation_text(s.speculation);
    out += memory_text(s);
  }
  out += cluster_text(s, catalog);
  out += workload_text(s.workload) + slo_text(s.slo);
  if (!s.prices.empty()) {
    std::vector<std::string> names;
    for (const std::string& price : s.prices) names.push_back(flow(price));
    out += "prices: " + list_text(names) + "\n";
  }
  out += fmt::format("seed: {}\n", s.seed);
  out += overrides_text(profiles);
  if (!s.sweep.empty()) out += "sweep:\n";
  for (const auto& [path, values] : s.sweep) {
    std::vector<std::string> texts;
    for (const std::string& value : values) {
      const bool branch = !value.empty() && (value.front() == '[' || value.front() == '{');
      texts.push_back(branch ? value : flow(value));
    }
    out += "  " + yaml_scalar(path, false) + ": " + list_text(texts) + "\n";
  }
  return out;
}

}  // namespace servegrid::catalog
