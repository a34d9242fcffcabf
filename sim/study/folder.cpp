#include "study/folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "units/error.hpp"

namespace servegrid::study {

namespace fs = std::filesystem;

namespace {

// Every file that a result folder of ours may hold.
constexpr std::array<const char*, 8> result_files = {"summary.json",
                                                     "requests.csv",
                                                     "timeline.csv",
                                                     "scenario.resolved.yaml",
                                                     "points.json",
                                                     "points.csv",
                                                     "scenarios.resolved.yaml",
                                                     "run.log.json"};

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw RunError("cannot write " + path + ": " + why);
}

fs::path beside(const std::string& path, const char* what) {
  fs::path normal = fs::path(path).lexically_normal();
  if (normal.filename().empty()) normal = normal.parent_path();  // "out/"
  return normal.string() + what + std::to_string(::getpid());
}

void write_file(const fs::path& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) fail(path.string(), std::strerror(errno));
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

void write_folder(const std::string& path, const Files& files) {
  check_output_folder(path);
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

}  // namespace servegrid::study
