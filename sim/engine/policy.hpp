// A scheduling policy: what the next step runs, and how long that stays so.
#pragma once

#include <memory>
#include <string>

#include "engine/state.hpp"

namespace servegrid::engine {

inline constexpr std::int64_t no_step = std::int64_t{1} << 60;
inline constexpr std::int64_t sglang_clip_tokens = 4096;  // CLIP_MAX_NEW_TOKENS

class Policy {
 public:
  virtual ~Policy() = default;
  /// Why a request can never run here; empty when it can.
  [[nodiscard]] virtual std::string refusal(const workload::Request& request) const = 0;
  /// At a step boundary at `now`: preempts, admits, and fills `plan`, whose first step's blocks are
  /// taken. plan.steps is set to 1 with chunks, and to the horizon without.
  virtual void plan(State& state, Ticks now, Plan& plan) = 0;
  /// During a decode-only epoch, `head` being first in the queue: a step boundary >= `from` (in
  /// steps from the plan) that is not later than the first at which it would be admitted; no_step:
  /// not within this epoch. May be early (the plan then finds nothing to do), never late.
  [[nodiscard]] virtual std::int64_t may_admit(const State& state, Slot head,
                                               std::int64_t from) const = 0;
  /// Whether a later arrival may be served before an earlier one.
  [[nodiscard]] virtual bool reorders() const { return false; }
  /// After `steps` steps of a plan that let the decoding sequences run.
  virtual void decoded(std::int64_t /*steps*/) {}
  /// A sequence was admitted; it began to decode; it left the running list (decoding or not).
  virtual void joined(const State& /*state*/, Slot /*slot*/) {}
  virtual void decodes(const State& /*state*/, Slot /*slot*/) {}
  virtual void left(const State& /*state*/, Slot /*slot*/) {}
  /// Its blocks stay held after it left, for a transfer; and no longer.
  virtual void kept(const State& /*state*/, Slot /*slot*/) {}
  virtual void given_back(const State& /*state*/, Slot /*slot*/) {}
  /// A decoding sequence is about to gain more tokens than the others; has gained them.
  virtual void gains(const State& /*state*/, Slot /*slot*/) {}
  virtual void gained(const State& /*state*/, Slot /*slot*/) {}
  /// Nothing runs.
  virtual void idle() {}
};

std::unique_ptr<Policy> make_vllm(const ReplicaConfig& config);
std::unique_ptr<Policy> make_sglang(const ReplicaConfig& config);
std::unique_ptr<Policy> make_trtllm(const ReplicaConfig& config);
std::unique_ptr<Policy> make_vllm_v0(const ReplicaConfig& config);
std::unique_ptr<Policy> make_atom(const ReplicaConfig& config);
std::unique_ptr<Policy> make_sarathi(const ReplicaConfig& config);
std::unique_ptr<Policy> make_orca(const ReplicaConfig& config);
std::unique_ptr<Policy> make_static_batch(const ReplicaConfig& config);
PoolRules pool_rules(const ReplicaConfig& config);

}  // namespace servegrid::engine
