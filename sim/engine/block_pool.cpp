#include "engine/block_pool.hpp"

#include <algorithm>

#include "units/error.hpp"

namespace servegrid::engine {

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
  cache_.evict(blocks - blank);
  take(blocks);
}

void BlockPool::give_back(std::int64_t blocks) {
  blank_ += blocks;
  give(blocks);
}

void BlockPool::acquire(PrefixCache::Hold& hold, const workload::Request& request,
                        const PrefixCache::Match& match) {
  if (match.blocks() > 0) take(cache_.acquire(hold, request, match));
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
