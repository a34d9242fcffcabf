// One scheduler with its pool: a replica, or under attention data parallelism one of its ranks,
// which step together.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/clock.hpp"
#include "engine/policy.hpp"

namespace servegrid::engine {

class Rank {
 public:
  Rank(const ReplicaConfig& config, const roofline::StepTimes& steps, Listener& listener);

  /// A request arrives; false when it can never run (and was rejected).
  bool submit(const workload::Request& request, Ticks now);
  /// The steps after which an arrival that was submitted during an epoch of `steps` of them may
  /// change what this rank runs.
  [[nodiscard]] std::int64_t chance_of_arrival(const Clock& clock, std::int64_t steps) const;
  void abort(workload::RequestId id, Ticks now) { aborts_.push_back({id, now}); }
  [[nodiscard]] bool has(workload::RequestId id) const { return state.find(id) >= 0; }

  /// Plans the next step; false when there is nothing to run.
  bool plan(Ticks now);
  /// Its plan's steps by themselves, beside other ranks so that all have `rows` together.
  [[nodiscard]] Steps times(Ticks start, std::int64_t rows);
  /// Rows of its plan: tokens of decoding sequences and of prompts.
  [[nodiscard]] std::int64_t rows() const;
  /// Steps that the plan stays so, at most `most`.
  [[nodiscard]] std::int64_t horizon(const Clock& clock, std::int64_t most);
  /// `steps` steps of the plan are over: tokens and promotions; then what clients and scheduler
  /// see.
  void complete(std::int64_t steps);
  void report(Ticks looked, Ticks now, std::int64_t rows);
  void see_arrivals(Ticks looked);
  void see_aborts(Ticks looked, Ticks now);
  /// Nobody has anything to run.
  void idle();

  [[nodiscard]] const Plan& planned() const { return plan_; }
  /// Rows of its decoding sequences if they take a step now.
  [[nodiscard]] std::int64_t decode_rows() const {
    return state.decodes.size() * state.decodes.pace().rows;
  }
  /// Waiting requests count four times, as vLLM's coordinator scores its ranks.
  [[nodiscard]] std::int64_t score() const { return 4 * state.in_queue() + state.running; }
  [[nodiscard]] std::int64_t requests() const { return state.in_queue() + state.running; }
  /// Of the prompts of its requests.
  [[nodiscard]] std::int64_t prompt_tokens() const { return prompt_tokens_; }
  /// How much longer than modelled its steps take, in 2^-slow_bits.
  static constexpr int slow_bits = 20;
  void set_slowdown(std::int64_t factor) { slow_ = factor; }
  /// Takes the blocks of the first `begun` steps of the epoch beyond its first.
  void catch_up(std::int64_t begun);
  /// Blocks of ended requests that were kept for a transfer: given back at once, or by the first
  /// boundary after `now`.
  [[nodiscard]] bool keeps(workload::RequestId id) const { return kept_.count(id) > 0; }
  void release(workload::RequestId id, Ticks now, bool later);
  /// Gives back what was released before `now`; whether anything was.
  bool release_before(Ticks now);
  /// Gives back all that was released; whether somebody who waits may now be admitted.
  bool release_all();
  /// The replica is gone: appends the ids of all its requests.
  void lose(std::vector<workload::RequestId>& ids);
  void append_running(std::vector<Running>& list) const;

  State state;

 private:
  [[nodiscard]] std::string refusal(const workload::Request& request) const;
  [[nodiscard]] std::int64_t first_chance(const Clock& clock, std::int64_t steps) const;
  [[nodiscard]] roofline::DecodeCost decode_cost(std::int64_t sequences, std::int64_t rows) const;
  void give_back(Slot slot);
  void count_blocks();
  [[nodiscard]] Steps decode_steps(Ticks start, std::int64_t rows) const;
  void accept_drafts();
  void report_first_tokens(Ticks now, std::int64_t rows);
  void finish(Ticks now);

  std::unique_ptr<Policy> policy_;
  Plan plan_;
  std::int64_t first_token_steps_;  // in 2^-20
  std::int64_t prompt_tokens_ = 0;
  struct Abort {
    workload::RequestId id;
    Ticks at;
  };
  std::int64_t slow_ = std::int64_t{1} << slow_bits;
  std::map<workload::RequestId, Slot> kept_;  // ended, and their blocks still held
  std::vector<std::pair<Ticks, Slot>> releases_;
  std::vector<Abort> aborts_;                   // not yet seen, in time order
  std::vector<Slot> promoted_;                  // scratch
  std::vector<roofline::PrefillChunk> chunks_;  // scratch
};

}  // namespace servegrid::engine
