#include "workload/random.hpp"

#include <boost/random/exponential_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_01.hpp>

namespace servegrid::workload {

Stream::Stream(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  key_ = SplitMix64::mix(SplitMix64::mix(seed) ^ hash);
}

double draw_exponential(double mean, const Stream& stream, std::int64_t index) {
  if (mean <= 0) return 0;
  SplitMix64 random = stream.at(index);
  boost::random::exponential_distribution<double> exponential(1.0);
  return mean * exponential(random);
}

double draw_normal(const Stream& stream, std::int64_t index) {
  SplitMix64 random = stream.at(index);
  boost::random::normal_distribution<double> normal(0.0, 1.0);
  return normal(random);
}

double draw_uniform(const Stream& stream, std::int64_t index) {
  SplitMix64 random = stream.at(index);
  boost::random::uniform_01<double> uniform;
  return uniform(random);
}

}  // namespace servegrid::workload
