// Layout: KV bytes given, how many blocks and tokens they are. Exact integer arithmetic, as the
// engines do it (docs/memory.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/deployment.hpp"

namespace servegrid::memory {

/// Layers that keep their past alike.
struct KvKind {
  enum class Kind { full, window, state } kind = Kind::full;
  std::int64_t layers = 0;           // on the fullest pipeline stage
  std::int64_t bytes_per_token = 0;  // per layer and GPU [B]; 0 for state
  std::int64_t state_bytes = 0;      // per layer, sequence and GPU [B]; 0 but for state
  std::int64_t window = 0;           // tokens
};

/// The kinds of the model on one GPU. `draft_tokens` > 0 adds the layers that draft (the model's
/// MTP layers, or those of the deployment's draft) and the state that rejected drafts need.
std::vector<KvKind> kv_kinds(const model::Deployment& deployment, std::int64_t draft_tokens = 0);

/// What the engine was asked for.
struct LayoutOptions {
  std::string kind = "vllm";  // "vllm", "sglang", "trtllm"
  std::int64_t block_tokens = 16;
  std::int64_t tokens_in_flight = 0;  // max_num_batched_tokens x concurrent batches
  std::int64_t draft_tokens = 0;
  bool prefix_caching = true;
};

/// Blocks of one size that all groups of layers draw from.
struct BlockPool {
  struct Group {
    KvKind::Kind kind = KvKind::Kind::full;
    std::int64_t block_tokens = 16;
    std::int64_t window = 0;
  };
  std::int64_t block_tokens = 16;  // of the layers that keep every token
  std::int64_t page_bytes = 0;     // one block of one layer
  std::int64_t group_size = 0;     // layers a group
  std::int64_t block_bytes = 0;
  std::int64_t state_blocks = 0;  // a state group holds for one sequence
  std::int64_t tokens_in_flight = 0;
  std::vector<Group> groups;
  // SGLang keeps recurrent states in a pool of their own.
  std::int64_t state_slot_bytes = 0;

  [[nodiscard]] std::int64_t blocks_in(std::int64_t kv_bytes) const;
  /// Sequences whose states fit in their own pool; < 0 = no such pool.
  [[nodiscard]] std::int64_t state_sequences_in(std::int64_t kv_bytes) const;
  /// Blocks the engine reserves for a request of `length` tokens while it prefills: what it prints
  /// as maximum concurrency and refuses to start by.
  [[nodiscard]] std::int64_t blocks_of(std::int64_t length) const;
  /// Blocks a sequence holds while it decodes at `length` tokens.
  [[nodiscard]] std::int64_t blocks_resident(std::int64_t length) const;
  /// The part of blocks_resident that does not grow with length, of long sequences.
  [[nodiscard]] std::int64_t fixed_blocks() const;
  /// Groups whose blocks grow with length: those that keep every token; of a model that has windows
  /// only, its window groups (an upper bound).
  [[nodiscard]] std::int64_t growing_groups() const;
  /// The longest request that `blocks` hold, by bisection up to `limit`.
  [[nodiscard]] std::int64_t longest(std::int64_t blocks, std::int64_t limit) const;
  /// "GPU KV cache size: N tokens" as vLLM prints it: "concurrency" (recent) or "blocks".
  [[nodiscard]] std::int64_t printed_tokens(std::int64_t blocks, std::int64_t max_model_len,
                                            const std::string& how) const;
};

BlockPool make_pool(const std::vector<KvKind>& kinds, const LayoutOptions& options);

/// Bytes one sequence of `length` tokens needs on one GPU, without blocks: for the sizing rules.
double sequence_bytes(const std::vector<KvKind>& kinds, std::int64_t length);

}  // namespace servegrid::memory
