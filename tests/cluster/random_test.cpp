// Leaps against steps through the whole event loop: routers that look at replicas, clients that
// answer to ends, in random scenarios whose coarse times make ties common.
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <catch2/catch.hpp>

#include "toy.hpp"

using namespace servegrid;
using Kind = catalog::WorkloadSpec::Kind;

namespace {

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : rng_(seed) {}
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return boost::random::uniform_int_distribution<std::int64_t>(low, high)(rng_);
  }
  bool one_in(std::int64_t n) { return in(1, n) == 1; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return *(values.begin() + in(0, static_cast<std::int64_t>(values.size()) - 1));
  }

 private:
  boost::random::mt19937 rng_;
};

struct Random {
  catalog::Scenario scenario;
  std::int64_t num_blocks = 0, fixed_blocks = 0;
  double step = 0, per_token = 0;
};

void random_workload(Dice& d, double step, catalog::WorkloadSpec& w) {
  w.kind = d.of({Kind::closed, Kind::open, Kind::conversations});
  w.concurrent = d.in(1, 12);
  w.requests = d.in(1, 60);
  w.prompt = toy::uniform(1, static_cast<double>(d.in(1, 90)));
  w.turn_input = toy::uniform(1, static_cast<double>(d.in(1, 25)));
  w.output = toy::uniform(1, static_cast<double>(d.in(1, 60)));
  w.history = d.in(0, 40);
  w.turns = d.in(1, 5);
  w.shared_prefix = d.one_in(3) ? d.in(1, 40) : 0;
  // Think times of whole steps put arrivals at the boundaries of other replicas' steps.
  w.think_time = d.one_in(3) ? 0 : static_cast<double>(d.in(1, 20)) * step;
  w.think_exponential = d.one_in(4);
  w.rate = static_cast<double>(d.in(1, 200)) / 10;
}

Random random_scenario(std::uint32_t seed) {
  Dice d(seed);
  Random r;
  catalog::Scenario& s = r.scenario;
  s.seed = seed;
  r.step = 1.0 / static_cast<double>(std::int64_t{1} << d.in(4, 8));
  r.per_token = d.one_in(2) ? 0 : 1.0 / static_cast<double>(std::int64_t{1} << d.in(12, 24));
  using catalog::Policy;
  s.engine.policy =
      d.of({Policy::vllm_v1, Policy::vllm_v1, Policy::sglang, Policy::trtllm, Policy::vllm_v0,
            Policy::sarathi, Policy::orca, Policy::static_batch, Policy::atom});
  s.replicas = static_cast<int>(d.in(1, 5));
  s.router = d.of({"round-robin", "random", "least-outstanding", "least-kv", "session-affinity",
                   "power-of-two"});
  s.gpu.host_bandwidth = 64e9;
  catalog::Knobs& k = s.knobs;
  k.block_size = d.one_in(4) ? 1 : d.in(2, 16);
  k.max_num_seqs = d.one_in(3) ? d.in(1, 4) : 16;
  k.max_num_batched_tokens = d.one_in(2) ? d.in(32, 64) : 512;
  k.enable_prefix_caching = !d.one_in(4);
  k.enable_chunked_prefill = !d.one_in(5);
  k.reserve_full_isl = !d.one_in(4);
  k.watermark = d.one_in(4) ? 0.1 : 0.0;
  const bool reserves = s.engine.policy == Policy::orca || s.engine.policy == Policy::static_batch;
  k.max_model_len = reserves || d.one_in(3) ? 150 : 0;
  k.max_prefill_tokens = d.in(64, 512);
  k.schedule_conservativeness = d.one_in(2) ? 1.0 : 0.3;
  k.guaranteed_no_evict = d.one_in(2);
  k.stream_interval = d.one_in(4) ? d.in(2, 10) : 1;
  r.num_blocks = d.in(60, 500) / k.block_size + 4;
  r.fixed_blocks = d.one_in(6) ? 1 : 0;
  random_workload(d, r.step, s.workload);
  return r;
}

std::string all_ticks(const metrics::RunResult& result) {
  std::string text = toy::text(result);  // what people see, and all bits of the times
  const auto add = [&text](Ticks t) { text.append(reinterpret_cast<const char*>(&t), sizeof t); };
  for (const auto& r : result.requests) {
    for (const Ticks t : {r.arrival, r.scheduled, r.first_token, r.finish}) add(t);
    add(r.generated_tokens);
  }
  for (const auto& e : result.timeline) {
    for (const Ticks t : {e.start, e.first_step, e.step_growth}) add(t);
  }
  const auto& c = result.counters;
  for (const std::int64_t n :
       {c.completed, c.rejected, c.aborted, c.preemptions, c.steps, c.blocks_allocated,
        c.tokens_recomputed, c.prefix_hits, c.peak_running, c.peak_waiting}) {
    add(n);
  }
  return text;
}

void compare(std::uint32_t first, std::uint32_t last) {
  std::int64_t leaps = 0, steps = 0, preemptions = 0, hits = 0, several = 0;
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    const Random r = random_scenario(seed);
    INFO("seed " << seed << ", " << r.scenario.replicas << " replicas, " << r.scenario.router);
    const toy::Steps times(r.step, r.per_token);
    cluster::RunOptions options;
    const auto leap = cluster::simulate(r.scenario, times, r.num_blocks, r.fixed_blocks, options);
    options.leap = false;
    const auto step = cluster::simulate(r.scenario, times, r.num_blocks, r.fixed_blocks, options);
    REQUIRE(all_ticks(leap) == all_ticks(step));
    leaps += leap.counters.events;
    steps += step.counters.events;
    preemptions += leap.counters.preemptions;
    hits += leap.counters.prefix_hits;
    several += r.scenario.replicas > 1 ? 1 : 0;
  }
  // The scenarios must reach what they are meant to test.
  const auto count = static_cast<std::int64_t>(last - first + 1);
  CHECK(leaps * 2 < steps);
  CHECK(preemptions > count / 10);
  CHECK(hits > 10 * count);
  CHECK(several > count / 2);
}

}  // namespace

TEST_CASE("a leap equals its steps behind every router, in 500 random scenarios", "[leap]") {
  compare(1, 500);
}

// Not part of a plain run: make soak.
TEST_CASE("a leap equals its steps behind every router in 20,000 more", "[.][soak]") {
  compare(100'001, 120'000);
}
