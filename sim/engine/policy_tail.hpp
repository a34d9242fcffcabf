// What vLLM V0, ATOM and Sarathi-Serve have in common: decoding sequences take their blocks in list
// order, and when one cannot, the tail of the list is preempted.
#pragma once

#include "engine/policy.hpp"

namespace servegrid::engine {

class TailPolicy : public Policy {
 public:
  /// `spare`: a sequence goes on only while a block is free, whether it takes one or not.
  TailPolicy(const ReplicaConfig& config, bool spare);

  [[nodiscard]] std::string refusal(const workload::Request& request) const override;

 protected:
  /// Preempts from the tail until the next step of the rest fits, then takes that step's blocks.
  /// Returns whether somebody was preempted.
  bool append(State& state, Ticks now, Plan& plan);
  /// Where a preempted sequence goes: to the front of the queue, to be computed again.
  virtual void evict(State& state, Slot victim, Ticks now, Plan& plan);
  /// Steps for which the decoding sequences go on as they are; the first one's blocks are taken.
  [[nodiscard]] std::int64_t horizon(const State& state) const;
  /// Blocks that must be free for `s` to be admitted: all of its tokens', and the watermark.
  [[nodiscard]] std::int64_t demand(const State& state, const Sequence& s) const {
    return state.blocks_for(s.tokens()) + pool_.fixed_blocks + watermark_;
  }

  const Pool pool_;
  const std::int64_t budget_, max_sequences_, watermark_;

 private:
  [[nodiscard]] bool fits(const State& state) const;
  const std::int64_t spare_;
};

}  // namespace servegrid::engine
