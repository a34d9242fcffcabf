// The KV blocks of a replica: how many are held, blank, or idle in the prefix cache.
#pragma once

#include <cstdint>

#include "engine/prefix_cache.hpp"

namespace servegrid::engine {

class BlockPool {
 public:
  BlockPool(std::int64_t num_blocks, std::int64_t block_tokens, bool prefix_caching,
            bool keep_duplicates)
      : cache_(block_tokens),
        num_blocks_(num_blocks),
        blank_(num_blocks),
        caching_(prefix_caching),
        keep_duplicates_(keep_duplicates) {}

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
  [[nodiscard]] PrefixCache::Match match(const workload::Request& request,
                                         std::int64_t limit) const {
    return caching_ ? cache_.match(request, limit) : PrefixCache::Match{};
  }
  void acquire(PrefixCache::Hold& hold, const workload::Request& request,
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

  PrefixCache cache_;
  std::int64_t num_blocks_, blank_, used_ = 0, allocated_ = 0, freed_ = 0;
  bool caching_, keep_duplicates_;
};

}  // namespace servegrid::engine
