// One replica as a pure state machine: no clock, no I/O. Requests go in, events come out; while a
// batch composition lasts it is an epoch whose times are closed-form in integers, so that leaping
// over its steps is exact.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catalog/engine.hpp"
#include "engine/block_pool.hpp"
#include "engine/pace.hpp"
#include "metrics/result.hpp"
#include "roofline/step_times.hpp"
#include "workload/source.hpp"

namespace servegrid::engine {

/// The KV pool of a replica, all its ranks together.
struct Pool {
  std::int64_t num_blocks = 0;
  std::int64_t block_tokens = 16;
  std::int64_t fixed_blocks = 0;  // state blocks a sequence holds whatever its length
};

/// Host memory that preempted sequences may be swapped to.
struct SwapSpace {
  std::int64_t host_blocks = 0;
  Ticks per_block = 0;  // of one copy, over the GPUs' own PCIe links
};

/// A request in the running list and the KV blocks it holds.
struct Running {
  workload::RequestId id = -1;
  std::int64_t blocks = 0;
  bool decoding = false;
};

/// What a router or a timeline may see at time t. O(1) and never changes the result.
struct Observation {
  std::int64_t running = 0, waiting = 0;
  std::int64_t blocks_used = 0;     // held by running sequences
  std::int64_t context_tokens = 0;  // of running sequences
};

/// A request that had not ended when the run was cut short, and the output it had by then.
struct Left {
  workload::RequestId id = 0;
  std::int64_t generated = 0;
};

/// Told of what happens, in time order.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void scheduled(workload::RequestId id, Ticks at,
                         std::int64_t cached_tokens) = 0;  // first admission
  virtual void preempted(workload::RequestId id, Ticks at) = 0;
  virtual void first_token(workload::RequestId id, Ticks at) = 0;  // as the client sees it
  virtual void finished(workload::RequestId id, Ticks at) = 0;
  virtual void rejected(workload::RequestId id, Ticks at, const std::string& reason) = 0;
  /// At the boundary that saw an abort(); `generated` output tokens so far.
  virtual void aborted(workload::RequestId id, Ticks at, std::int64_t generated) = 0;
  /// A request with `hold` has its only token; its blocks stay held until release().
  virtual void prefilled(workload::RequestId /*id*/, Ticks /*at*/) {}
  virtual void epoch(const metrics::Epoch& epoch) = 0;  // when it is over
};

struct ReplicaConfig {
  catalog::Policy policy = catalog::Policy::vllm_v1;
  catalog::Knobs knobs;
  Pool pool;
  SwapSpace swap;
  Pace pace;       // of decoding sequences
  int ranks = 1;   // of attention data parallelism: a scheduler and a share of the pool each
  int stages = 1;  // of the pipeline: so many batches are in flight, a step is one round of them
  std::vector<CacheTier> tiers;  // behind the pool: host memory, then a disk
  int index = 0;
  bool leap = true;
};

inline constexpr Ticks never = static_cast<Ticks>(1) << 120;

class Replica {
 public:
  Replica(const ReplicaConfig& config, const roofline::StepTimes& steps, Listener& listener);
  ~Replica();
  Replica(Replica&&) noexcept;
  Replica& operator=(Replica&&) noexcept;

  /// A request arrives at `now` (>= any earlier call's time). One that can never run is rejected at
  /// once.
  void submit(const workload::Request& request, Ticks now);
  /// The client of `id` has gone (or its time is up). The engine sees it as it sees arrivals, at a
  /// boundary after `now`; a request that has ended by then is left alone.
  void abort(workload::RequestId id, Ticks now);
  /// Time of the next internal event (end of the epoch or step in progress), `never` when idle. May
  /// move earlier only inside submit() and abort().
  [[nodiscard]] Ticks next_event() const;
  /// Handles the event at `now == next_event()`: step effects, finishes, preemptions, the next
  /// plan.
  void advance(Ticks now);
  /// The run is cut short at `now` (after every event up to it): steps that are over have happened,
  /// the one under way has not. Ends the record in progress; returns what is left. Nothing else may
  /// be called after it but counters().
  std::vector<Left> cut(Ticks now);
  [[nodiscard]] Observation observe(Ticks t) const;
  /// The running list in the engine's order, with the blocks held in the step under way.
  /// O(running).
  [[nodiscard]] std::vector<Running> running() const;
  /// Start of the epoch in progress, that the listener has not been told of; `never` when idle.
  [[nodiscard]] Ticks open_since() const;
  /// Tokens of the request's prompt that the prefix cache and the tiers behind it would find at
  /// `now`: whole blocks, never the last token. Does not change what is evicted next.
  [[nodiscard]] std::int64_t cached_tokens(const workload::Request& request, Ticks now) const;
  /// Frees the blocks of a request that ended with `hold`, at the first step boundary after `now`.
  void release(workload::RequestId id, Ticks now);
  /// Steps take `factor` times as long from the first one that begins after `now`.
  void set_slowdown(double factor, Ticks now);
  /// Everything on it is lost at `now`: the requests that had not ended (or hold blocks), in order
  /// of their ids. It must not be used again.
  std::vector<workload::RequestId> lose(Ticks now);
  /// Counters so far (requests, blocks, tokens, preemptions, steps, events).
  [[nodiscard]] const metrics::Counters& counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace servegrid::engine
