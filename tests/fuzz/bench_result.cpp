// Benchmark results: any bytes are read or refused, and what is read is what it says.
#include "workload/bench_result.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "units/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto results = servegrid::workload::parse_bench_results(
        std::string(reinterpret_cast<const char*>(data), size), "fuzz.json");
    for (const auto& r : results) {
      if (r.completed < 1 || !(r.mean_input() > 0) || !(r.mean_ttft_ms > 0)) std::abort();
    }
  } catch (const servegrid::InputError&) {
  }
  return 0;
}
