#include "workload/hash_streams.hpp"

#include <algorithm>

#include "workload/sources.hpp"

namespace servegrid::workload {

std::int64_t HashStreams::place(const std::vector<std::int64_t>& ids, Request& request) {
  const auto count = static_cast<std::int64_t>(ids.size());
  if (count == 0) return 0;
  const auto id = [&](std::int64_t i) { return ids[static_cast<std::size_t>(i)]; };
  std::int64_t known = 0, before = -1;
  std::size_t chain = 0;
  for (; known < count; ++known) {
    const auto it = places_.find(id(known));
    if (it == places_.end()) break;
    if (it->second.block != known || it->second.before != before) {
      ++contradictions_;
      break;
    }
    chain = it->second.chain;
    before = id(known);
  }
  std::int64_t last = known;
  // New ids go on where the chain ends, or branch off.
  if (known < count && places_.find(id(known)) == places_.end()) {
    if (known == 0 || chains_[chain].length != known) {
      const Fork* parent =
          known > 0 && chains_[chain].fork.tokens > 0 ? &chains_[chain].fork : nullptr;
      const StreamId stream = first_stream + static_cast<StreamId>(chain);
      chain = chains_.size();
      chains_.emplace_back();
      if (known > 0) chains_.back().fork = {stream, known * block_tokens_, parent};
    }
    for (; last < count; ++last) {
      const auto [it, is_new] = places_.try_emplace(id(last), Place{chain, last, before});
      if (!is_new) {
        ++contradictions_;
        break;
      }
      before = id(last);
    }
    chains_[chain].length = last;
  }
  if (last == 0) return 0;
  request.stream = first_stream + static_cast<StreamId>(chain);
  request.fork = chains_[chain].fork.tokens > 0 ? &chains_[chain].fork : nullptr;
  request.stream_tokens = std::min(last * block_tokens_, request.prompt_tokens);
  return known;
}

}  // namespace servegrid::workload
