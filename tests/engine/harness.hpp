// A toy step model with coarse integer times, and a driver that lives through a list of requests.
#pragma once

#include <string>
#include <vector>

#include "engine/replica.hpp"

namespace servegrid::test {

class ToyTimes final : public roofline::StepTimes {
 public:
  Ticks base = 10, per_sequence = 0;
  std::array<Ticks, roofline::max_context_classes> per_token{};
  Ticks prefill_base = 10, per_prefill_token = 0, delay = 0, per_group_row = 0;
  Ticks per_sample = 1;  // for each prompt that a step completes
  double steps_added = 0;
  std::vector<std::int64_t> window_tokens;

  [[nodiscard]] std::span<const std::int64_t> windows() const override { return window_tokens; }
  [[nodiscard]] roofline::DecodeCost decode(std::int64_t n) const override {
    return {base + n * per_sequence, per_token};
  }
  [[nodiscard]] Ticks mixed(std::span<const roofline::PrefillChunk> chunks, std::int64_t n,
                            const roofline::ContextTokens& context) const override {
    Ticks t = prefill_base + n * per_sequence;
    for (const auto& c : chunks) t += per_prefill_token * c.tokens + (c.samples ? per_sample : 0);
    for (std::size_t c = 0; c < context.size(); ++c) t += per_token[c] * context[c];
    return t;
  }
  // Of one rank: the tokens of the others count one tick each.
  [[nodiscard]] roofline::DecodeCost decode_rank(std::int64_t n, std::int64_t rows) const override {
    roofline::DecodeCost cost = decode(n);
    cost.base += per_group_row * rows;
    return cost;
  }
  [[nodiscard]] Ticks mixed_rank(std::span<const roofline::PrefillChunk> chunks, std::int64_t n,
                                 const roofline::ContextTokens& context,
                                 std::int64_t rows) const override {
    return mixed(chunks, n, context) + per_group_row * rows;
  }
  [[nodiscard]] Ticks first_token_delay() const override { return delay; }
  [[nodiscard]] double first_token_steps() const override { return steps_added; }
};

/// Everything a listener is told and what was observed, one line each; equal logs mean equal runs.
class Log final : public engine::Listener {
 public:
  std::vector<std::string> lines;
  std::vector<metrics::Epoch> epochs;
  void scheduled(workload::RequestId id, Ticks at, std::int64_t cached) override;
  void preempted(workload::RequestId id, Ticks at) override;
  void first_token(workload::RequestId id, Ticks at) override;
  void finished(workload::RequestId id, Ticks at) override;
  void rejected(workload::RequestId id, Ticks at, const std::string& reason) override;
  void aborted(workload::RequestId id, Ticks at, std::int64_t generated) override;
  void epoch(const metrics::Epoch& e) override;
  void add(const std::string& line) { lines.push_back(line); }
};

/// A client that goes away.
struct Gone {
  Ticks at;
  workload::RequestId id;
};

struct Scenario {
  engine::ReplicaConfig config;
  ToyTimes times;
  std::vector<workload::Request> requests;  // by arrival
  std::vector<Ticks> observe_at;            // ascending
  std::vector<Gone> aborts;                 // by time
};

struct Outcome {
  std::vector<std::string> lines;
  std::vector<metrics::Epoch> epochs;
  metrics::Counters counters;
};

/// `submit_first`: at one instant, arrivals before the replica's own event, or after it.
Outcome run(const Scenario& scenario, bool leap, bool submit_first = true);

/// Each step as "number: id(blocks) id(blocks)* | preempted id": the running list with the blocks
/// held in that step, a star where the prompt is not complete. Runs without leaps.
std::vector<std::string> steps(const Scenario& scenario);

/// The lines of an outcome without its epochs.
std::vector<std::string> events(const Outcome& outcome);

workload::Request request(std::int64_t id, Ticks arrival, std::int64_t prompt, std::int64_t output);

}  // namespace servegrid::test
