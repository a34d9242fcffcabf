#include "study/diff.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "catalog/reader.hpp"
#include "units/error.hpp"
#include "units/json.hpp"

namespace servegrid::study {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Flat = std::vector<std::pair<std::string, std::string>>;

// The points of a large sweep take some megabytes.
constexpr std::size_t max_bytes = 64u << 20;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(max_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

void flatten(const std::string& prefix, const catalog::Value& value, Flat& out) {
  if (value.is_map()) {
    for (const auto& [key, item] : value.entries())
      flatten(prefix.empty() ? key : prefix + '.' + key, item, out);
  } else if (value.is_list()) {
    std::size_t i = 0;
    for (const auto& item : value.items())
      flatten(prefix + '[' + std::to_string(i++) + ']', item, out);
  } else {
    out.emplace_back(prefix, value.is_null() ? "" : value.text());
  }
}

void flatten(const std::string& prefix, const Json& value, Flat& out) {
  if (value.is_object()) {
    for (const auto& [key, item] : value.items())
      flatten(prefix.empty() ? key : prefix + '.' + key, item, out);
  } else if (value.is_array()) {
    std::size_t i = 0;
    for (const auto& item : value) flatten(prefix + '[' + std::to_string(i++) + ']', item, out);
  } else {
    out.emplace_back(prefix, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

struct Folder {
  Flat scenario, result;
};

Folder load(const std::string& path) {
  Folder folder;
  const fs::path base(path);
  if (!fs::is_directory(base)) throw InputError(path + " is not a folder");
  const bool one = fs::exists(base / "summary.json");
  const fs::path json_file = base / (one ? "summary.json" : "points.json");
  if (!fs::exists(json_file))
    throw InputError(path + " holds no servegrid result (summary.json or points.json)");
  flatten("", units::parse_ordered_json(read_file(json_file), json_file.string(), max_bytes),
          folder.result);
  const fs::path scenario = base / "scenario.resolved.yaml";
  if (fs::exists(scenario))
    flatten("", catalog::Value::from_file(scenario.string()), folder.scenario);
  return folder;
}

void compare(const std::string& kind, const Flat& a, const Flat& b, std::vector<Difference>& out) {
  const std::map<std::string, std::string> in_a(a.begin(), a.end()), in_b(b.begin(), b.end());
  const auto add = [&](const std::string& key, const std::string& x, const std::string& y) {
    const bool version = key.find("version") != std::string::npos ||
                         key.find("hash") != std::string::npos || key == "trust";
    out.push_back({version ? "version" : kind, key, x, y});
  };
  for (const auto& [key, value] : a) {
    const auto other = in_b.find(key);
    if (other == in_b.end())
      add(key, value, "(absent)");
    else if (other->second != value)
      add(key, value, other->second);
  }
  for (const auto& [key, value] : b)
    if (in_a.count(key) == 0) add(key, "(absent)", value);
}

}  // namespace

std::vector<Difference> diff_results(const std::string& a, const std::string& b) {
  const Folder first = load(a), second = load(b);
  std::vector<Difference> out;
  compare("scenario", first.scenario, second.scenario, out);
  compare("result", first.result, second.result, out);
  return out;
}

}  // namespace servegrid::study
