#include "catalog/catalog.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "catalog/load.hpp"
#include "catalog/names.hpp"
#include "catalog/tree.hpp"

namespace servegrid::catalog {

/// Files already parsed, so that the points of a sweep do not parse them again.
class FileCache {
 public:
  Value get(const std::string& path) {
    const auto it = files_.find(path);
    if (it != files_.end()) return it->second.clone();
    Value v = Value::from_file(path);
    files_.emplace(path, v.clone());
    return v;
  }

 private:
  std::map<std::string, Value> files_;
};

Catalog::Catalog(std::string beside)
    : beside_(std::move(beside)),
      roots_(data_roots(beside_)),
      cache_(std::make_shared<FileCache>()) {}

namespace {

std::string chain_of(const std::vector<std::string>& chain, const std::string& again) {
  std::string out;
  for (const std::string& path : chain) out += stem_of(path) + " -> ";
  return out + stem_of(again);
}

std::string what_is(const std::string& kind) {
  if (kind == "hw_profiles") return "GPU";
  if (kind == "models") return "model";
  if (kind == "engines") return "engine";
  if (kind == "hw_profiles/prices") return "price sheet";
  if (kind == "presets") return "preset";
  if (kind == "plans") return "plan";
  return "scenario";
}

}  // namespace

std::string Catalog::locate(const std::string& kind, const std::string& name,
                            const std::string& folder) const {
  if (!is_path(name)) return resolve_name(roots_, kind, what_is(kind), name).path;
  return name.front() == '/' || folder.empty() || folder == "." ? name : folder + "/" + name;
}

Value Catalog::read(const std::string& kind, const std::string& path) const {
  return extended(kind, cache_->get(path), path);
}

Value Catalog::extended(const std::string& kind, const Value& top, const std::string& path) const {
  Value out = top;
  Value current = top;
  std::vector<std::string> chain = {path};
  while (true) {
    const Value extends = current.find("extends");
    if (!extends.present()) break;
    std::string next;
    try {
      next = locate(kind, word(extends), folder_of(chain.back()));
    } catch (const InputError& e) {
      if (e.where().file.empty()) throw extends.error(e.what());
      throw;
    }
    if (std::find(chain.begin(), chain.end(), next) != chain.end()) {
      throw extends.error("extends itself: " + chain_of(chain, next) + " (break the circle)");
    }
    if (chain.size() >= 16) throw extends.error("extends more than 15 files in a row");
    chain.push_back(next);
    try {
      current = cache_->get(next);
    } catch (const InputError& e) {
      if (e.where().line == 0) throw extends.error(e.what());
      throw;
    }
    out = out.over(current.without("aliases"));  // a relative is not known by its parent's names
  }
  return out.without("extends");
}

namespace {

void apply(Value& v, const Overrides& overrides, const std::string& prefix) {
  for (const auto& [path, text] : overrides) {
    v.set(path, text, fmt::format("--set {}.{}={}", prefix, path, text));
  }
}

std::vector<std::string> stems(const std::vector<std::string>& roots, const std::string& kind) {
  std::vector<std::string> out;
  for (const DataFile& file : data_files(roots, kind)) out.push_back(file.stem);
  return out;
}

}  // namespace

Gpu Catalog::gpu(const std::string& name, const Overrides& overrides) const {
  const std::string path = locate("hw_profiles", name, beside_);
  Value v = read("hw_profiles", path);
  apply(v, overrides, "gpu");
  Gpu gpu = load_gpu(v, stem_of(path), path);
  for (const auto& [key, text] : overrides) gpu.overridden.push_back(key);
  return gpu;
}

Model Catalog::model(const std::string& name, const Overrides& overrides) const {
  const std::string path = locate("models", name, beside_);
  Value v = read("models", path);
  apply(v, overrides, "model");
  return load_model(v, stem_of(path), path);
}

EngineProfile Catalog::engine(const std::string& name, const Overrides& overrides) const {
  const std::string path = locate("engines", name, beside_);
  Value v = read("engines", path);
  apply(v, overrides, "engine");
  return load_engine(v, stem_of(path), path);
}

PriceSheet Catalog::prices(const std::string& name) const {
  const std::string path = locate("hw_profiles/prices", name, beside_);
  return load_prices(read("hw_profiles/prices", path), stem_of(path), path);
}

std::vector<std::string> Catalog::gpu_names() const {
  return stems(roots_, "hw_profiles");
}
std::vector<std::string> Catalog::model_names() const {
  return stems(roots_, "models");
}
std::vector<std::string> Catalog::engine_names() const {
  return stems(roots_, "engines");
}
std::vector<std::string> Catalog::price_names() const {
  return stems(roots_, "hw_profiles/prices");
}
std::vector<std::string> Catalog::scenario_names() const {
  return stems(roots_, "scenarios");
}

std::string Catalog::find_file(const std::string& kind, const std::string& stem) const {
  for (const DataFile& file : data_files(roots_, kind)) {
    if (file.stem == stem) return file.path;
  }
  return {};
}

}  // namespace servegrid::catalog
