// `servegrid model import`: a model file from a Hugging Face config.json.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catalog/hf_import.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

constexpr const char* quant_file = "hf_quant_config.json";  // beside a quantised checkpoint
constexpr std::uintmax_t most_bytes = 4u << 20;

std::string read_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw InputError(path + " is a folder; name the config.json in it");
  if (std::filesystem::file_size(path, error) > most_bytes && !error)
    throw InputError(path + " is larger than 4 MiB: not a config.json");
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) throw InputError("cannot read " + path);
  return text.str();
}

void write_new_file(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0)
    throw InputError(
        "cannot write " + path + ": " +
        (errno == EEXIST ? "it exists, and is not overwritten" : std::strerror(errno)));
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (::close(file) != 0 || !whole) {
    ::unlink(path.c_str());
    throw RunError("cannot write " + path + ": " + std::strerror(errno));
  }
}

}  // namespace

int model_command(const Args& args) {
  Spec spec;
  spec.verb = "model";
  spec.synopsis = "import CONFIG.json [OPTIONS]";
  spec.about =
      "Writes a model file from a Hugging Face config.json, and says exactly what it could not "
      "represent.\n";
  spec.examples =
      "  servegrid model import config.json > models/my-model.yaml\n"
      "  servegrid model import config.json --id org/My-Model --write my-model.yaml\n";
  spec.options.add_options()("id", po::value<std::string>()->value_name("ORG/NAME"),
                             "Hugging Face id of the model, when the file's name does not say it")(
      "write", po::value<std::string>()->value_name("FILE"),
      "write this file (never overwritten) in place of standard output")(
      "quiet", po::bool_switch(), "no notes on standard error");
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 2);
  if (parsed->words.size() != 2 || parsed->words[0] != "import")
    throw InputError("model takes: import CONFIG.json");
  const std::string& path = parsed->words[1];
  const std::string beside = (std::filesystem::path(path).parent_path() / quant_file).string();
  const auto imported = catalog::import_hf_config(
      read_file(path), path, std::filesystem::exists(beside) ? read_file(beside) : std::string(),
      parsed->text("id"));
  if (!parsed->values["quiet"].as<bool>())
    for (const auto& note : imported.not_represented)
      std::fprintf(stderr, "servegrid: note: %s\n", note.c_str());
  if (parsed->has("write"))
    write_new_file(parsed->text("write"), imported.yaml);
  else
    print(imported.yaml);
  return 0;
}

}  // namespace servegrid::cli
