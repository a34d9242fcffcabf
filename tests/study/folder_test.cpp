#include "study/folder.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "units/error.hpp"

using namespace servegrid;
namespace fs = std::filesystem;

namespace {

struct Scratch {
  fs::path path = fs::temp_directory_path() / ("servegrid-folder-" + std::to_string(::getpid()));
  Scratch() { fs::create_directories(path); }
  ~Scratch() { fs::remove_all(path); }
};

std::string content(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a result folder is written whole and may be replaced") {
  const Scratch scratch;
  const std::string folder = (scratch.path / "deep" / "er" / "").string();
  study::write_folder(folder, {{"summary.json", "1"}, {"requests.csv", "r"}});
  study::write_folder(folder, {{"summary.json", "2"}});
  CHECK(content(fs::path(folder) / "summary.json") == "2");
  CHECK_FALSE(fs::exists(fs::path(folder) / "requests.csv"));
  CHECK(std::distance(fs::directory_iterator(scratch.path / "deep"), fs::directory_iterator{}) ==
        1);
}

TEST_CASE("a folder that holds something else is refused and left alone") {
  const Scratch scratch;
  std::ofstream(scratch.path / "thesis.tex") << "years of work";
  CHECK_THROWS_AS(study::write_folder(scratch.path.string(), {{"summary.json", "1"}}), InputError);
  CHECK(content(scratch.path / "thesis.tex") == "years of work");
  CHECK_FALSE(fs::exists(scratch.path / "summary.json"));
  CHECK_THROWS_AS(study::check_output_folder((scratch.path / "thesis.tex").string()), InputError);
}

TEST_CASE("a link to a folder stays a link, and the result is where it points") {
  const Scratch scratch;
  const fs::path disk = scratch.path / "disk", link = scratch.path / "link";
  fs::create_directories(disk);
  fs::create_directory_symlink(disk, link);
  study::write_folder(link.string(), {{"summary.json", "1"}});
  CHECK(fs::is_symlink(link));
  CHECK(content(disk / "summary.json") == "1");
  study::write_folder(link.string() + "/", {{"summary.json", "2"}});
  CHECK(fs::is_symlink(link));
  CHECK(content(disk / "summary.json") == "2");
}

TEST_CASE("an empty or absent folder is free") {
  const Scratch scratch;
  CHECK_NOTHROW(study::check_output_folder(scratch.path.string()));
  CHECK_NOTHROW(study::check_output_folder((scratch.path / "new").string()));
}
