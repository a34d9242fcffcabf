#include "catalog/names.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "catalog/reader.hpp"
#include "catalog/tree.hpp"
#include "units/own_folder.hpp"

namespace servegrid::catalog {

namespace fs = std::filesystem;

namespace {

/// Lower case, '_' ' ' '.' as '-'.
std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '_' || c == ' ' || c == '.') {
      out += '-';
    } else {
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return out;
}

/// The same without separators: "H100 SXM" and "h100sxm" meet.
std::string squeezed(std::string_view name) {
  std::string out = folded(name);
  std::erase(out, '-');
  return out;
}

std::string without_organisation(const std::string& name) {
  return name.substr(name.rfind('/') + 1);
}

/// The `aliases:` of a file without parsing the rest of it: resolving a name reads every file of a
/// kind.
std::vector<std::string> aliases_of(const std::string& path) {
  std::ifstream in(path);
  std::string line, block;
  while (std::getline(in, line)) {
    if (!block.empty() && !line.empty() && line[0] != ' ' && line[0] != '-' && line[0] != '#') {
      break;
    }
    if (line.starts_with("aliases:") || !block.empty()) block += line + "\n";
    if (block.size() > (64u << 10)) break;
  }
  std::vector<std::string> out;
  if (block.empty()) return out;
  try {
    const Value aliases = Value::from_text(block, path).at("aliases");
    for (const Value& item : aliases.items()) out.push_back(item.text());
  } catch (const InputError&) {
    out.clear();  // a broken file has no aliases; reading it by its own name says why
  }
  return out;
}

bool is_folder(const fs::path& p) {
  std::error_code ignored;
  return fs::is_directory(p, ignored);
}

}  // namespace

std::string stem_of(const std::string& path) {
  return fs::path(path).stem().string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

bool is_path(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

std::vector<std::string> data_roots(const std::string& beside) {
  std::vector<std::string> roots;
  const auto add = [&](const std::string& root) {
    if (!root.empty() && is_folder(root) &&
        std::find(roots.begin(), roots.end(), root) == roots.end()) {
      roots.push_back(root);
    }
  };
  add(beside);
  if (const char* data = std::getenv("SERVEGRID_DATA"); data != nullptr) {
    std::istringstream list(data);
    for (std::string root; std::getline(list, root, ':');) add(root);
  }
  // The data of the Python package, beside its module.
  for (const fs::path& folder : units::package_folders()) add((folder / "data").string());
  // A relocated install: PREFIX/bin/servegrid and PREFIX/share/servegrid.
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    add((self.parent_path().parent_path() / "share" / "servegrid").lexically_normal().string());
  }
  add(SERVEGRID_INSTALL_DATA);
  add(SERVEGRID_SOURCE_DATA);
  return roots;
}

std::vector<DataFile> data_files(const std::vector<std::string>& roots, const std::string& kind) {
  std::map<std::string, std::string> found;
  for (const std::string& root : roots) {
    std::error_code failed;
    for (fs::directory_iterator it(fs::path(root) / kind, failed), end; !failed && it != end;
         it.increment(failed)) {
      if (it->path().extension() != ".yaml") continue;
      if (std::error_code ignored; !it->is_regular_file(ignored)) continue;
      found.emplace(it->path().stem().string(), it->path().string());
    }
  }
  std::vector<DataFile> out;
  for (const auto& [stem, path] : found) out.push_back({stem, path});
  return out;
}

DataFile resolve_name(const std::vector<std::string>& roots, const std::string& kind,
                      const std::string& what, const std::string& name) {
  if (name.empty() || name.size() > 256) throw InputError("the name of a " + what + " is missing");
  const std::vector<DataFile> files = data_files(roots, kind);
  const auto pick = [&](const std::set<std::size_t>& matches) {
    if (matches.size() == 1) return files[*matches.begin()];
    std::string all;
    for (const std::size_t i : matches) all += (all.empty() ? "" : ", ") + files[i].stem;
    throw InputError(
        fmt::format("'{}' may mean several {}s: {} (say which)", printable(name), what, all));
  };
  // From strict to lenient; the first way that finds anything decides.
  std::set<std::size_t> stems, full, bare, loose;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (folded(files[i].stem) == folded(name)) stems.insert(i);
    if (files[i].stem == name) return files[i];
  }
  if (!stems.empty()) return pick(stems);
  std::vector<std::string> known;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::vector<std::string> names = aliases_of(files[i].path);
    names.push_back(files[i].stem);
    known.push_back(files[i].stem);
    for (const std::string& alias : names) {
      if (folded(alias) == folded(name)) full.insert(i);
      if (folded(without_organisation(alias)) == folded(without_organisation(name))) bare.insert(i);
      if (squeezed(without_organisation(alias)) == squeezed(without_organisation(name))) {
        loose.insert(i);
      }
    }
  }
  for (const auto* matches : {&full, &bare, &loose}) {
    if (!matches->empty()) return pick(*matches);
  }
  const std::string guess = nearest(folded(without_organisation(name)), known);
  std::string hint;
  if (!guess.empty()) {
    hint = fmt::format(": did you mean '{}'?", guess);
  } else {
    for (const std::string& stem : known) hint += (hint.empty() ? " (known: " : ", ") + stem;
    hint += hint.empty() ? fmt::format(" (no {} folder was found)", kind) : ")";
  }
  throw InputError(fmt::format("there is no {} '{}'{}", what, printable(name), hint));
}

}  // namespace servegrid::catalog
