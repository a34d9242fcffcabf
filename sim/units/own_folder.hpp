// Where the code that runs lies on disk, to find what was installed with it.
#pragma once

#include <filesystem>
#include <vector>

namespace servegrid::units {

/// Folder of the executable or shared object that this code is part of: the command, a test, the
/// Python module.
std::filesystem::path own_folder();

/// Folders that may be the installed Python package: that of the module itself, and where a wheel
/// puts the package beside the command. They need not exist.
std::vector<std::filesystem::path> package_folders();

}  // namespace servegrid::units
