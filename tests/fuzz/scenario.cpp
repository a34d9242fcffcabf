// Any bytes: as choices they make a valid scenario (../cluster/from_bytes.hpp), which is lived
// through with every invariant on, with leaps and without.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "../cluster/from_bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    from_bytes::live(data, size);
  } catch (const servegrid::RunError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::abort();
  }
  return 0;
}
