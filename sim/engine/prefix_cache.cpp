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
  workload::StreamId stream = -1;
  Node* parent = nullptr;
  std::int64_t branch = 0;                       // blocks in front of it, along its parents
  std::int64_t resident = 0;                     // blocks [0, resident) are in memory
  std::int64_t active = 0;                       // of them [0, active) are held
  std::map<std::int64_t, std::int64_t> holders;  // blocks held -> sequences; and held children
  std::int32_t shallowest = -1, deepest = -1;    // idle extents
};

PrefixCache::PrefixCache(std::int64_t block_tokens, Eviction eviction)
    : block_tokens_(block_tokens), eviction_(eviction) {}
PrefixCache::~PrefixCache() = default;
PrefixCache::PrefixCache(PrefixCache&&) noexcept = default;

// A block belongs to the stream of its last token: what differs before it makes it another block.
const std::vector<PrefixCache::Segment>& PrefixCache::path_of(const workload::Request& r) const {
  path_.clear();
  const auto add = [this](workload::StreamId stream, std::int64_t begin, std::int64_t end) {
    if (stream >= 0 && begin < end) path_.push_back({stream, begin, end});
  };
  const std::int64_t own_end = r.stream_tokens / block_tokens_;
  if (r.fork == nullptr) {
    const std::int64_t branch = r.shared_stream >= 0 ? r.shared_prefix / block_tokens_ : 0;
    add(r.shared_stream, 0, branch);
    add(r.stream, branch, own_end);
    return path_;
  }
  add(r.stream, r.fork->tokens / block_tokens_, own_end);
  for (const workload::Fork* f = r.fork; f != nullptr; f = f->parent) {
    add(f->stream, f->parent != nullptr ? f->parent->tokens / block_tokens_ : 0,
        f->tokens / block_tokens_);
  }
  std::reverse(path_.begin(), path_.end());
  return path_;
}

// The chain of a segment, unless it hangs on another prefix (then its blocks differ).
PrefixCache::Node* PrefixCache::find(const Segment& segment, const Node* parent) const {
  const auto it = nodes_.find(segment.stream);
  if (it == nodes_.end()) return nullptr;
  Node* node = it->second.get();
  return node->branch == segment.begin && node->parent == parent ? node : nullptr;
}

PrefixCache::Node* PrefixCache::find_or_create(const Segment& segment, Node* parent) {
  auto& slot = nodes_[segment.stream];
  if (!slot) {
    slot = std::make_unique<Node>();
    slot->stream = segment.stream;
    slot->parent = parent;
    slot->branch = segment.begin;
  }
  return slot->branch == segment.begin && slot->parent == parent ? slot.get() : nullptr;
}

PrefixCache::Match PrefixCache::match(const workload::Request& r, std::int64_t limit) const {
  Match m;
  const Node* parent = nullptr;
  for (const Segment& segment : path_of(r)) {
    if (segment.begin != m.total || m.total >= limit) break;
    const Node* node = find(segment, parent);
    if (node == nullptr) break;
    const std::int64_t found = std::min(node->resident, std::min(segment.end, limit) - m.total);
    m.total += found;
    m.active += std::min(found, node->active);
    parent = node;
  }
  return m;
}

std::int64_t PrefixCache::acquire(Hold& hold, const workload::Request& r, const Match& m) {
  Node* node = nullptr;
  for (const Segment& segment : path_of(r)) {
    if (segment.begin >= m.total) break;
    node = find(segment, node);
    if (segment.end < m.total) continue;
    hold = {node, m.total - segment.begin, m.total};
    break;
  }
  return hold.node == nullptr ? 0 : raise(*hold.node, 0, hold.in_node);
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

// Moves the hold on along the path, as far as its blocks continue what is resident.
void PrefixCache::publish_impl(Hold& hold, const workload::Request& r, std::int64_t blocks,
                               bool adopt, Claim& c) {
  for (const Segment& segment : path_of(r)) {
    if (hold.total >= blocks) return;
    if (segment.end <= hold.total) continue;
    const bool here = hold.node != nullptr && hold.node->stream == segment.stream;
    Node* node = here ? hold.node : find_or_create(segment, hold.node);
    if (node == nullptr) return;
    const std::int64_t held = here ? hold.in_node : 0;
    const std::int64_t target = std::min(segment.end, blocks) - segment.begin;
    if (!adopt && node->resident != held) return;
    c.duplicates += std::max<std::int64_t>(0, std::min(node->resident, target) - held);
    c.activated += raise(*node, held, target);
    if (!here && hold.node != nullptr) lower(*hold.node, hold.in_node);  // its child holds it now
    hold = {node, target, segment.begin + target};
  }
}

// A holder's length goes from `from` (0 = none) up to `to`; idle blocks below `to` become held and
// blocks beyond `resident` join the chain.
std::int64_t PrefixCache::raise(Node& node, std::int64_t from, std::int64_t to) {
  std::int64_t activated = 0;
  if (from > 0) {
    const auto it = node.holders.find(from);
    if (--it->second == 0) node.holders.erase(it);
  } else if (node.holders.empty() && node.parent != nullptr) {
    activated = raise(*node.parent, 0, node.branch - node.parent->branch);
  }
  ++node.holders[to];
  if (to > node.active) {
    std::int64_t woken = 0;
    while (node.shallowest >= 0 && extents_[node.shallowest].begin < to) {
      Extent& e = extents_[node.shallowest];
      const std::int64_t upto = std::min(e.end, to);
      woken += upto - e.begin;
      e.begin = upto;
      if (e.begin == e.end) drop_extent(node.shallowest);
    }
    idle_ -= woken;
    activated += woken;
    node.active = to;
    node.resident = std::max(node.resident, to);
  }
  return activated;
}

// A holder of the first `from` blocks lets go. The last one of a chain lets go of its parent, after
// it: what lies deeper is freed no later.
std::int64_t PrefixCache::lower(Node& node, std::int64_t from) {
  const auto it = node.holders.find(from);
  if (--it->second == 0) node.holders.erase(it);
  const std::int64_t active = node.holders.empty() ? 0 : node.holders.rbegin()->first;
  std::int64_t freed = node.active - active;
  if (freed > 0) {
    const std::int32_t e = new_extent(&node, active, node.active);
    extents_[e].deeper = node.shallowest;
    if (node.shallowest >= 0) extents_[node.shallowest].shallower = e;
    node.shallowest = e;
    if (node.deepest < 0) node.deepest = e;
    node.active = active;
  }
  if (node.holders.empty() && node.parent != nullptr) {
    freed += lower(*node.parent, node.branch - node.parent->branch);
  }
  return freed;
}

std::int64_t PrefixCache::release(Hold& hold) {
  const std::int64_t freed = hold.node != nullptr ? lower(*hold.node, hold.in_node) : 0;
  hold = {};
  return freed;
}

void PrefixCache::add_anonymous(std::int64_t blocks) {
  if (blocks <= 0) return;
  if (eviction_ == Eviction::blocks && newest_ >= 0 && extents_[newest_].node == nullptr) {
    extents_[newest_].end += blocks;
    idle_ += blocks;
    return;
  }
  new_extent(nullptr, 0, blocks);
}

std::int64_t PrefixCache::evict(std::int64_t blocks) {
  std::int64_t evicted = 0;
  while (evicted < blocks) {
    const std::int32_t e = oldest_;
    Extent& extent = extents_[e];
    const std::int64_t run = extent.end - extent.begin;
    const std::int64_t take = eviction_ == Eviction::runs ? run : std::min(blocks - evicted, run);
    extent.end -= take;
    evicted += take;
    idle_ -= take;
    Node* node = extent.node;
    if (node != nullptr) node->resident -= take;
    if (extent.begin == extent.end) drop_extent(e);
    if (node != nullptr && node->resident == 0) nodes_.erase(node->stream);
  }
  return evicted;
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
