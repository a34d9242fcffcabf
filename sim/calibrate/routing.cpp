// How the MoE measurements routed their tokens.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "calibrate/kernel_data.hpp"

namespace servegrid::calibrate {
namespace {

// splitmix64: a fixed sequence for the shuffles below.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// Tokens per expert: quantiles of a density x^-skew on [low, high], scaled to `pairs` and rounded.
std::vector<double> power_law_counts(double pairs, double experts, double tokens, double skew) {
  const bool few = pairs <= experts;
  const double low = few ? 0.01 : 1;
  const double high = few ? 2 : std::max(1.0 + 1e-9, 0.8 * tokens);
  const double e = 1 - skew;
  std::vector<double> counts(static_cast<std::size_t>(experts));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double u = (static_cast<double>(i) + 0.5) / experts;
    counts[i] =
        std::fabs(e) < 1e-9
            ? low * std::pow(high / low, u)
            : std::pow(std::pow(low, e) + u * (std::pow(high, e) - std::pow(low, e)), 1 / e);
  }
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  // Rounding moves the sum: the largest (last) ones give or take one each until it is right.
  double assigned = 0;
  for (double& c : counts) assigned += c = std::round(c / sum * pairs);
  for (std::size_t i = counts.size(); assigned != pairs; i = i > 1 ? i - 1 : counts.size()) {
    const double change = assigned < pairs ? 1 : counts[i - 1] > 0 ? -1 : 0;
    counts[i - 1] += change;
    assigned += change;
  }
  return counts;
}

}  // namespace

Routing route(double tokens, double top_k, double experts, double ep, double skew) {
  const double pairs = tokens * top_k;
  const double local = std::max(1.0, std::floor(experts / ep));
  if (skew <= 0) return {pairs / ep, std::min(local, std::ceil(pairs / ep))};
  std::vector<double> counts = power_law_counts(pairs, experts, tokens, skew);
  const auto per_rank = static_cast<std::size_t>(local);
  const int draws = ep > 1 ? 4 : 1;
  Routing mean;
  std::uint64_t state = 1;
  for (int draw = 0; draw < draws; ++draw) {
    if (ep > 1) {
      for (std::size_t i = counts.size() - 1; i > 0; --i) {
        std::swap(counts[i], counts[next_random(state) % (i + 1)]);
      }
    }
    Routing worst;
    for (std::size_t at = 0; at + per_rank <= counts.size(); at += per_rank) {
      Routing rank;
      for (std::size_t i = at; i < at + per_rank; ++i) {
        rank.rank_tokens += counts[i];
        rank.touched += counts[i] > 0 ? 1 : 0;
      }
      if (rank.rank_tokens > worst.rank_tokens) worst = rank;
    }
    mean.rank_tokens += worst.rank_tokens / draws;
    mean.touched += worst.touched / draws;
  }
  return mean;
}

}  // namespace servegrid::calibrate
