// A stretch of a replica's life: what the timeline is made of.
#pragma once

#include <cstdint>

#include "metrics/range.hpp"

namespace servegrid::metrics {

/// A stretch in which the batch composition did not change (or one step that held prefill).
struct Epoch {
  int replica = 0;
  Ticks start = 0;
  std::int64_t steps = 0;
  std::int64_t sequences = 0;        // decoding
  std::int64_t prefill_tokens = 0;   // of the step, when it holds prefill
  std::int64_t prefill_context = 0;  // cached tokens under the chunks
  std::int64_t context_tokens = 0;   // at its start
  std::int64_t waiting = 0;
  std::int64_t blocks_used = 0;  // at its start
  std::int64_t running = 0;      // admitted: decoding ones and those whose prompt is not complete
  Ticks first_step = 0;          // duration of the first step
  Ticks step_growth = 0;         // each later step takes this much longer

  [[nodiscard]] Ticks duration() const {
    const Ticks n = steps;
    return n * first_step + step_growth * (n * (n - 1) / 2);
  }
  /// Gaps between tokens: each step is one for every decoding sequence.
  [[nodiscard]] Range gaps() const { return {first_step, step_growth, steps, sequences}; }

  /// Every field but the start, which the timeline packs as a difference: integers, then ticks.
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(self.replica);
    visit(self.steps);
    visit(self.sequences);
    visit(self.prefill_tokens);
    visit(self.prefill_context);
    visit(self.context_tokens);
    visit(self.waiting);
    visit(self.blocks_used);
    visit(self.running);
    visit(self.first_step);
    visit(self.step_growth);
  }
};

}  // namespace servegrid::metrics
