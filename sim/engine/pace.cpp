#include "engine/pace.hpp"

#include <boost/random/uniform_01.hpp>
#include <cmath>

#include "workload/random.hpp"

namespace servegrid::engine {

namespace {
// 2^-16 of a token: an expectation of tokens a step is rounded by less than one in 10^5.
constexpr int fraction_bits = 16;
}  // namespace

Pace pace_of(const catalog::Speculation& s, std::uint64_t seed) {
  Pace pace;
  if (!s.on()) return pace;
  pace.rows = s.verified;
  pace.positions = s.passes;
  if (s.sampled) {
    pace.acceptance = s.acceptance;
    pace.seed = seed;
    return pace;
  }
  pace.shift = fraction_bits;
  pace.units = std::llround(std::ldexp(s.tokens_per_step(), fraction_bits));
  pace.reach = s.verified - 1;
  return pace;
}

std::int64_t draw_accepted(const Pace& pace, std::int64_t id, std::int64_t generated) {
  const workload::Stream stream(pace.seed, "draft acceptance");
  auto random = stream.at((id << 24) ^ generated);
  const double u = boost::random::uniform_01<double>()(random);
  std::int64_t accepted = 0;
  for (const double p : pace.acceptance) accepted += u < p ? 1 : 0;
  return accepted;
}

}  // namespace servegrid::engine
