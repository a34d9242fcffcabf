// Chains of hash ids as streams: every id follows one other, so that the ids of a trace are a tree;
// its first-seen paths become streams, which branch where another request went on differently.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "workload/source.hpp"

namespace servegrid::workload {

class HashStreams {
 public:
  explicit HashStreams(std::int64_t block_tokens) : block_tokens_(block_tokens) {}

  /// Gives the request the stream of its blocks. What comes after the last block (and all that is
  /// generated) is found by nobody. Returns how many of the ids were known before. Memory grows
  /// with the number of different ids.
  std::int64_t place(const std::vector<std::int64_t>& ids, Request& request);
  /// Requests whose ids contradict the tree: an id that once followed another one. They share what
  /// comes before it.
  [[nodiscard]] std::int64_t contradictions() const { return contradictions_; }

 private:
  struct Chain {
    Fork fork;                // where it branches off; tokens 0: a root
    std::int64_t length = 0;  // blocks up to its end, from the root
  };
  struct Place {
    std::size_t chain;
    std::int64_t block;   // from the root
    std::int64_t before;  // the id in front of it
  };
  std::int64_t block_tokens_, contradictions_ = 0;
  std::deque<Chain> chains_;  // stable addresses
  std::unordered_map<std::int64_t, Place> places_;
};

}  // namespace servegrid::workload
