#include "study/folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "metrics/series.hpp"
#include "metrics/writers.hpp"
#include "units/error.hpp"

namespace servegrid::study {

namespace fs = std::filesystem;

namespace {

// Every file that a result folder of ours may hold.
constexpr std::array<const char*, 22> result_files = {"summary.json",
                                                      "requests.csv",
                                                      "timeline.csv",
                                                      "scenario.resolved.yaml",  // a run
                                                      "points.json",
                                                      "points.csv",
                                                      "scenarios.resolved.yaml",  // a comparison
                                                      "capacity.json",
                                                      "capacity.csv",  // a capacity
                                                      "plan.json",
                                                      "plans.csv",
                                                      "rejected.csv",
                                                      "curves.csv",
                                                      "hours.csv",
                                                      "sensitivity.csv",
                                                      "winner.yaml",
                                                      "launch.sh",
                                                      "plan.resolved.yaml",  // a plan
                                                      "tune.json",
                                                      "scenario.yaml",
                                                      "trace.csv",
                                                      "observed.json"};

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw RunError("cannot write " + path + ": " + why);
}

fs::path beside(const std::string& path, const char* what) {
  fs::path normal = fs::path(path).lexically_normal();
  if (normal.filename().empty()) normal = normal.parent_path();  // "out/"
  return normal.string() + what + std::to_string(::getpid());
}

void write_file(const fs::path& path, const Content& content) {
  std::ofstream out(path, std::ios::binary);
  metrics::TextOut text([&out](std::string_view piece) {
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  });
  content.write(text);
  text.finish();
  out.close();
  if (!out) fail(path.string(), std::strerror(errno));
}

// FNV-1a, 64 bits: names a scenario, guards nothing.
std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace

void check_output_folder(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return;
  if (!fs::is_directory(status))
    throw InputError("--output " + path +
                     " is not a folder; name one that is new, empty, or an "
                     "earlier result");
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool ours = std::any_of(result_files.begin(), result_files.end(),
                                  [&](const char* known) { return name == known; });
    if (!ours)
      throw InputError("--output " + path + " holds '" + name +
                       "', which is not part of a servegrid result: it is not overwritten; name "
                       "another folder");
  }
  if (error) throw InputError("--output " + path + ": " + error.message());
}

void write_folder(const std::string& name, const Files& files) {
  check_output_folder(name);
  // A link to a folder keeps being one: what it points to is replaced.
  const std::string path = fs::is_directory(name) ? fs::canonical(name).string() : name;
  const fs::path partial = beside(path, ".partial-"), old = beside(path, ".old-");
  std::error_code error;
  try {
    fs::create_directories(partial);
    for (const auto& [name, content] : files) write_file(partial / name, content);
    if (fs::exists(path)) fs::rename(path, old);
    fs::rename(partial, path);
  } catch (const fs::filesystem_error& e) {
    fs::remove_all(partial, error);
    if (!fs::exists(path) && fs::exists(old)) fs::rename(old, path, error);
    fail(path, e.code().message());
  } catch (...) {
    fs::remove_all(partial, error);
    throw;
  }
  fs::remove_all(old, error);
}

namespace {

nlohmann::ordered_json series_json(const metrics::RunResult& result, int replicas) {
  using Json = nlohmann::ordered_json;
  Json out = {{"start_s", Json::array()}, {"running", Json::array()},
              {"waiting", Json::array()}, {"kv_cache_usage", Json::array()},
              {"busy", Json::array()},    {"output_throughput", Json::array()}};
  for (const metrics::SeriesPart& p : metrics::series_of(result, replicas)) {
    out["start_s"].push_back(p.start);
    out["running"].push_back(p.running);
    out["waiting"].push_back(p.waiting);
    out["kv_cache_usage"].push_back(p.kv);
    out["busy"].push_back(p.busy);
    out["output_throughput"].push_back(p.output_tokens);
  }
  return out;
}

}  // namespace

void write_run(const std::string& path, const catalog::Scenario& scenario, const Point& point,
               const metrics::RunResult& result) {
  using Json = nlohmann::ordered_json;
  Json summary = Json::parse(metrics::summary_json(point.summary));
  summary["scenario_hash"] = fmt::format("{:016x}", fnv1a(scenario.resolved_yaml));
  summary["trust"] = point.trust;
  summary["intervals_90"] = Json::object();
  for (const auto& i : point.intervals) summary["intervals_90"][i.metric] = {i.low, i.high};
  summary["binds"] = point.binds;
  summary["partial"] = point.partial.empty() ? Json(nullptr) : Json(point.partial);
  summary["verdict"] = point.verdict;
  summary["notes"] = point.notes;
  const Json whole = Json::parse(to_text(point));
  for (const char* table : {"classes", "tenants", "by_replica"}) summary[table] = whole[table];
  summary["timeline"] = series_json(result, point.replicas);
  summary["resident_conversations"] = point.resident * point.replicas;
  summary["context_tokens"] = point.context_tokens;
  Files files = {{"summary.json", summary.dump(2) + '\n'},
                 {"scenario.resolved.yaml", scenario.resolved_yaml}};
  if (result.request_sums == nullptr) {
    files.emplace_back("requests.csv", [&](metrics::TextOut& out) { write_requests(result, out); });
    files.emplace_back("timeline.csv", [&](metrics::TextOut& out) { write_timeline(result, out); });
  }
  write_folder(path, files);
}

}  // namespace servegrid::study
