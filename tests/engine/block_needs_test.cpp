// Block needs as sums against a loop over sequences and steps, at any pace.
#include "engine/block_needs.hpp"

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <catch2/catch.hpp>

using namespace servegrid;
using engine::BlockNeeds;
using engine::Pace;

TEST_CASE("blocks that sequences take equal the loop") {
  boost::random::mt19937 rng(11);
  const auto in = [&](std::int64_t low, std::int64_t high) {
    return boost::random::uniform_int_distribution<std::int64_t>(low, high)(rng);
  };
  for (int round = 0; round < 300; ++round) {
    Pace pace;
    pace.shift = in(1, 2) == 1 ? 0 : static_cast<int>(in(1, 3));
    if (pace.shift > 0) pace.units = in(std::int64_t{1} << pace.shift, 40);
    pace.reach = pace.shift > 0 ? in(0, 5) : 0;
    const std::int64_t block = in(1, 9), counter = in(0, 50);
    BlockNeeds needs(block, pace);
    std::vector<std::int64_t> offsets;
    for (std::int64_t i = in(1, 12); i > 0; --i) {
      offsets.push_back((in(1, 40) << pace.shift) - in(0, counter) * pace.units);
      needs.add(offsets.back());
    }
    needs.add(77);
    needs.remove(77);
    const auto held = [&](std::int64_t offset, std::int64_t c) {
      const std::int64_t tokens = (offset + c * pace.units) >> pace.shift;
      const std::int64_t kept = tokens - 1 + pace.reach;
      return kept <= 0 ? (kept - block + 1) / block + 1 : (kept + block - 1) / block;
    };
    std::int64_t sum = 0;
    const std::int64_t free = in(0, 80);
    std::int64_t within = -1;
    for (std::int64_t steps = 0; steps < 400; ++steps) {
      std::int64_t expected = 0;
      for (const std::int64_t o : offsets) {
        // Sequences start with a token or more: only those are compared one by one.
        if (o + counter * pace.units >= (std::int64_t{2} << pace.shift)) {
          CHECK(needs.held(o, counter + steps) == held(o, counter + steps));
        }
        expected += needs.held(o, counter + steps) - needs.held(o, counter);
      }
      sum = needs.needed(counter, steps);
      CHECK(sum == expected);
      if (sum <= free) within = steps;
    }
    if (within < 399) CHECK(needs.within(counter, free) == within);
  }
}
