// The prefix cache as runs of blocks: per stream one chain of resident blocks, the front of it held
// by running sequences, the rest idle in extents that were freed together. Costs are per extent,
// never per block.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "workload/source.hpp"

namespace servegrid::engine {

class PrefixCache {
 public:
  struct Node;
  /// What one sequence holds: blocks of the shared stream, then of its own.
  struct Hold {
    Node* shared = nullptr;
    Node* own = nullptr;
    std::int64_t shared_blocks = 0, own_blocks = 0;
    [[nodiscard]] std::int64_t blocks() const { return shared_blocks + own_blocks; }
  };
  struct Match {
    std::int64_t shared = 0, own = 0;
    std::int64_t active = 0;  // of them, blocks that a running sequence holds anyway
    [[nodiscard]] std::int64_t blocks() const { return shared + own; }
  };

  explicit PrefixCache(std::int64_t block_tokens);
  ~PrefixCache();

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
  /// Lets go; returns the blocks that are idle from now on (own chain first, tail first).
  std::int64_t release(Hold& hold);
  /// Idle blocks that nobody can find but that take their turn in the LRU order.
  void add_anonymous(std::int64_t blocks);
  /// Evicts exactly `blocks` idle blocks, least recently freed first, from the tail of each run.
  void evict(std::int64_t blocks);

  [[nodiscard]] std::int64_t idle() const { return idle_; }

 private:
  struct Extent;
  struct Claim {
    std::int64_t activated = 0, duplicates = 0;
  };
  [[nodiscard]] Node* find(workload::StreamId stream) const;
  Node& find_or_create(workload::StreamId stream, workload::StreamId parent, std::int64_t branch);
  [[nodiscard]] std::int64_t branch_of(const workload::Request& request) const;
  [[nodiscard]] Node* own_chain(const workload::Request& request) const;
  bool claim(Node& node, std::int64_t& held, std::int64_t target, bool adopt, Claim& claim);
  bool publish_impl(Hold& hold, const workload::Request& request, std::int64_t blocks, bool adopt,
                    Claim& claim);
  std::int64_t raise(Node& node, std::int64_t from, std::int64_t to);
  std::int64_t lower(Node& node, std::int64_t from);
  std::int32_t new_extent(Node* node, std::int64_t begin, std::int64_t end);
  void drop_extent(std::int32_t e);

  std::int64_t block_tokens_;
  std::int64_t idle_ = 0;
  std::unordered_map<workload::StreamId, std::unique_ptr<Node>> nodes_;  // looked up, not iterated
  std::vector<Extent> extents_;
  std::vector<std::int32_t> unused_;
  std::int32_t oldest_ = -1, newest_ = -1;
};

}  // namespace servegrid::engine
