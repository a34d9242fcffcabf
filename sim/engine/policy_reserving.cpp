// Orca (iteration-level batches) and static batches (request-level), both with max_model_len tokens
// of KV reserved for each sequence: microsoft/sarathi-serve, core/scheduler/orca_scheduler.py and
// faster_transformer_scheduler.py. See docs/engines.md.
#include <fmt/format.h>

#include <algorithm>

#include "engine/policy.hpp"
#include "units/error.hpp"

namespace servegrid::engine {
namespace {

class Reserving final : public Policy {
 public:
  Reserving(const ReplicaConfig& config, bool whole_batches)
      : max_model_len_(config.knobs.max_model_len),
        reserved_(ceil_div(max_model_len_, config.pool.block_tokens)),
        held_(reserved_ + config.pool.fixed_blocks),
        num_blocks_(config.pool.num_blocks),
        max_sequences_(config.knobs.max_num_seqs),
        whole_batches_(whole_batches) {
    if (max_model_len_ < 1) throw InputError("max_model_len must be at least 1 token");
  }

  [[nodiscard]] std::string refusal(const workload::Request& /*request*/) const override {
    if (held_ <= num_blocks_) return {};
    return fmt::format(
        "finds {} KV blocks, and each request reserves {} for max_model_len {}: lower "
        "max_model_len",
        num_blocks_, held_, max_model_len_);
  }

  void plan(State& state, Ticks now, Plan& plan) override {
    if (!whole_batches_ || state.running == 0) {
      while (!state.waiting.empty() && state.running < max_sequences_ &&
             held_ <= state.pool.free()) {
        const Slot slot = state.waiting.front();
        state.waiting.pop_front();
        state.admit(slot, {}, now);
        state.reserve(slot, reserved_);
        state.schedule_chunk(slot, state[slot].tokens(), plan);
      }
    }
    plan.decodes = state.decodes.size() > 0;
    plan.steps = !plan.chunks.empty() ? 1 : plan.decodes ? no_step : 0;
  }

  [[nodiscard]] std::int64_t may_admit(const State& state, Slot /*head*/,
                                       std::int64_t from) const override {
    const bool room = state.running < max_sequences_ && held_ <= state.pool.free();
    return room && !whole_batches_ ? from : no_step;
  }

 private:
  const std::int64_t max_model_len_, reserved_, held_, num_blocks_, max_sequences_;
  const bool whole_batches_;
};

}  // namespace

std::unique_ptr<Policy> make_orca(const ReplicaConfig& config) {
  return std::make_unique<Reserving>(config, false);
}

std::unique_ptr<Policy> make_static_batch(const ReplicaConfig& config) {
  return std::make_unique<Reserving>(config, true);
}

}  // namespace servegrid::engine
