#include "engine/prefix_cache.hpp"

#include <algorithm>

namespace servegrid::engine {

// A run of idle blocks [begin, end) of a chain (or anonymous), in two lists: all extents by age,
// and a chain's own from the root outwards. What lies deeper was freed no later, so the oldest
// extent is always the deepest of its chain and eviction keeps chains contiguous.
struct PrefixCache::Extent {
  Node* node = nullptr;
  std::int64_t begin = 0, end = 0;
  std::int32_t older = -1, newer = -1;
  std::int32_t shallower = -1, deeper = -1;
};

struct PrefixCache::Node {
  workload::StreamId stream = -1, parent = -1;
  std::int64_t branch = 0;                       // blocks of the parent in front
  std::int64_t resident = 0;                     // blocks [0, resident) are in memory
  std::int64_t active = 0;                       // of them [0, active) are held
  std::map<std::int64_t, std::int64_t> holders;  // blocks held -> sequences
  std::int32_t shallowest = -1, deepest = -1;    // idle extents
};

PrefixCache::PrefixCache(std::int64_t block_tokens) : block_tokens_(block_tokens) {}
PrefixCache::~PrefixCache() = default;

PrefixCache::Node* PrefixCache::find(workload::StreamId stream) const {
  if (stream < 0) return nullptr;
  const auto it = nodes_.find(stream);
  return it == nodes_.end() ? nullptr : it->second.get();
}

PrefixCache::Node& PrefixCache::find_or_create(workload::StreamId stream, workload::StreamId parent,
                                               std::int64_t branch) {
  auto& slot = nodes_[stream];
  if (!slot) {
    slot = std::make_unique<Node>();
    slot->stream = stream;
    slot->parent = parent;
    slot->branch = branch;
  }
  return *slot;
}

std::int64_t PrefixCache::branch_of(const workload::Request& r) const {
  return r.shared_stream >= 0 ? r.shared_prefix / block_tokens_ : 0;
}

// The chain of the request's own stream, unless it hangs on another prefix (then its blocks
// differ).
PrefixCache::Node* PrefixCache::own_chain(const workload::Request& r) const {
  Node* node = find(r.stream);
  const std::int64_t branch = branch_of(r);
  const workload::StreamId parent = branch > 0 ? r.shared_stream : -1;
  return node != nullptr && node->branch == branch && node->parent == parent ? node : nullptr;
}

PrefixCache::Match PrefixCache::match(const workload::Request& r, std::int64_t limit) const {
  Match m;
  const std::int64_t branch = branch_of(r);
  if (branch > 0) {
    const Node* shared = find(r.shared_stream);
    if (shared == nullptr || shared->branch != 0) return m;
    m.shared = std::min({shared->resident, branch, limit});
    m.active = std::min(m.shared, shared->active);
    if (m.shared < branch) return m;
  }
  const Node* own = own_chain(r);
  if (own == nullptr) return m;
  m.own = std::min(own->resident, limit - m.shared);
  m.active += std::min(m.own, own->active);
  return m;
}

std::int64_t PrefixCache::acquire(Hold& hold, const workload::Request& r, const Match& m) {
  std::int64_t activated = 0;
  if (m.shared > 0) {
    hold.shared = find(r.shared_stream);
    activated += raise(*hold.shared, 0, m.shared);
    hold.shared_blocks = m.shared;
  }
  if (m.own > 0) {
    hold.own = find(r.stream);
    activated += raise(*hold.own, 0, m.own);
    hold.own_blocks = m.own;
  }
  return activated;
}

void PrefixCache::publish(Hold& hold, const workload::Request& r, std::int64_t blocks) {
  Claim unused;
  publish_impl(hold, r, blocks, false, unused);
}

std::int64_t PrefixCache::publish_all(Hold& hold, const workload::Request& r, std::int64_t blocks,
                                      std::int64_t& duplicates) {
  Claim c;
  publish_impl(hold, r, blocks, true, c);
  duplicates += c.duplicates;
  return c.activated;
}

bool PrefixCache::publish_impl(Hold& hold, const workload::Request& r, std::int64_t blocks,
                               bool adopt, Claim& c) {
  const std::int64_t branch = branch_of(r);
  const std::int64_t shared = std::min(branch, blocks);
  if (shared > hold.shared_blocks) {
    Node& node = hold.shared != nullptr ? *hold.shared : find_or_create(r.shared_stream, -1, 0);
    if (node.branch != 0 || !claim(node, hold.shared_blocks, shared, adopt, c)) return false;
    hold.shared = &node;
  }
  const std::int64_t own = blocks - branch;
  if (r.stream < 0 || own <= hold.own_blocks) return true;
  if (hold.own == nullptr) {
    Node& node = find_or_create(r.stream, branch > 0 ? r.shared_stream : -1, branch);
    if (&node != own_chain(r)) return false;
    if (!claim(node, hold.own_blocks, own, adopt, c)) return false;
    hold.own = &node;
    return true;
  }
  return claim(*hold.own, hold.own_blocks, own, adopt, c);
}

bool PrefixCache::claim(Node& node, std::int64_t& held, std::int64_t target, bool adopt, Claim& c) {
  if (!adopt && node.resident != held) return false;
  c.duplicates += std::max<std::int64_t>(0, std::min(node.resident, target) - held);
  c.activated += raise(node, held, target);
  held = target;
  return true;
}

// A holder's length goes from `from` (0 = none) up to `to`; idle blocks below `to` become held and
// blocks beyond `resident` join the chain.
std::int64_t PrefixCache::raise(Node& node, std::int64_t from, std::int64_t to) {
  if (from > 0) {
    const auto it = node.holders.find(from);
    if (--it->second == 0) node.holders.erase(it);
  }
  ++node.holders[to];
  std::int64_t activated = 0;
  if (to > node.active) {
    while (node.shallowest >= 0 && extents_[node.shallowest].begin < to) {
      Extent& e = extents_[node.shallowest];
      const std::int64_t upto = std::min(e.end, to);
      activated += upto - e.begin;
      e.begin = upto;
      if (e.begin == e.end) drop_extent(node.shallowest);
    }
    idle_ -= activated;
    node.active = to;
    node.resident = std::max(node.resident, to);
  }
  return activated;
}

std::int64_t PrefixCache::lower(Node& node, std::int64_t from) {
  const auto it = node.holders.find(from);
  if (--it->second == 0) node.holders.erase(it);
  const std::int64_t active = node.holders.empty() ? 0 : node.holders.rbegin()->first;
  const std::int64_t freed = node.active - active;
  if (freed > 0) {
    const std::int32_t e = new_extent(&node, active, node.active);
    extents_[e].deeper = node.shallowest;
    if (node.shallowest >= 0) extents_[node.shallowest].shallower = e;
    node.shallowest = e;
    if (node.deepest < 0) node.deepest = e;
    node.active = active;
  }
  return freed;
}

std::int64_t PrefixCache::release(Hold& hold) {
  std::int64_t freed = 0;
  if (hold.own_blocks > 0) freed += lower(*hold.own, hold.own_blocks);
  if (hold.shared_blocks > 0) freed += lower(*hold.shared, hold.shared_blocks);
  hold = {};
  return freed;
}

void PrefixCache::add_anonymous(std::int64_t blocks) {
  if (blocks <= 0) return;
  if (newest_ >= 0 && extents_[newest_].node == nullptr) {
    extents_[newest_].end += blocks;
    idle_ += blocks;
    return;
  }
  new_extent(nullptr, 0, blocks);
}

void PrefixCache::evict(std::int64_t blocks) {
  while (blocks > 0) {
    const std::int32_t e = oldest_;
    Extent& extent = extents_[e];
    const std::int64_t take = std::min(blocks, extent.end - extent.begin);
    extent.end -= take;
    blocks -= take;
    idle_ -= take;
    Node* node = extent.node;
    if (node != nullptr) node->resident -= take;
    if (extent.begin == extent.end) drop_extent(e);
    if (node != nullptr && node->resident == 0) nodes_.erase(node->stream);
  }
}

std::int32_t PrefixCache::new_extent(Node* node, std::int64_t begin, std::int64_t end) {
  std::int32_t e;
  if (unused_.empty()) {
    e = static_cast<std::int32_t>(extents_.size());
    extents_.emplace_back();
  } else {
    e = unused_.back();
    unused_.pop_back();
  }
  extents_[e] = Extent{node, begin, end, newest_, -1, -1, -1};
  if (newest_ >= 0) extents_[newest_].newer = e;
  newest_ = e;
  if (oldest_ < 0) oldest_ = e;
  idle_ += end - begin;
  return e;
}

void PrefixCache::drop_extent(std::int32_t e) {
  const Extent& x = extents_[e];
  (x.older >= 0 ? extents_[x.older].newer : oldest_) = x.newer;
  (x.newer >= 0 ? extents_[x.newer].older : newest_) = x.older;
  if (x.node != nullptr) {
    (x.shallower >= 0 ? extents_[x.shallower].deeper : x.node->shallowest) = x.deeper;
    (x.deeper >= 0 ? extents_[x.deeper].shallower : x.node->deepest) = x.shallower;
  }
  unused_.push_back(e);
}

}  // namespace servegrid::engine
