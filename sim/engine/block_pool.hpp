// The KV blocks of a replica: how many are held, blank, or idle in the prefix cache.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/prefix_cache.hpp"

namespace servegrid::engine {

/// Memory behind the pool that keeps a copy of every block whose sequence has ended, least recently
/// used first out: host memory, then a disk.
struct CacheTier {
  std::int64_t blocks = 0;
  Ticks per_block = 0;  // of loading one
};

class BlockPool {
 public:
  BlockPool(std::int64_t num_blocks, std::int64_t block_tokens, bool prefix_caching,
            bool keep_duplicates, Eviction eviction = Eviction::blocks,
            const std::vector<CacheTier>& tiers = {});

  [[nodiscard]] std::int64_t num_blocks() const { return num_blocks_; }
  [[nodiscard]] std::int64_t used() const { return used_; }
  /// Blocks that can be taken: blank ones, then idle cached ones.
  [[nodiscard]] std::int64_t free() const { return num_blocks_ - used_; }
  [[nodiscard]] std::int64_t allocated() const { return allocated_; }
  [[nodiscard]] std::int64_t freed() const { return freed_; }
  [[nodiscard]] bool caching() const { return caching_; }

  /// Returns `blocks` that hold nothing: taken for drafts that were not accepted.
  void give_back(std::int64_t blocks);
  /// Takes `blocks` <= free(): blank ones first, then the least recently used.
  void allocate(std::int64_t blocks);
  /// Longest prefix of the request in the pool and, beyond that, in the tiers; at most `limit`
  /// blocks.
  [[nodiscard]] PrefixCache::Match match(const workload::Request& request,
                                         std::int64_t limit) const;
  /// Holds a match; what is in a tier takes blocks of the pool. Returns how long it takes to load.
  Ticks acquire(PrefixCache::Hold& hold, const workload::Request& request,
                const PrefixCache::Match& match);
  /// The first `blocks` of the sequence's blocks are full of prompt tokens.
  void publish(PrefixCache::Hold& hold, const workload::Request& request, std::int64_t blocks) {
    if (caching_) cache_.publish(hold, request, blocks);
  }
  /// Frees a sequence that holds `blocks`, of which the first `full` are full. `insert`: full ones
  /// stay findable.
  void release(PrefixCache::Hold& hold, const workload::Request& request, std::int64_t blocks,
               std::int64_t full, bool insert);

 private:
  void take(std::int64_t blocks);
  void give(std::int64_t blocks);

  struct Tier {
    PrefixCache cache;
    CacheTier size;
  };

  PrefixCache cache_;
  std::vector<Tier> tiers_;
  std::int64_t num_blocks_, blank_, used_ = 0, allocated_ = 0, freed_ = 0;
  bool caching_, keep_duplicates_;
};

}  // namespace servegrid::engine
