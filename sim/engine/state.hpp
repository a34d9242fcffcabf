// What all policies share: the sequences of a replica, its queues, its pool and its counters.
#pragma once

#include <deque>
#include <vector>

#include "engine/block_pool.hpp"
#include "engine/decode_set.hpp"
#include "engine/replica.hpp"
#include "engine/sequence.hpp"

namespace servegrid::engine {

struct Chunk {
  Slot slot = -1;
  std::int64_t tokens = 0, cached = 0;
};

/// The next step's composition and for how many steps it stays the same.
struct Plan {
  std::vector<Chunk> chunks;
  bool decodes = false;    // the decoding sequences take part
  std::int64_t steps = 0;  // 0: nothing to run
  // Sequences that decode but have no turn in this step (vLLM's priority preemption).
  std::vector<Slot> held_back;
  std::int64_t swapped = 0;  // blocks copied to and from host memory before this step
};

/// How a policy's engine treats the pool.
struct PoolRules {
  std::int64_t null_blocks = 0;  // taken at start
  bool keep_duplicates = true;   // copies of cached blocks stay in the LRU order when freed
  Eviction eviction = Eviction::blocks;
  std::int64_t clip = 0;  // of the remaining output in admission estimates; 0 = not used
  bool reserved = false;  // all blocks are taken at admission: decoding takes none
};

class State {
 public:
  State(const ReplicaConfig& config, const PoolRules& rules, const roofline::StepTimes& steps,
        Listener& listener);

  Slot create(const workload::Request& request, Ticks now);
  void destroy(Slot slot);
  Sequence& operator[](Slot slot) { return sequences_[static_cast<std::size_t>(slot)]; }
  const Sequence& operator[](Slot slot) const { return sequences_[static_cast<std::size_t>(slot)]; }

  /// Blocks for `tokens` tokens, and for the drafts that follow them.
  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const {
    return ceil_div(tokens + config.pace.reach, config.pool.block_tokens);
  }
  /// Prefix-cache hit of a sequence that is to be admitted: whole blocks, never its last token.
  [[nodiscard]] PrefixCache::Match match(const Sequence& s) const;
  /// Tokens a sequence that is admitted need not compute: its hit, or what was loaded with it.
  [[nodiscard]] std::int64_t known(const Sequence& s, const PrefixCache::Match& match) const {
    return std::max(match.blocks() * config.pool.block_tokens, s.loaded);
  }
  /// A chunk that is the last token of a sequence whose KV came with it: it costs a decode step.
  [[nodiscard]] bool is_loaded(const Chunk& c) const {
    return c.tokens == 1 && (*this)[c.slot].loaded > 0;
  }
  [[nodiscard]] bool only_loaded(const Plan& plan) const;
  /// Joins the end of the running list, prefilling after its hit. Does not take blocks for new
  /// tokens.
  void admit(Slot slot, const PrefixCache::Match& match, Ticks now);
  /// An admitted sequence holds at least `blocks` from now on.
  void reserve(Slot slot, std::int64_t blocks);
  /// Takes blocks for the next `tokens` prompt tokens of a running sequence and adds them to the
  /// plan.
  void schedule_chunk(Slot slot, std::int64_t tokens, Plan& plan);
  /// New blocks such a chunk takes.
  [[nodiscard]] std::int64_t chunk_blocks(const Sequence& s, std::int64_t tokens) const;
  /// Frees a running sequence's blocks and takes it off the running list; it is neither waiting nor
  /// gone. Returns blocks that it held.
  void stop(Slot slot, bool insert);
  /// Takes a finished sequence off the running list but keeps its blocks; free_kept gives them
  /// back.
  void keep(Slot slot) { leave(slot); }
  void free_kept(Slot slot);
  /// stop, counted and reported as a preemption.
  void preempt(Slot slot, bool insert, Ticks now);
  /// Copies a decoding sequence's blocks to host memory and takes it off the running list, counted
  /// and reported as a preemption; back, at the end of the running list. Both return its blocks.
  std::int64_t swap_out(Slot slot, Ticks now);
  std::int64_t swap_in(Slot slot);
  /// A decoding sequence leaves out the next step only; undone by release_held when that is over.
  void hold_back(Slot slot, Plan& plan);
  void release_held(Plan& plan);
  /// Joins the queue at its end, or (preempted) at its front. With priorities: at the end of its
  /// class, or in its place by priority and arrival.
  void enqueue(Slot slot);
  void enqueue_front(Slot slot);
  /// The sequence of a request that has not ended, or -1. O(all).
  [[nodiscard]] Slot find(workload::RequestId id) const;
  /// Takes a sequence that does not run out of its queue; false when it runs.
  bool dequeue(Slot slot);
  /// New blocks that `steps` decode steps take, the first being `ahead` steps from now.
  [[nodiscard]] std::int64_t growth(std::int64_t ahead, std::int64_t steps) const {
    return rules_.reserved ? 0 : decodes.blocks_needed(ahead, steps);
  }
  /// The chunk that completed a prompt gave its first token: the sequence decodes now.
  void promote(Slot slot);
  /// Blocks a running sequence holds for its tokens and state, before the next step takes any.
  [[nodiscard]] std::int64_t held(const Sequence& s) const;
  /// The same while a step is under way.
  [[nodiscard]] std::int64_t held_in_step(const Sequence& s) const;
  /// Free blocks after the first step of the epoch in progress.
  [[nodiscard]] std::int64_t free_at_plan() const { return pool.free() + growth(1, caught_up); }
  [[nodiscard]] std::int64_t in_queue() const {
    return static_cast<std::int64_t>(waiting.size() + inbox.size() + swapped.size());
  }

  const ReplicaConfig config;
  const roofline::StepTimes& steps;
  Listener& listener;
  metrics::Counters counters;

 private:
  void link(Slot slot);
  void unlink(Slot slot);

  const PoolRules rules_;
  std::vector<Sequence> sequences_;
  std::vector<Slot> unused_;
  std::int64_t admissions_ = 0;
  void leave(Slot slot);

 public:
  DecodeSet decodes;
  BlockPool pool;
  std::deque<Slot> waiting;         // seen by the scheduler
  std::deque<Slot> inbox;           // not yet seen
  std::deque<Slot> swapped;         // in host memory, by arrival
  std::int64_t host_blocks = 0;     // that they hold there
  std::vector<Slot> partials;       // running, prompt not complete, in running order
  std::int64_t partial_tokens = 0;  // computed tokens of partials
  std::int64_t running = 0;
  std::int64_t caught_up = 0;  // steps of the epoch beyond its first whose blocks are taken already
  Ticks loading = 0;           // of what this step's admissions found in the tiers behind the pool
  Slot oldest = -1, newest = -1;  // running list
};

}  // namespace servegrid::engine
