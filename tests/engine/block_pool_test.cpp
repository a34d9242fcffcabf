// The pool and the prefix cache: what is found, what is evicted first.
#include "engine/block_pool.hpp"

#include <catch2/catch.hpp>

#include "units/error.hpp"

using namespace servegrid;
using engine::BlockPool;
using engine::PrefixCache;

namespace {

workload::Request of_stream(workload::StreamId stream, workload::StreamId shared = -1,
                            std::int64_t prefix = 0) {
  workload::Request r;
  r.stream = stream;
  r.shared_stream = shared;
  r.shared_prefix = prefix;
  return r;
}

/// A sequence of `blocks` full blocks that comes and goes.
void visit(BlockPool& pool, const workload::Request& r, std::int64_t blocks) {
  PrefixCache::Hold hold;
  const auto match = pool.match(r, blocks);
  pool.acquire(hold, r, match);
  pool.allocate(blocks - match.blocks());
  pool.publish(hold, r, blocks);
  pool.release(hold, r, blocks, blocks, true);
}

}  // namespace

TEST_CASE("least recently freed first, from the tail") {
  BlockPool pool(10, 1, true, true);
  visit(pool, of_stream(1), 4);
  visit(pool, of_stream(2), 4);
  CHECK(pool.used() == 0);
  CHECK(pool.match(of_stream(1), 99).blocks() == 4);
  pool.allocate(3);  // 2 blank, then the last block of stream 1
  CHECK(pool.match(of_stream(1), 99).blocks() == 3);
  CHECK(pool.match(of_stream(2), 99).blocks() == 4);
  PrefixCache::Hold hold;
  pool.acquire(hold, of_stream(1), pool.match(of_stream(1), 2));
  CHECK(pool.free() == 5);
  pool.allocate(1);  // the idle third block of stream 1 is the oldest
  CHECK(pool.match(of_stream(1), 99).blocks() == 2);
  pool.allocate(4);
  CHECK(pool.match(of_stream(2), 99).blocks() == 0);
  CHECK(pool.match(of_stream(1), 99).blocks() == 2);
  CHECK(pool.free() == 0);
  CHECK_THROWS_AS(pool.allocate(1), RunError);
}

TEST_CASE("a shared prefix outlives the streams on it and is held once") {
  BlockPool pool(12, 2, true, true);
  const auto a = of_stream(1, 50, 5), b = of_stream(2, 50, 5);  // two whole blocks are shared
  PrefixCache::Hold ha, hb;
  pool.allocate(4);
  pool.publish(ha, a, 4);
  CHECK(pool.match(b, 99).blocks() == 2);
  CHECK(pool.match(b, 99).active == 2);
  pool.acquire(hb, b, pool.match(b, 99));
  pool.allocate(3);
  pool.publish(hb, b, 5);
  CHECK(pool.used() == 7);
  pool.release(ha, a, 4, 4, true);
  CHECK(pool.used() == 5);
  CHECK(pool.match(a, 99).blocks() == 4);
  CHECK(pool.match(a, 99).active == 2);
  pool.release(hb, b, 5, 5, true);
  pool.allocate(7);  // 5 blank, then stream 1's two
  CHECK(pool.match(a, 99).blocks() == 2);
  CHECK(pool.match(b, 99).blocks() == 5);
  pool.allocate(3);  // stream 2's own, freed before the prefix
  CHECK(pool.match(b, 99).blocks() == 2);
}

TEST_CASE("a stream on another prefix is another sequence") {
  BlockPool pool(20, 1, true, true);
  visit(pool, of_stream(1, 50, 3), 6);
  CHECK(pool.match(of_stream(1, 50, 3), 99).blocks() == 6);
  CHECK(pool.match(of_stream(1, 50, 2), 99).blocks() == 2);
  CHECK(pool.match(of_stream(1), 99).blocks() == 0);
}

TEST_CASE("copies of what another published first") {
  const auto stay = GENERATE(true, false);
  BlockPool pool(20, 1, true, stay);
  const auto r = of_stream(1);
  visit(pool, of_stream(2), 2);
  PrefixCache::Hold first, second;
  pool.allocate(4);
  pool.allocate(6);
  pool.publish(first, r, 4);
  pool.publish(second, r, 4);  // not its blocks: the chain has them
  CHECK(second.blocks() == 0);
  pool.release(second, r, 6, 6, true);  // two more than the chain had join it
  CHECK(pool.match(r, 99).blocks() == 6);
  CHECK(pool.match(r, 99).active == 4);
  pool.release(first, r, 4, 4, true);
  CHECK(pool.used() == 0);
  // Copies that stay take their turn in the LRU order, after stream 2; others are blank at once.
  pool.allocate(12);
  CHECK(pool.match(of_stream(2), 99).blocks() == (stay ? 0 : 2));
  CHECK(pool.match(r, 99).blocks() == 6);
  pool.allocate(3);
  CHECK(pool.match(r, 99).blocks() == 5);
}

TEST_CASE("without prefix caching nothing is found") {
  BlockPool pool(10, 1, false, true);
  visit(pool, of_stream(1), 4);
  CHECK(pool.match(of_stream(1), 99).blocks() == 0);
  CHECK(pool.allocated() == 4);
  CHECK(pool.freed() == 4);
}
