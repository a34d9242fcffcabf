#include "engine/sglang_order.hpp"

#include <algorithm>
#include <map>

namespace servegrid::engine {
namespace {

// IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD and ..._DEPRIORITIZE_THRESHOLD [tokens]
constexpr std::int64_t little_cached = 32, much_shared = 32;

/// The prompts of the queue so far, as the tokens of each stream that one of them holds.
class Prompts {
 public:
  [[nodiscard]] std::int64_t common(const Sequence& s) const {
    const auto within = [](const auto& map, workload::StreamId stream, std::int64_t tokens) {
      const auto found = map.find(stream);
      return found == map.end() ? 0 : std::min(found->second, tokens);
    };
    const workload::Request& r = s.request;
    const std::int64_t shared = within(shared_, r.shared_stream, r.shared_prefix);
    return r.stream < 0 ? shared : std::max(shared, within(own_, r.stream, s.tokens()));
  }
  void add(const Sequence& s) {
    const workload::Request& r = s.request;
    if (r.stream >= 0) raise(own_[r.stream], s.tokens());
    if (r.shared_prefix > 0) raise(shared_[r.shared_stream], r.shared_prefix);
  }

 private:
  static void raise(std::int64_t& value, std::int64_t to) { value = std::max(value, to); }
  std::map<workload::StreamId, std::int64_t> own_, shared_;
};

}  // namespace

std::vector<Slot> by_longest_prefix(const State& state) {
  struct Place {
    std::int64_t cached;
    Slot slot;
  };
  std::vector<Place> first, last;
  Prompts prompts;
  for (const Slot slot : state.waiting) {
    const Sequence& s = state[slot];
    const std::int64_t cached = state.match(s).blocks() * state.config.pool.block_tokens;
    const bool defer = cached <= little_cached && prompts.common(s) >= much_shared;
    if (cached <= little_cached && !defer) prompts.add(s);
    (defer ? last : first).push_back({cached, slot});
  }
  std::stable_sort(first.begin(), first.end(),
                   [](const Place& a, const Place& b) { return a.cached > b.cached; });
  std::vector<Slot> order;
  for (const std::vector<Place>* part : {&first, &last}) {
    for (const Place& place : *part) order.push_back(place.slot);
  }
  return order;
}

}  // namespace servegrid::engine
