// Any bytes: read as each trace format they give rows (in any order: who replays them wants them
// sorted) or an InputError.
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "units/error.hpp"
#include "workload/describe.hpp"
#include "workload/trace_size.hpp"
#include "workload/traces/reader.hpp"

using namespace servegrid;
using namespace servegrid::workload;

namespace {

template <typename F>
void attempt(F run) {
  try {
    run();
  } catch (const InputError& e) {
    if (std::string(e.what()).empty()) std::abort();
  }
}

void read_as(const TraceFormat& format, const std::string& text) {
  std::istringstream in(text);
  catalog::TraceSpec spec;
  spec.file = "fuzz";
  const auto reader = format.make(in, spec);
  TraceRow row;
  while (reader->next(row)) {
    if (row.prompt < 0 || row.output < 0 || !(std::abs(row.arrival) <= 1e10)) std::abort();
    if (row.unusable == nullptr && (row.prompt < 1 || row.output < 1)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const TraceFormat& format : trace_formats()) attempt([&] { read_as(format, text); });
  static const std::string path = "/tmp/servegrid-fuzz-trace-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary) << text;
  catalog::WorkloadSpec spec;
  spec.kind = catalog::WorkloadSpec::Kind::trace;
  spec.trace.file = path;
  attempt([&] {
    const Description d = describe(spec, 1);
    if (d.requests < 1 || !(d.prefix_share >= 0 && d.prefix_share <= 1)) std::abort();
    if (size_of_trace(spec).requests_at_most < 1) std::abort();
  });
  return 0;
}
