// How fast decoding sequences gain tokens: one a step, or under speculative decoding what the
// verification accepts. Tokens are counted in fixed point, so that k steps are k times one step,
// exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/speculation.hpp"

namespace servegrid::engine {

struct Pace {
  int shift = 0;               // a token is 2^shift units
  std::int64_t units = 1;      // a sequence gains in a step
  std::int64_t rows = 1;       // tokens of it in the step: what it takes of the token budget
  std::int64_t reach = 0;      // KV slots it holds beyond its own tokens, for drafts
  std::int64_t positions = 0;  // drafts that may be accepted
  /// Drawn step by step: share of steps in which a position is accepted. Empty: the expectation.
  std::vector<double> acceptance;
  std::uint64_t seed = 0;

  [[nodiscard]] bool sampled() const { return !acceptance.empty(); }
  /// Blocks are taken for all rows of a drawn step, before it is known which are accepted.
  [[nodiscard]] std::int64_t rows_to_hold() const { return sampled() ? rows : 1; }
  /// KV slots that a sequence may hold beyond the last token it was asked for.
  [[nodiscard]] std::int64_t overshoot() const {
    if (sampled()) return rows - 1;
    return ((units + (std::int64_t{1} << shift) - 1) >> shift) - 1 + reach;
  }
};

Pace pace_of(const catalog::Speculation& speculation, std::uint64_t seed);

/// Accepted drafts of the step in which request `id` has `generated` tokens: one draw.
std::int64_t draw_accepted(const Pace& pace, std::int64_t id, std::int64_t generated);

}  // namespace servegrid::engine
