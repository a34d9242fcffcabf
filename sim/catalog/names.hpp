// Where data files are and how a name finds one. Private to the catalog.
#pragma once

#include <string>
#include <vector>

namespace servegrid::catalog {

struct DataFile {
  std::string stem, path;
};

/// Folders that hold hw_profiles/, models/, ..., in order of preference.
std::vector<std::string> data_roots(const std::string& beside);

/// All data files of a kind; a stem found in several roots is the first one's. Sorted by stem.
std::vector<DataFile> data_files(const std::vector<std::string>& roots, const std::string& kind);

/// The file that `name` means; throws InputError (without a place) when none or several do.
/// `what` is for the message: "GPU".
DataFile resolve_name(const std::vector<std::string>& roots, const std::string& kind,
                      const std::string& what, const std::string& name);

/// Whether `name` is a path to a file rather than a name.
bool is_path(const std::string& name);

/// "dir/b200.yaml" -> "b200"; and its folder, "." when there is none.
std::string stem_of(const std::string& path);
std::string folder_of(const std::string& path);

}  // namespace servegrid::catalog
