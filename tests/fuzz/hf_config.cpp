// Any bytes: read as a Hugging Face config they give a model file that the catalogue reads, or an
// InputError. What follows a NUL is the quantisation config beside it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "catalog/hf_import.hpp"
#include "catalog/load.hpp"
#include "catalog/reader.hpp"
#include "units/error.hpp"

using namespace servegrid;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = std::min(text.find('\0'), text.size());
  try {
    const auto in =
        catalog::import_hf_config(text.substr(0, cut), "fuzz--model_config.json",
                                  cut < text.size() ? text.substr(cut + 1) : std::string());
    static_cast<void>(catalog::load_model(catalog::Value::from_text(in.yaml, "imported.yaml"),
                                          "imported", "imported.yaml"));
  } catch (const InputError& e) {
    if (std::string(e.what()).empty() || e.where().file == "imported.yaml") std::abort();
  }
  return 0;
}
