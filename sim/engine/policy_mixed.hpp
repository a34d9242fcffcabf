// Batches that mix decoding sequences and prefill chunks, running ones first: what vLLM V1 and
// TensorRT-LLM have in common.
#pragma once

#include "engine/policy.hpp"

namespace servegrid::engine {

class MixedPolicy : public Policy {
 public:
  MixedPolicy(const ReplicaConfig& config, std::int64_t token_budget, std::int64_t max_sequences);

  void plan(State& state, Ticks now, Plan& plan) override;
  [[nodiscard]] std::int64_t may_admit(const State& state, Slot head,
                                       std::int64_t from) const override;
  [[nodiscard]] bool reorders() const override { return by_priority_; }

 protected:
  /// Whether the pool lets a sequence in whose first chunk is `chunk` tokens. `free`: blocks left
  /// when the running ones have taken theirs for this step.
  [[nodiscard]] virtual bool fits(const State& state, const Sequence& s,
                                  const PrefixCache::Match& match, std::int64_t chunk,
                                  std::int64_t free) const = 0;
  /// Whether nobody is to be admitted in this step although the first in the queue fits. Asked
  /// once a step.
  [[nodiscard]] virtual bool holds_back(const State& /*state*/) { return false; }
  /// Whether `fits` may turn true while only decode steps pass.
  [[nodiscard]] virtual bool may_fit_later() const { return false; }

  const Pool pool_;
  const std::int64_t budget_, rows_, max_sequences_, long_threshold_;  // rows of a decoding one
  const bool chunked_, by_priority_;

 private:
  [[nodiscard]] std::int64_t chunk_of(std::int64_t wanted, std::int64_t budget) const;
  bool run_running(State& state, Ticks now, Plan& plan);
  void run_waiting(State& state, Ticks now, Plan& plan);
  bool preempt_tail(State& state, Ticks now);
  bool preempt_by_priority(State& state, Ticks now, Plan& plan);
  struct Wanted {
    Slot slot;
    std::int64_t tokens, blocks;
  };
  std::vector<Wanted> wanted_;
  std::int64_t chunk_blocks_ = 0;  // that wanted_ asks for
};

}  // namespace servegrid::engine
