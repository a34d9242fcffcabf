// Random bytes as scenarios, lived through with every invariant on: the short form of the fuzz
// target `scenario`.
#include "from_bytes.hpp"

#include <boost/random/mersenne_twister.hpp>
#include <catch2/catch.hpp>

using namespace servegrid;

namespace {

std::vector<std::uint8_t> random_bytes(std::uint32_t seed) {
  boost::random::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(160);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

void live_through(std::uint32_t first, std::uint32_t last) {
  std::map<from_bytes::Lived, std::uint32_t> count;
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    INFO("seed " << seed);
    const auto bytes = random_bytes(seed);
    try {
      ++count[from_bytes::live(bytes.data(), bytes.size())];
    } catch (const std::exception& e) {
      FAIL(e.what());
    }
  }
  const std::uint32_t all = last - first + 1;
  CHECK(count[from_bytes::Lived::whole] > all / 2);
  CHECK(count[from_bytes::Lived::partial] > all / 40);
}

}  // namespace

TEST_CASE("random bytes as scenarios keep every invariant", "[invariants]") {
  live_through(1, 1500);
}

// Not part of a plain run: make soak.
TEST_CASE("200,000 random bytes as scenarios", "[.][soak]") {
  live_through(1, 200'000);
}
