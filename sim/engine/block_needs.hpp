// KV blocks that decoding sequences take as they grow, as sums: without a loop over steps.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/pace.hpp"

namespace servegrid::engine {

/// A sequence of `offset` units at step counter 0 has offset + c * units at counter c and holds
/// blocks for its tokens but the newest, and for `reach` drafts.
class BlockNeeds {
 public:
  BlockNeeds(std::int64_t block_tokens, const Pace& pace);

  void add(std::int64_t offset);
  void remove(std::int64_t offset);
  /// Blocks that one sequence holds at step counter `counter`.
  [[nodiscard]] std::int64_t held(std::int64_t offset, std::int64_t counter) const;
  /// New blocks that all take in `steps` steps from `counter` on.
  [[nodiscard]] std::int64_t needed(std::int64_t counter, std::int64_t steps) const;
  /// Steps from `counter` on that `free` blocks suffice for.
  [[nodiscard]] std::int64_t within(std::int64_t counter, std::int64_t free) const;

 private:
  [[nodiscard]] std::int64_t place(std::int64_t offset) const;

  std::int64_t units_, block_, shift_;  // units a step, units a block, units to the next whole one
  std::int64_t size_ = 0;
  // Whole tokens, one a step: how many sequences start at each place of a block. Else their places,
  // sorted.
  std::vector<std::int64_t> count_, places_;
};

}  // namespace servegrid::engine
