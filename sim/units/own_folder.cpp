#include "units/own_folder.hpp"

#include <dlfcn.h>

#include <sstream>
#include <string>
#include <system_error>

namespace servegrid::units {

namespace fs = std::filesystem;

fs::path own_folder() {
  Dl_info info{};
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path path = fs::canonical(info.dli_fname, error);
    if (!error && fs::is_regular_file(path, error)) return path.parent_path();
  }
  // dli_fname of an executable may be argv[0].
  return fs::canonical("/proc/self/exe", error).parent_path();
}

std::vector<fs::path> package_folders() {
  std::vector<fs::path> folders;
  const fs::path own = own_folder();
  std::istringstream list(SERVEGRID_PACKAGE_FOLDERS);
  for (std::string relative; std::getline(list, relative, ':');)
    folders.push_back((own / relative).lexically_normal());
  return folders;
}

}  // namespace servegrid::units
