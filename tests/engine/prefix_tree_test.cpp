// The tree of extents against a cache of single blocks: the same finds and the same evictions.
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <catch2/catch.hpp>
#include <deque>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "engine/prefix_cache.hpp"

using namespace servegrid;
using engine::Eviction;
using engine::PrefixCache;

namespace {

/// vLLM's block pool, block by block: a block is known by its stream and place; free ones wait in
/// the order in which they were freed, the tail of a sequence first.
class Blocks {
 public:
  using Id = std::pair<workload::StreamId, std::int64_t>;

  std::int64_t match(const std::vector<Id>& path, std::int64_t limit) const {
    std::int64_t n = 0;
    while (n < limit && n < static_cast<std::int64_t>(path.size()) &&
           known_.count(path[static_cast<std::size_t>(n)]) != 0) {
      ++n;
    }
    return n;
  }
  void hold(const std::vector<Id>& path, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      Entry& e = known_[path[static_cast<std::size_t>(i)]];
      if (e.holders++ == 0 && e.queued) {
        free_.erase(e.place);
        e.queued = false;
      }
    }
  }
  void release(const std::vector<Id>& path, std::int64_t blocks) {
    for (std::int64_t i = blocks; i-- > 0;) {
      Entry& e = known_[path[static_cast<std::size_t>(i)]];
      if (--e.holders > 0) continue;
      e.place = free_.insert(free_.end(), path[static_cast<std::size_t>(i)]);
      e.queued = true;
    }
  }
  void evict(std::int64_t blocks) {
    for (; blocks > 0; --blocks) {
      known_.erase(free_.front());
      free_.pop_front();
    }
  }
  [[nodiscard]] std::int64_t idle() const { return static_cast<std::int64_t>(free_.size()); }

 private:
  struct Entry {
    std::int64_t holders = 0;
    bool queued = false;
    std::list<Id>::iterator place;
  };
  std::map<Id, Entry> known_;
  std::list<Id> free_;
};

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : rng_(seed) {}
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return boost::random::uniform_int_distribution<std::int64_t>(low, high)(rng_);
  }

 private:
  boost::random::mt19937 rng_;
};

struct Chain {
  workload::Fork fork;
  workload::StreamId stream = 0;
};

/// A random tree of streams; block size 2 and forks at any token, also inside a block.
std::deque<Chain> random_tree(Dice& d) {
  std::deque<Chain> chains;
  for (workload::StreamId s = 0; s < 12; ++s) {
    Chain c;
    c.stream = s;
    if (s > 0 && d.in(0, 4) > 0) {
      const Chain& parent = chains[static_cast<std::size_t>(d.in(0, s - 1))];
      c.fork.stream = parent.stream;
      c.fork.tokens = parent.fork.tokens + d.in(1, 9);
      c.fork.parent = parent.fork.tokens > 0 ? &parent.fork : nullptr;
    }
    chains.push_back(c);
  }
  return chains;
}

constexpr std::int64_t block = 2;

std::vector<Blocks::Id> path_of(const workload::Request& r, std::int64_t blocks) {
  std::vector<Blocks::Id> path;
  for (std::int64_t i = 0; i < blocks; ++i) {
    // The stream of the block's last token.
    const std::int64_t token = (i + 1) * block - 1;
    workload::StreamId stream = r.stream;
    for (const workload::Fork* f = r.fork; f != nullptr && token < f->tokens; f = f->parent) {
      stream = f->stream;
    }
    path.emplace_back(stream, i);
  }
  return path;
}

}  // namespace

TEST_CASE("a tree of extents is a cache of blocks", "[prefix]") {
  struct Running {
    workload::Request request;
    PrefixCache::Hold hold;
    std::vector<Blocks::Id> path;
    std::int64_t published = 0;
  };
  std::int64_t hits = 0, evictions = 0;
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    Dice d(seed);
    PrefixCache cache(block);
    Blocks model;
    const std::deque<Chain> chains = random_tree(d);
    std::vector<Running> running;
    INFO("seed " << seed);
    for (int step = 0; step < 60; ++step) {
      const auto what = d.in(0, 9);
      if (what < 5) {
        const Chain& c = chains[static_cast<std::size_t>(d.in(0, 11))];
        Running r;
        r.request.stream = c.stream;
        r.request.fork = c.fork.tokens > 0 ? &c.fork : nullptr;
        const std::int64_t blocks = (c.fork.tokens + d.in(1, 20)) / block;
        r.path = path_of(r.request, blocks);
        const auto match = cache.match(r.request, blocks);
        REQUIRE(match.blocks() == model.match(r.path, blocks));
        hits += match.blocks();
        const std::int64_t before = model.idle();
        model.hold(r.path, 0, match.blocks());
        REQUIRE(cache.acquire(r.hold, r.request, match) == before - model.idle());
        cache.publish(r.hold, r.request, blocks);
        r.published = r.hold.blocks();
        model.hold(r.path, match.blocks(), r.published);
        running.push_back(std::move(r));
      } else if (what < 8 && !running.empty()) {
        const auto i =
            static_cast<std::size_t>(d.in(0, static_cast<std::int64_t>(running.size()) - 1));
        Running& r = running[i];
        const std::int64_t before = model.idle();
        model.release(r.path, r.published);
        REQUIRE(cache.release(r.hold) == model.idle() - before);
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      } else if (model.idle() > 0) {
        const std::int64_t blocks = d.in(1, std::min<std::int64_t>(4, model.idle()));
        REQUIRE(cache.evict(blocks) == blocks);
        model.evict(blocks);
        evictions += blocks;
      }
      REQUIRE(cache.idle() == model.idle());
    }
  }
  CHECK(hits > 10000);
  CHECK(evictions > 5000);
}

TEST_CASE("a radix tree gives up whole runs", "[prefix]") {
  PrefixCache cache(1, Eviction::runs);
  workload::Request a, b;
  a.stream = 1;
  b.stream = 2;
  PrefixCache::Hold ha, hb;
  cache.publish(ha, a, 10);
  cache.release(ha);
  cache.publish(hb, b, 4);
  cache.release(hb);
  CHECK(cache.evict(3) == 10);
  CHECK(cache.match(a, 99).blocks() == 0);
  CHECK(cache.match(b, 99).blocks() == 4);
}

TEST_CASE("a prefix stays as long as what branches off it is held", "[prefix]") {
  PrefixCache cache(1);
  workload::Fork fork{1, 6, nullptr};
  workload::Request root, leaf;
  root.stream = 1;
  leaf.stream = 2;
  leaf.fork = &fork;
  PrefixCache::Hold a, b;
  cache.publish(a, root, 10);
  CHECK(cache.release(a) == 10);
  CHECK(cache.match(leaf, 99).blocks() == 6);
  CHECK(cache.acquire(b, leaf, cache.match(leaf, 99)) == 6);
  cache.publish(b, leaf, 9);
  CHECK(cache.idle() == 4);  // what the root has beyond the fork
  CHECK(cache.evict(4) == 4);
  CHECK(cache.match(root, 99).blocks() == 6);
  CHECK(cache.release(b) == 9);
  CHECK(cache.evict(3) == 3);  // the leaf's own go first
  CHECK(cache.match(leaf, 99).blocks() == 6);
}
