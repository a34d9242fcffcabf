// A valid scenario from any bytes, and a run of it with every invariant on: what the fuzz target
// `scenario` and the test over random bytes share. No SimGrid: transfers go over one link.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cluster/driver.hpp"
#include "pools.hpp"
#include "units/error.hpp"

namespace from_bytes {

using servegrid::Ticks;
using servegrid::to_ticks;
using servegrid::catalog::Policy;
using servegrid::catalog::Scenario;
using servegrid::catalog::WorkloadSpec;
using Kind = WorkloadSpec::Kind;

/// Choices from bytes: zero when they have run out.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  std::int64_t in(std::int64_t low, std::int64_t high) {
    const auto range = static_cast<std::uint64_t>(high - low) + 1;
    std::uint64_t value = 0;
    for (std::uint64_t most = 1; most < range; most <<= 8) value = value << 8 | byte();
    return low + static_cast<std::int64_t>(value % range);
  }
  bool one_in(std::int64_t n) { return in(1, n) == n; }
  double times(double unit, std::int64_t low, std::int64_t high) {
    return unit * static_cast<double>(in(low, high));
  }
  template <class T>
  T of(std::initializer_list<T> values) {
    return *(values.begin() + in(0, static_cast<std::int64_t>(values.size()) - 1));
  }

 private:
  std::uint64_t byte() { return at_ < size_ ? data_[at_++] : 0; }
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

struct Case {
  Scenario scenario;
  std::int64_t blocks = 0, fixed_blocks = 0;
  double step = 0, per_token = 0;
  bool records = true;
  std::int64_t max_events = 0;
};

inline void workload(Bytes& b, double step, WorkloadSpec& w) {
  w.kind = b.of({Kind::closed, Kind::open, Kind::conversations, Kind::batch});
  w.concurrent = b.in(1, 12);
  w.requests = b.in(1, 60);
  w.prompt = toy::uniform(1, static_cast<double>(b.in(1, 90)));
  w.turn_input = toy::uniform(1, static_cast<double>(b.in(1, 25)));
  w.output = toy::uniform(1, static_cast<double>(b.in(1, 60)));
  w.history = b.in(0, 40);
  w.turns = b.in(1, 5);
  w.shared_prefix = b.one_in(3) ? b.in(1, 40) : 0;
  w.think_time = b.one_in(3) ? 0 : b.times(step, 1, 20);
  w.think_exponential = b.one_in(4);
  w.rate = w.kind == Kind::open ? b.times(0.1, 1, 200) : 0;
  if (w.kind == Kind::closed && b.one_in(4)) w.ramp_up = b.times(step, 1, 100);
  using Process = servegrid::catalog::ArrivalSpec::Process;
  w.arrivals.process = b.of({Process::poisson, Process::gamma, Process::constant});
  w.arrivals.burstiness = b.times(0.25, 1, 8);
  if (w.kind == Kind::open && b.one_in(4)) {
    w.arrivals.on = b.times(0.5, 1, 8);
    w.arrivals.off = b.times(0.5, 1, 8);
  }
  for (std::int64_t n = b.one_in(3) ? b.in(1, 3) : 0; n > 0; --n) {
    servegrid::catalog::ClassSpec c;
    static_cast<servegrid::catalog::RequestSpec&>(c) = w;
    c.name = "class-" + std::to_string(n);
    c.tenant = b.one_in(2) ? "one" : "other";
    c.share = b.times(0.5, 1, 4);
    c.priority = static_cast<int>(b.in(0, 2));
    c.timeout = b.one_in(3) ? b.times(step, 1, 400) : 0;
    w.classes.push_back(c);
  }
  if (b.one_in(6)) w.duration = b.times(step, 1, 500);
  if (b.one_in(8)) w.precision = 0.1;
  if (b.one_in(6)) w.warmup_fraction = 0.2;
}

inline void knobs(Bytes& b, Scenario& s) {
  s.engine.policy = b.of({Policy::vllm_v1, Policy::sglang, Policy::trtllm, Policy::vllm_v0,
                          Policy::sarathi, Policy::orca, Policy::static_batch, Policy::atom});
  auto& k = s.knobs;
  k.block_size = b.one_in(4) ? 1 : b.in(2, 16);
  k.max_num_seqs = b.in(1, 16);
  k.max_num_batched_tokens = b.in(16, 512);
  k.enable_prefix_caching = !b.one_in(4);
  k.enable_chunked_prefill = !b.one_in(5);
  k.long_prefill_token_threshold = b.one_in(5) ? b.in(1, 20) : 0;
  k.reserve_full_isl = !b.one_in(4);
  k.watermark = b.one_in(4) ? 0.1 : 0.0;
  const bool reserves = s.engine.policy == Policy::orca || s.engine.policy == Policy::static_batch;
  k.max_model_len = reserves || b.one_in(3) ? b.in(40, 200) : 0;
  k.max_prefill_tokens = b.in(16, 512);
  k.schedule_conservativeness = b.one_in(2) ? 1.0 : 0.3;
  k.guaranteed_no_evict = b.one_in(2);
  k.stream_interval = b.one_in(4) ? b.in(2, 10) : 1;
  const bool v1 = s.engine.policy == Policy::vllm_v1 || s.engine.policy == Policy::sglang;
  k.by_priority = v1 && b.one_in(3);
  k.longest_prefix = !k.by_priority && b.one_in(3);
  if (s.engine.policy == Policy::sarathi || reserves) k.enable_prefix_caching = false;
  if (v1 && b.one_in(5)) s.parallel.dp = static_cast<int>(b.in(2, 3));
  if (v1 && b.one_in(6)) s.parallel.pp = static_cast<int>(b.in(2, 3));
}

inline servegrid::catalog::FaultSpec::Event fault(Bytes& b, std::int64_t replicas) {
  servegrid::catalog::FaultSpec::Event e;
  e.at = b.times(0.05, 0, 400);
  e.index = static_cast<int>(b.in(0, replicas - 1));
  e.duration = b.one_in(4) ? 0 : b.times(0.1, 1, 60);
  if (b.one_in(3)) e.slowdown = b.times(0.25, 5, 16);
  return e;
}

inline void cluster(Bytes& b, Scenario& s) {
  using servegrid::catalog::PoolRole;
  if (!b.one_in(2)) return;
  servegrid::catalog::ClusterSpec spec;
  const auto some = [&] { return static_cast<int>(b.in(1, 3)); };
  const Policy p = s.engine.policy;
  const bool hands_over = p == Policy::vllm_v1 || p == Policy::sglang || p == Policy::trtllm;
  switch (b.in(0, hands_over ? 2 : 1)) {
    case 1:
      spec.pools = {toy::pool(s, "a", PoolRole::serve, some()),
                    toy::pool(s, "b", PoolRole::serve, some())};
      break;
    case 2:
      spec.pools = {toy::pool(s, "prefill", PoolRole::prefill, some()),
                    toy::pool(s, "decode", PoolRole::decode, some())};
      spec.transfer.layer_wise = b.one_in(2);
      spec.router.decode = b.of({"least-kv", "round-robin", "least-outstanding"});
      break;
    default:
      break;
  }
  for (auto& pool : spec.pools) pool.parallel = s.parallel;
  std::int64_t replicas = 0;
  for (const auto& pool : spec.pools) replicas += pool.replicas;
  if (spec.pools.empty()) replicas = s.replicas;
  for (std::int64_t n = b.one_in(2) ? b.in(1, 3) : 0; n > 0; --n) {
    spec.faults.events.push_back(fault(b, replicas));
  }
  if (b.one_in(3)) {
    spec.faults.mttf = b.times(1, 20, 100);
    spec.faults.mttr = b.times(1, 1, 5);
  }
  spec.faults.attempts = static_cast<int>(b.in(1, 4));
  spec.faults.retry_delay = b.times(0.1, 0, 10);
  spec.operations.warm_up = b.one_in(2) ? 0 : b.times(0.1, 1, 30);
  spec.operations.cold_start = b.one_in(4);
  if (b.one_in(4)) spec.operations.rolling_restart = {b.times(0.1, 0, 100), b.times(0.1, 0, 50)};
  if (b.one_in(4) && spec.pools.empty()) {
    servegrid::catalog::AutoscaleSpec a;
    a.low_replicas = static_cast<int>(b.in(1, s.replicas));
    a.high_replicas = s.replicas;
    a.by_kv = b.one_in(2);
    a.above = a.by_kv ? 0.7 : 2;
    a.below = a.by_kv ? 0.2 : 0.25;
    a.interval = b.times(0.1, 1, 20);
    a.delay = b.times(0.1, 0, 20);
    spec.operations.autoscale = {a};
  }
  toy::set(s, spec);
}

inline Case case_of(const std::uint8_t* data, std::size_t size) {
  Bytes b(data, size);
  Case c;
  Scenario& s = c.scenario;
  s = toy::small_servers(Kind::closed);
  s.workload = {};
  s.seed = static_cast<std::uint64_t>(b.in(1, 255));
  c.step = 1.0 / static_cast<double>(std::int64_t{1} << b.in(4, 8));
  c.per_token = b.one_in(2) ? 0 : 1.0 / static_cast<double>(std::int64_t{1} << b.in(12, 24));
  knobs(b, s);
  s.replicas = static_cast<int>(b.in(1, 5));
  s.router = b.of({"round-robin", "random", "least-outstanding", "least-kv", "session-affinity",
                   "power-of-two", "prefix-aware", "vllm-dp"});
  c.blocks = (b.in(60, 500) / s.knobs.block_size + 4) * s.parallel.dp;
  c.fixed_blocks = b.one_in(6) ? 1 : 0;
  workload(b, c.step, s.workload);
  cluster(b, s);
  c.records = !b.one_in(8);
  c.max_events = b.one_in(4) ? b.in(1, 250) : 0;
  return c;
}

/// Flows one after the other over one link.
inline servegrid::metrics::RunResult run(const Case& c, bool leap, std::int64_t most_events) {
  namespace sg = servegrid;
  static constexpr double rate = 1e9;  // [B/s]
  const toy::Steps steps(c.step, c.per_token);
  sg::cluster::RunOptions options;
  options.leap = leap;
  options.check_events = true;
  options.requests = c.records;
  options.limits.events = most_events;
  sg::cluster::PoolModel model = toy::model(steps, c.blocks);
  model.blocks_fixed = c.fixed_blocks;
  const std::size_t pools = sg::catalog::pools_of(c.scenario).size();
  sg::cluster::Driver driver(c.scenario, std::vector<sg::cluster::PoolModel>(pools, model),
                             options);
  driver.set_links([](int, int) { return sg::cluster::Invariants::Links{{0, rate}}; });
  std::multimap<Ticks, std::int64_t> ends;
  Ticks link_free = 0;
  for (;;) {
    const Ticks next = driver.next_event();
    for (const sg::cluster::Flow& flow : driver.take_flows()) {
      link_free =
          std::max(driver.now(), link_free) + to_ticks(static_cast<double>(flow.bytes) / rate);
      ends.emplace(link_free, flow.id);
    }
    if (!ends.empty() && ends.begin()->first <= next) {
      driver.flow_over(ends.begin()->second, ends.begin()->first);
      ends.erase(ends.begin());
    } else if (next == sg::cluster::no_event) {
      break;
    } else {
      driver.run(1, ends.empty() ? sg::cluster::no_event : ends.begin()->first);
    }
  }
  return driver.take_result();
}

/// What became of the bytes.
enum class Lived { refused, whole, partial };

inline constexpr std::int64_t most_events = 200'000;

/// Runs it with every invariant, with leaps and without; throws RunError when something is broken
/// or the two differ.
inline Lived live(const std::uint8_t* data, std::size_t size) {
  const Case c = case_of(data, size);
  try {
    const auto leap = run(c, true, c.max_events > 0 ? c.max_events : most_events);
    if (!leap.partial.empty()) return Lived::partial;
    const auto step = run(c, false, most_events);
    if (step.partial.empty() && toy::text(leap) != toy::text(step))
      throw servegrid::RunError("leaps and steps differ");
    return Lived::whole;
  } catch (const servegrid::InputError&) {
    return Lived::refused;
  }
}

}  // namespace from_bytes
