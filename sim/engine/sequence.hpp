// One request inside a replica.
#pragma once

#include <cstdint>

#include "engine/prefix_cache.hpp"
#include "workload/source.hpp"

namespace servegrid::engine {

using Slot = std::int32_t;

struct Sequence {
  workload::Request request;
  PrefixCache::Hold hold;
  Ticks submitted = 0;
  Ticks delay = 0;               // from a step's end to the client: every token's, set by the first
  Ticks first_token = 0;         // as reported
  std::int64_t generated = 0;    // tokens, while not decoding
  std::int64_t computed = 0;     // tokens with KV, while prefilling
  std::int64_t loaded = 0;       // tokens whose KV came with it and is not in blocks of its own yet
  std::int64_t blocks = 0;       // held for tokens, while prefilling
  std::int64_t offset = 0;       // decoding: tokens = offset + step counter
  std::int64_t order = 0;        // of admission
  std::int64_t seen_prompt = 0;  // prompt tokens computed or found once already
  std::uint32_t version = 0;     // heap entries of an older version are void
  std::uint8_t saturated = 0;    // bit c: window class c is full; bit 7: remainder below the clip
  bool decoding = false, scheduled = false;
  Slot previous = -1, next = -1;  // running, in order of admission
  [[nodiscard]] std::int64_t tokens() const { return request.prompt_tokens + generated; }
};

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace servegrid::engine
