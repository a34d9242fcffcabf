// Any bytes: imported they give a scenario that can be read, or an InputError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "import/import.hpp"
#include "units/error.hpp"

using namespace servegrid;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  importer::Options options;
  options.gpu = "b200";
  options.set = {{"model", "llama-3.1-8b"}};
  try {
    const importer::Imported in = importer::import_all({{"fuzz", text}}, options);
    if (in.trace_csv.empty())
      static_cast<void>(catalog::read_scenario_text(in.scenario, "imported"));
  } catch (const InputError& e) {
    if (std::string(e.what()).empty()) std::abort();
  }
  return 0;
}
