// Named, counter-based random streams: a draw depends on (seed, name, index) only, so that adding
// a replica, or another purpose's draws, moves nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace servegrid::workload {

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014), a
/// generator for Boost.Random distributions that costs nothing to seed.
class SplitMix64 {
 public:
  using result_type = std::uint64_t;
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() { return mix(state_ += 0x9e3779b97f4a7c15U); }

  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// The stream of one purpose.
class Stream {
 public:
  Stream(std::uint64_t seed, std::string_view name);
  /// The generator of the index-th draw.
  [[nodiscard]] SplitMix64 at(std::int64_t index) const {
    return SplitMix64(SplitMix64::mix(key_ + static_cast<std::uint64_t>(index)));
  }

 private:
  std::uint64_t key_;
};

/// The index-th exponential time with that mean [s]; 0 for mean 0.
double draw_exponential(double mean, const Stream& stream, std::int64_t index);
/// The index-th standard normal number.
double draw_normal(const Stream& stream, std::int64_t index);
/// The index-th number in [0, 1).
double draw_uniform(const Stream& stream, std::int64_t index);

}  // namespace servegrid::workload
