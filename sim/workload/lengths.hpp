// Lengths in tokens, drawn by request.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "catalog/scenario.hpp"
#include "workload/random.hpp"

namespace servegrid::workload {

/// Draws from one distribution. Every length is at least 1 token (a drawn 0 becomes 1) and at most
/// the limit.
class Lengths {
 public:
  /// Throws InputError when the spec cannot be drawn from; `what` names it.
  Lengths(const catalog::LengthSpec& spec, const std::string& what);
  /// The index-th length of a stream.
  [[nodiscard]] std::int64_t draw(const Stream& stream, std::int64_t index) const;
  /// The length at the same quantile as `z` is of the standard normal distribution.
  [[nodiscard]] std::int64_t at(double z) const;

 private:
  catalog::LengthSpec spec_;
  std::vector<double> cumulative_;  // zipf, empirical: weights up to and with each value or bin
};

/// Prompt and output of a request, independent, correlated or from measured pairs.
class RequestLengths {
 public:
  RequestLengths(const catalog::RequestSpec& spec, const std::string& what);
  struct Pair {
    std::int64_t prompt = 0, output = 0;
  };
  [[nodiscard]] Pair draw(const Stream& prompts, const Stream& outputs, std::int64_t index) const;

 private:
  const catalog::RequestSpec spec_;
  std::vector<Lengths> lengths_;  // prompt, output; none with pairs
};

}  // namespace servegrid::workload
