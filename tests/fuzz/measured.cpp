// Any bytes: read as a table of measured runs they give rows or an InputError.
#include "validate/measured.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "units/error.hpp"

using namespace servegrid;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string path = "/tmp/servegrid-fuzz-measured-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    for (const auto& row : validate::read_measured(path)) {
      const bool counts = row.skip.empty();
      if (counts && (row.isl < 1 || row.osl < 1 || row.concurrency < 1 || row.gpus < 1))
        std::abort();
    }
  } catch (const InputError& e) {
    if (std::string(e.what()).empty()) std::abort();
  }
  return 0;
}
