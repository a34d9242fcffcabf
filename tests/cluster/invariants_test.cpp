// Each invariant is seen to break when it is broken.
#include "cluster/invariants.hpp"

#include <catch2/catch.hpp>

#include "units/error.hpp"

using namespace servegrid;
using cluster::Invariants;

namespace {

Invariants two_replicas(bool by_priority = false) {
  engine::ReplicaConfig config;
  config.policy = catalog::Policy::vllm_v1;
  config.knobs.max_num_seqs = 4;
  config.knobs.max_num_batched_tokens = 100;
  config.knobs.by_priority = by_priority;
  config.pool = {50, 16, 0};
  return Invariants({config, config});
}

workload::Request request(std::int64_t id, int priority = 0) {
  workload::Request r;
  r.id = id;
  r.priority = priority;
  return r;
}

metrics::Epoch epoch(std::int64_t running, std::int64_t prefill) {
  metrics::Epoch e;
  e.steps = 1;
  e.running = running;
  e.sequences = std::min<std::int64_t>(running, 2);
  e.prefill_tokens = prefill;
  e.first_step = 10;
  return e;
}

template <typename F>
void breaks(const char* invariant, F run) {
  CHECK_THROWS_WITH(run(), Catch::Contains(std::string("invariant '") + invariant + "'"));
}

}  // namespace

TEST_CASE("time that goes back is seen", "[invariants]") {
  Invariants watch = two_replicas();
  watch.event(10);
  CHECK_NOTHROW(watch.event(10));
  breaks("no time travel", [&] { watch.event(9); });
  metrics::Epoch e = epoch(1, 0);
  e.first_step = -1;
  breaks("no time travel", [&] { watch.epoch(e); });
}

TEST_CASE("first come, first served, within a class and a replica", "[invariants]") {
  Invariants watch = two_replicas();
  for (std::int64_t id = 0; id < 3; ++id) watch.sent(0, request(id));
  watch.sent(1, request(3));
  watch.scheduled(1, 3);  // another replica's queue
  watch.scheduled(0, 1);
  breaks("first come, first served", [&] { watch.scheduled(0, 0); });
  breaks("requests", [&] { watch.scheduled(0, 1); });  // twice
  breaks("requests", [&] { watch.scheduled(1, 2); });  // where it was not sent

  Invariants classes = two_replicas(true);
  classes.sent(0, request(0, 5));
  classes.sent(0, request(1, 1));
  classes.scheduled(0, 1);
  CHECK_NOTHROW(classes.scheduled(0, 0));
}

TEST_CASE("queues, batch and pool have their limits", "[invariants]") {
  Invariants watch = two_replicas();
  CHECK_NOTHROW(watch.state(0, {4, 100, 50, 10}));
  breaks("no negative queue", [&] { watch.state(0, {1, -1, 1, 1}); });
  breaks("batch never exceeded", [&] { watch.state(0, {5, 0, 1, 1}); });
  breaks("pool never exceeded", [&] { watch.state(1, {1, 0, 51, 1}); });
  CHECK_NOTHROW(watch.epoch(epoch(4, 98)));
  breaks("batch never exceeded", [&] { watch.epoch(epoch(4, 99)); });
  breaks("batch never exceeded", [&] { watch.epoch(epoch(5, 10)); });
}

TEST_CASE("a link carries no more than its rate", "[invariants]") {
  const Ticks second = to_ticks(1);
  Invariants watch = two_replicas();
  // Two at once over a link of 1 GB/s: 2 GB take two seconds, whichever ends first.
  for (const std::int64_t id : {1, 2}) watch.flow_begun(id, 0, 1'000'000'000, {{0, 1e9}, {1, 4e9}});
  CHECK_NOTHROW(watch.flow_over(1, 2 * second));
  CHECK_NOTHROW(watch.flow_over(2, 2 * second));
  breaks("flows", [&] { watch.flow_over(2, 2 * second); });
  for (const std::int64_t id : {3, 4}) {
    watch.flow_begun(id, 10 * second, 1'000'000'000, {{0, 1e9}});
  }
  CHECK_NOTHROW(watch.flow_over(3, 11 * second));
  breaks("link never exceeded", [&] { watch.flow_over(4, 11 * second + second / 2); });
}
