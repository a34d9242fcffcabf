#include "cli/external.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "units/error.hpp"

namespace servegrid::cli {

namespace fs = std::filesystem;

std::string find_external(const std::string& name) {
  if (name.empty() || name.front() == '-' || name.find('/') != std::string::npos) return {};
  const std::string file = "servegrid-" + name;
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  std::vector<std::string> folders;
  if (!error) folders.push_back(own.parent_path().string());
  const char* path = std::getenv("PATH");
  std::istringstream list(path == nullptr ? "" : path);
  for (std::string folder; std::getline(list, folder, ':');) folders.push_back(folder);
  for (const auto& folder : folders) {
    if (folder.empty() || folder.front() != '/') continue;  // never from the working folder
    const std::string candidate = folder + "/" + file;
    if (fs::is_regular_file(candidate, error) && ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return {};
}

void run_external(const std::string& program, const Args& args) {
  std::vector<char*> argv;
  std::string own = program;
  Args copies = args;
  argv.push_back(own.data());
  for (auto& arg : copies) argv.push_back(arg.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  throw RunError("cannot start " + program + ": " + std::strerror(errno));
}

}  // namespace servegrid::cli
