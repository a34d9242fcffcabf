#include "engine/block_pool.hpp"

#include <algorithm>

#include "units/error.hpp"

namespace servegrid::engine {

BlockPool::BlockPool(std::int64_t num_blocks, std::int64_t block_tokens, bool prefix_caching,
                     bool keep_duplicates, Eviction eviction, const std::vector<CacheTier>& tiers)
    : cache_(block_tokens, eviction),
      num_blocks_(num_blocks),
      blank_(num_blocks),
      caching_(prefix_caching),
      keep_duplicates_(keep_duplicates) {
  if (tiers.size() > 2) throw RunError("engine: more than two tiers behind the KV pool");
  for (const CacheTier& tier : tiers) tiers_.push_back({PrefixCache(block_tokens), tier});
}

void BlockPool::take(std::int64_t blocks) {
  used_ += blocks;
  allocated_ += blocks;
}

void BlockPool::give(std::int64_t blocks) {
  used_ -= blocks;
  freed_ += blocks;
}

void BlockPool::allocate(std::int64_t blocks) {
  if (blocks > free()) throw RunError("engine: allocates more KV blocks than are free");
  const std::int64_t blank = std::min(blank_, blocks);
  blank_ -= blank;
  const std::int64_t more = blocks - blank;
  blank_ += cache_.evict(more) - more;  // whole runs may be more than is needed
  take(blocks);
}

void BlockPool::give_back(std::int64_t blocks) {
  blank_ += blocks;
  give(blocks);
}

PrefixCache::Match BlockPool::match(const workload::Request& request, std::int64_t limit) const {
  if (!caching_) return {};
  PrefixCache::Match m = cache_.match(request, limit);
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    const std::int64_t found = tiers_[i].cache.match(request, limit).blocks();
    m.loaded[i] = std::max<std::int64_t>(0, found - m.total);
    m.total += m.loaded[i];
  }
  return m;
}

Ticks BlockPool::acquire(PrefixCache::Hold& hold, const workload::Request& request,
                         const PrefixCache::Match& match) {
  std::int64_t loaded = 0;
  Ticks time = 0;
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    loaded += match.loaded[i];
    time += match.loaded[i] * tiers_[i].size.per_block;
  }
  PrefixCache::Match resident = match;
  resident.total -= loaded;
  if (resident.total > 0) take(cache_.acquire(hold, request, resident));
  if (loaded > 0) allocate(loaded);
  return time;
}

void BlockPool::release(PrefixCache::Hold& hold, const workload::Request& request,
                        std::int64_t blocks, std::int64_t full, bool insert) {
  std::int64_t own = blocks - hold.blocks();  // not part of any chain
  if (!caching_) {
    blank_ += own;
    give(own);
    return;
  }
  std::int64_t anonymous = 0;
  for (Tier& tier : tiers_) {
    if (!insert) break;
    PrefixCache::Hold copy;
    std::int64_t there = 0;
    tier.cache.publish_all(copy, request, full, there);
    tier.cache.release(copy);
    tier.cache.evict(tier.cache.idle() - tier.size.blocks);
  }
  if (insert) {
    const std::int64_t held = hold.blocks();
    std::int64_t duplicates = 0;
    take(cache_.publish_all(hold, request, full, duplicates));
    own -= hold.blocks() - held - duplicates;
    // Full blocks that no chain took: a fresh prompt's, or copies of what another published first.
    const std::int64_t unfindable = std::max<std::int64_t>(0, full - hold.blocks());
    anonymous = unfindable + (keep_duplicates_ ? duplicates : 0);
  }
  cache_.add_anonymous(anonymous);
  blank_ += own - anonymous;
  give(own);
  give(cache_.release(hold));
}

}  // namespace servegrid::engine
