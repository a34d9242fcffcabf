#include "workload/lengths.hpp"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>

#include "units/error.hpp"

namespace servegrid::workload {

using catalog::LengthSpec;

namespace {

constexpr double most_tokens = 1e9;

/// Share of the standard normal distribution below z.
double normal_share(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

std::int64_t within(double tokens, std::int64_t limit) {
  const auto most = limit > 0 ? static_cast<double>(limit) : most_tokens;
  return std::llround(std::clamp(tokens, 1.0, most));
}

void check(const LengthSpec& spec, const std::string& what) {
  const auto require = [&](bool ok, const char* message) {
    if (!ok) throw InputError("workload: " + what + message);
  };
  require(spec.limit >= 0, ": the limit must not be negative");
  switch (spec.kind) {
    case LengthSpec::Kind::uniform:
    case LengthSpec::Kind::zipf:
      require(spec.low >= 1 && spec.low <= spec.high && spec.high <= most_tokens,
              ": needs 1 <= low <= high <= 1e9 tokens");
      return;
    case LengthSpec::Kind::empirical:
      require(!spec.bins.empty(), ": has no bins");
      return;
    case LengthSpec::Kind::fixed:
    case LengthSpec::Kind::lognormal:
    case LengthSpec::Kind::normal:
      break;
  }
  require(spec.mean >= 1 && spec.mean <= most_tokens, " must be from 1 to 1e9 tokens");
  const bool tokens = spec.kind == LengthSpec::Kind::normal;
  require(spec.sigma >= 0 && spec.sigma <= (tokens ? most_tokens : 10),
          tokens ? ": sigma must be from 0 to 1e9 tokens" : ": sigma must be from 0 to 10");
}

}  // namespace

Lengths::Lengths(const LengthSpec& spec, const std::string& what) : spec_(spec) {
  check(spec, what);
  double sum = 0;
  if (spec.kind == LengthSpec::Kind::zipf) {
    for (double k = 1; k <= spec.high - spec.low + 1; ++k) {
      cumulative_.push_back(sum += std::pow(k, -spec.exponent));
    }
  }
  if (spec.kind == LengthSpec::Kind::empirical) {
    for (const LengthSpec::Bin& b : spec.bins) cumulative_.push_back(sum += b.weight);
  }
}

std::int64_t Lengths::draw(const Stream& stream, std::int64_t index) const {
  if (spec_.kind == LengthSpec::Kind::fixed) return within(spec_.mean, spec_.limit);
  if (spec_.kind != LengthSpec::Kind::uniform) return at(draw_normal(stream, index));
  SplitMix64 random = stream.at(index);
  boost::random::uniform_int_distribution<std::int64_t> uniform(std::llround(spec_.low),
                                                                std::llround(spec_.high));
  return within(static_cast<double>(uniform(random)), spec_.limit);
}

std::int64_t Lengths::at(double z) const {
  // The k-th of n equal parts of [0, 1), and how far into it.
  const auto part = [](double share, double n) { return std::min(std::floor(share * n), n - 1); };
  switch (spec_.kind) {
    case LengthSpec::Kind::fixed:
      break;
    case LengthSpec::Kind::uniform:
      return within(spec_.low + part(normal_share(z), spec_.high - spec_.low + 1), spec_.limit);
    case LengthSpec::Kind::normal:
      return within(spec_.mean + spec_.sigma * z, spec_.limit);
    case LengthSpec::Kind::lognormal:
      // The mean of exp(mu + sigma z) is exp(mu + sigma^2 / 2).
      return within(spec_.mean * std::exp(spec_.sigma * z - spec_.sigma * spec_.sigma / 2),
                    spec_.limit);
    case LengthSpec::Kind::zipf:
    case LengthSpec::Kind::empirical: {
      const double goal = normal_share(z) * cumulative_.back();
      auto it = std::upper_bound(cumulative_.begin(), cumulative_.end(), goal);
      if (it == cumulative_.end()) --it;
      const auto i = static_cast<std::size_t>(it - cumulative_.begin());
      if (spec_.kind == LengthSpec::Kind::zipf) {
        return within(spec_.low + static_cast<double>(i), spec_.limit);
      }
      const LengthSpec::Bin& b = spec_.bins[i];
      const double into = b.weight > 0 ? (goal - (*it - b.weight)) / b.weight : 0;
      return within(b.low + part(std::clamp(into, 0.0, 1.0), b.high - b.low + 1), spec_.limit);
    }
  }
  return within(spec_.mean, spec_.limit);
}

RequestLengths::RequestLengths(const catalog::RequestSpec& spec, const std::string& what)
    : spec_(spec) {
  if (spec.pairs != nullptr) return;
  lengths_.emplace_back(spec.prompt, what + "prompt");
  lengths_.emplace_back(spec.output, what + "output");
}

RequestLengths::Pair RequestLengths::draw(const Stream& prompts, const Stream& outputs,
                                          std::int64_t index) const {
  if (spec_.pairs != nullptr) {
    SplitMix64 random = prompts.at(index);
    boost::random::uniform_int_distribution<std::size_t> row(0, spec_.pairs->size() - 1);
    const auto& pair = (*spec_.pairs)[row(random)];
    return {pair.first, pair.second};
  }
  if (spec_.correlation == 0) {
    return {lengths_[0].draw(prompts, index), lengths_[1].draw(outputs, index)};
  }
  // A Gaussian copula: two normals of that correlation, each taken to its length's own quantile.
  const double rho = spec_.correlation;
  const double a = draw_normal(prompts, index), b = draw_normal(outputs, index);
  return {lengths_[0].at(a), lengths_[1].at(rho * a + std::sqrt(1 - rho * rho) * b)};
}

}  // namespace servegrid::workload
