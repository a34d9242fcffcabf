#include "workload/random.hpp"

#include <algorithm>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>
#include <string>

#include "units/error.hpp"

namespace servegrid::workload {

using catalog::LengthSpec;

namespace {

constexpr double most_tokens = 1e9;

}  // namespace

Stream::Stream(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  key_ = SplitMix64::mix(SplitMix64::mix(seed) ^ hash);
}

std::int64_t draw_length(const LengthSpec& spec, const Stream& stream, std::int64_t index) {
  double tokens = spec.mean;
  if (spec.kind == LengthSpec::Kind::uniform) {
    SplitMix64 random = stream.at(index);
    boost::random::uniform_int_distribution<std::int64_t> uniform(std::llround(spec.low),
                                                                  std::llround(spec.high));
    tokens = static_cast<double>(uniform(random));
  } else if (spec.kind == LengthSpec::Kind::lognormal) {
    SplitMix64 random = stream.at(index);
    boost::random::normal_distribution<double> normal(0.0, 1.0);
    const double z = normal(random);
    // The mean of exp(mu + sigma z) is exp(mu + sigma^2 / 2).
    tokens = spec.mean * std::exp(spec.sigma * z - spec.sigma * spec.sigma / 2);
  }
  const auto most = spec.limit > 0 ? static_cast<double>(spec.limit) : most_tokens;
  return std::llround(std::clamp(tokens, 1.0, most));
}

double draw_exponential(double mean, const Stream& stream, std::int64_t index) {
  if (mean <= 0) return 0;
  SplitMix64 random = stream.at(index);
  boost::random::exponential_distribution<double> exponential(1.0);
  return mean * exponential(random);
}

void check_length(const LengthSpec& spec, const char* what) {
  const auto require = [what](bool ok, const char* message) {
    if (!ok) throw InputError(std::string("workload: ") + what + message);
  };
  require(spec.limit >= 0, ": the limit must not be negative");
  if (spec.kind == LengthSpec::Kind::uniform) {
    require(spec.low >= 1 && spec.low <= spec.high && spec.high <= most_tokens,
            ": uniform needs 1 <= low <= high <= 1e9 tokens");
    return;
  }
  require(spec.mean >= 1 && spec.mean <= most_tokens, " must be from 1 to 1e9 tokens");
  require(spec.sigma >= 0 && spec.sigma <= 10, ": sigma must be from 0 to 10");
}

}  // namespace servegrid::workload
