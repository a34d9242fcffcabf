// Requests of a measured run: any bytes are read or refused, and what is read is in order.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "units/error.hpp"
#include "validate/replay.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  try {
    double before = 0;
    for (const auto& r : servegrid::validate::read_requests(in, "fuzz.csv").requests) {
      const bool rises =
          before <= r.arrival && r.arrival < r.first_token && r.first_token <= r.last_token;
      if (!rises || r.prompt < 1 || r.output < 1) std::abort();
      before = r.arrival;
    }
  } catch (const servegrid::InputError&) {
  }
  return 0;
}
