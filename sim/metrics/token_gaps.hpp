// Times between a sequence's tokens, from the epochs of a run in order.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "metrics/epoch.hpp"

namespace servegrid::metrics {

/// A step is a gap between two tokens of each decoding sequence. Where prompts ran alone before it
/// (SGLang, vLLM V0, ATOM), those who decoded before them waited that long as well: as many as
/// then, at most as many as now (who ended meanwhile is taken for who joined).
class TokenGaps {
 public:
  /// The gaps that end in `e`; ranges of weight or steps 0 are none.
  std::array<Range, 3> next(const Epoch& e) {
    if (e.steps < 1) return {};
    const auto replica = static_cast<std::size_t>(e.replica);
    if (replica >= waiting_.size()) waiting_.resize(replica + 1);
    Waiting& w = waiting_[replica];
    if (e.start > w.until) w = {};  // it was idle
    w.until = e.start + e.duration();
    if (e.sequences < 1) return {};
    const Ticks stall = e.start - w.since;
    const std::int64_t stalled = stall > 0 ? std::min(w.sequences, e.sequences) : 0;
    w.sequences = e.sequences;
    w.since = w.until;
    if (stalled == 0) return {e.gaps()};
    return {Range{e.first_step + stall, 0, 1, stalled},
            Range{e.first_step, 0, 1, e.sequences - stalled},
            Range{e.first_step + e.step_growth, e.step_growth, e.steps - 1, e.sequences}};
  }

 private:
  struct Waiting {
    std::int64_t sequences = 0;  // that decoded last
    Ticks since = 0;             // their last token
    Ticks until = 0;             // end of the last epoch
  };
  std::vector<Waiting> waiting_;  // by replica
};

}  // namespace servegrid::metrics
