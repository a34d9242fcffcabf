#include "engine/block_needs.hpp"

#include <algorithm>
#include <limits>

namespace servegrid::engine {

namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t modulo(std::int64_t a, std::int64_t b) {
  const std::int64_t r = a % b;
  return r < 0 ? r + b : r;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return (a - modulo(a, b)) / b;
}

}  // namespace

// ceil((floor(x / 2^s) - 1 + reach) / B) = floor((x + (reach - 2 + B) 2^s) / (B 2^s)), x = units.
BlockNeeds::BlockNeeds(std::int64_t block_tokens, const Pace& pace)
    : units_(pace.units),
      block_(block_tokens << pace.shift),
      shift_((pace.reach - 2 + block_tokens) << pace.shift) {
  if (units_ == 1) count_.assign(static_cast<std::size_t>(block_), 0);
}

std::int64_t BlockNeeds::place(std::int64_t offset) const {
  return modulo(offset + shift_, block_);
}

void BlockNeeds::add(std::int64_t offset) {
  ++size_;
  const std::int64_t at = place(offset);
  if (!count_.empty()) {
    ++count_[static_cast<std::size_t>(at)];
  } else {
    places_.insert(std::upper_bound(places_.begin(), places_.end(), at), at);
  }
}

void BlockNeeds::remove(std::int64_t offset) {
  --size_;
  const std::int64_t at = place(offset);
  if (!count_.empty()) {
    --count_[static_cast<std::size_t>(at)];
  } else {
    places_.erase(std::lower_bound(places_.begin(), places_.end(), at));
  }
}

std::int64_t BlockNeeds::held(std::int64_t offset, std::int64_t counter) const {
  return floor_div(offset + shift_ + counter * units_, block_);
}

// A sequence at place r of a block crosses floor((r + steps * units) / block) boundaries.
std::int64_t BlockNeeds::needed(std::int64_t counter, std::int64_t steps) const {
  const std::int64_t gain = steps * units_, rest = gain % block_;
  std::int64_t sum = gain / block_ * size_;
  const std::int64_t phase = modulo(counter * units_, block_);
  if (!count_.empty()) {
    std::int64_t at = block_ - 1 - phase;  // a division a step would cost more than all the rest
    for (std::int64_t j = 0; j<rest; ++j, at = at> 0 ? at - 1 : block_ - 1) {
      sum += count_[static_cast<std::size_t>(at)];
    }
    return sum;
  }
  // Places that have reached [block - rest, block) at `counter`.
  const auto below = [&](std::int64_t x) {
    return std::lower_bound(places_.begin(), places_.end(), x) - places_.begin();
  };
  const std::int64_t low = modulo(block_ - rest - phase, block_), high = low + rest;
  if (rest == 0) return sum;
  return sum + below(std::min(high, block_)) - below(low) +
         below(std::max<std::int64_t>(0, high - block_));
}

std::int64_t BlockNeeds::within(std::int64_t counter, std::int64_t free) const {
  if (size_ == 0) return unlimited;
  const std::int64_t rounds = free / size_;
  if (!count_.empty()) {
    free -= rounds * size_;
    std::int64_t at = block_ - 1 - modulo(counter, block_);
    for (std::int64_t j = 0;; ++j, at = at > 0 ? at - 1 : block_ - 1) {
      free -= count_[static_cast<std::size_t>(at)];
      if (free < 0) return rounds * block_ + j;
    }
  }
  // Every sequence takes a block in each block_ units: at most so many steps, and one more round.
  std::int64_t low = 0, high = (rounds + 2) * (block_ / units_ + 1);
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (needed(counter, middle) <= free) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace servegrid::engine
