// The prefix cache as runs of blocks: a tree of streams, each a chain of resident blocks that
// branches off its parent; the front of a chain is held by running sequences, the rest is idle in
// extents that were freed together. Costs are per extent, never per block.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "workload/source.hpp"

namespace servegrid::engine {

/// What goes when room is needed. `blocks`: exactly as many as needed, from the tail of the least
/// recently used run (vLLM's free queue). `runs`: the whole run (SGLang's tree gives up whole
/// leaves).
enum class Eviction : std::uint8_t { blocks, runs };

class PrefixCache {
 public:
  struct Node;
  /// What one sequence holds: the first blocks of `node`, and of all that it branches off.
  struct Hold {
    Node* node = nullptr;
    std::int64_t in_node = 0, total = 0;
    [[nodiscard]] std::int64_t blocks() const { return total; }
  };
  struct Match {
    std::int64_t total = 0;
    std::int64_t active = 0;               // of them, blocks that a running sequence holds anyway
    std::array<std::int64_t, 2> loaded{};  // of them, from each tier behind the pool
    [[nodiscard]] std::int64_t blocks() const { return total; }
  };

  explicit PrefixCache(std::int64_t block_tokens, Eviction eviction = Eviction::blocks);
  ~PrefixCache();
  PrefixCache(PrefixCache&&) noexcept;

  /// Longest resident prefix of the request's tokens, at most `limit` blocks.
  [[nodiscard]] Match match(const workload::Request& request, std::int64_t limit) const;
  /// Holds a match. Returns the blocks that were idle until now.
  std::int64_t acquire(Hold& hold, const workload::Request& request, const Match& match);
  /// The sequence's first `blocks` blocks are full: those that continue a chain become findable.
  void publish(Hold& hold, const workload::Request& request, std::int64_t blocks);
  /// As publish, at the end of a sequence: also steps over blocks that another sequence published
  /// first. `duplicates` counts own copies of those; returns idle blocks that became held.
  std::int64_t publish_all(Hold& hold, const workload::Request& request, std::int64_t blocks,
                           std::int64_t& duplicates);
  /// Lets go; returns the blocks that are idle from now on (deepest chain first, tail first).
  std::int64_t release(Hold& hold);
  /// Idle blocks that nobody can find but that take their turn in the LRU order.
  void add_anonymous(std::int64_t blocks);
  /// Evicts idle blocks, least recently freed first, from the tail of each run. Returns how many:
  /// `blocks`, or more where whole runs go.
  std::int64_t evict(std::int64_t blocks);

  [[nodiscard]] std::int64_t idle() const { return idle_; }

 private:
  struct Extent;
  struct Claim {
    std::int64_t activated = 0, duplicates = 0;
  };
  /// Blocks [begin, end) of a request are those of `stream`.
  struct Segment {
    workload::StreamId stream;
    std::int64_t begin, end;
  };
  /// The request's blocks from the root on; valid until the next call.
  const std::vector<Segment>& path_of(const workload::Request& request) const;
  [[nodiscard]] Node* find(const Segment& segment, const Node* parent) const;
  Node* find_or_create(const Segment& segment, Node* parent);
  void publish_impl(Hold& hold, const workload::Request& request, std::int64_t blocks, bool adopt,
                    Claim& claim);
  std::int64_t raise(Node& node, std::int64_t from, std::int64_t to);
  std::int64_t lower(Node& node, std::int64_t from);
  std::int32_t new_extent(Node* node, std::int64_t begin, std::int64_t end);
  void drop_extent(std::int32_t e);

  std::int64_t block_tokens_;
  Eviction eviction_;
  std::int64_t idle_ = 0;
  std::unordered_map<workload::StreamId, std::unique_ptr<Node>> nodes_;  // looked up, not iterated
  std::vector<Extent> extents_;
  std::vector<std::int32_t> unused_;
  std::int32_t oldest_ = -1, newest_ = -1;
  mutable std::vector<Segment> path_;  // scratch
};

}  // namespace servegrid::engine
