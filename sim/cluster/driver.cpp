#include "cluster/driver.hpp"

#include <algorithm>
#include <utility>

#include "units/error.hpp"

namespace servegrid::cluster {

using workload::Request;
using workload::RequestId;

namespace {

// Each GPU copies its own part of a block over its own PCIe link; 0: no swapping.
engine::SwapSpace swap_of(const catalog::Scenario& scenario, double block_bytes) {
  if (!scenario.knobs.swap_preempted) return {};
  if (block_bytes <= 0 || scenario.gpu.host_bandwidth <= 0) {
    throw InputError("preemption_mode swap: the bandwidth between GPU and host is not known");
  }
  return {static_cast<std::int64_t>(scenario.knobs.swap_space / block_bytes),
          to_ticks(block_bytes / scenario.gpu.host_bandwidth)};
}

}  // namespace

Driver::Driver(const catalog::Scenario& scenario, const roofline::StepTimes& steps,
               std::int64_t num_blocks, std::int64_t blocks_fixed, const RunOptions& options)
    : options_(options), source_(workload::make_source(scenario.workload, scenario.seed)) {
  if (scenario.replicas < 1) throw InputError("replicas must be at least 1");
  const auto count = static_cast<std::size_t>(scenario.replicas);
  fleet_.outstanding.assign(count, 0);
  fleet_.num_blocks = num_blocks;
  fleet_.replicas.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    engine::ReplicaConfig config;
    config.policy = scenario.engine.policy;
    config.knobs = scenario.knobs;
    config.pool = {num_blocks, scenario.knobs.block_size, blocks_fixed};
    config.swap = swap_of(scenario, options.block_bytes);
    config.ranks = scenario.parallel.dp;
    config.stages = scenario.parallel.pp;
    config.pace = engine::pace_of(scenario.speculation, scenario.seed);
    config.index = static_cast<int>(i);
    config.leap = options.leap;
    fleet_.replicas.emplace_back(config, steps, *this);
    heap_.push_back(i);
    place_.push_back(i);
  }
  next_.assign(count, engine::never);
  const CustomPolicies& custom = options_.custom;
  router_ =
      custom.router ? custom.router(fleet_) : make_router(scenario.router, fleet_, scenario.seed);
  if (custom.source) source_ = custom.source(std::move(source_));
  result_.num_blocks = num_blocks;
  if (options_.requests) {
    result_.requests.reserve(static_cast<std::size_t>(source_->total()));
  } else {
    const double warmup = scenario.workload.warmup_fraction * static_cast<double>(source_->total());
    sums_ = std::make_shared<metrics::RequestSums>(
        metrics::Objectives{scenario.slo.ttft, scenario.slo.tpot, scenario.slo.e2el},
        static_cast<std::int64_t>(warmup));
  }
}

bool Driver::run(std::int64_t events) {
  for (; events > 0; --events) {
    // The source's own next arrival joins the queue when the one before it has left.
    while (!own_arrival_queued_) {
      const auto own = source_->next_arrival();
      if (!own) break;
      own_arrival_ = own->id;
      own_arrival_queued_ = true;
      expect(*own);
    }
    const std::size_t first = heap_.front();
    const Ticks replica_time = next_[first];
    const Ticks arrival_time = arrivals_.empty() ? engine::never : arrivals_.top().at;
    if (gives_up_before(std::min(replica_time, arrival_time))) {
      give_up();
      continue;
    }
    if (replica_time == engine::never && arrival_time == engine::never) return false;
    if (std::min(replica_time, arrival_time) < now_) {
      throw RunError("event loop: an event lies before the one handled last");
    }
    if (arrival_time <= replica_time) {  // arrivals first: an idle replica starts with all of them
      now_ = arrival_time;
      arrive();
    } else {
      now_ = replica_time;
      fleet_.replicas[first].advance(now_);
      update(first);
    }
  }
  return true;
}

void Driver::expect(const Request& request) {
  in_flight_.insert(request.id, request);
  arrivals_.push({request.arrival, request.id});
}

void Driver::add_record(RequestId id) {
  if (sums_) return records_.insert(id, {});
  const auto place = static_cast<std::size_t>(id);
  if (place >= result_.requests.size()) result_.requests.resize(place + 1);
}

void Driver::arrive() {
  const Request request = in_flight_.at(arrivals_.top().id);
  arrivals_.pop();
  if (request.id == own_arrival_) own_arrival_queued_ = false;
  add_record(request.id);
  if (sums_ && (request.timeout > 0 || request.cancel_after > 0)) {
    throw InputError(
        "timeouts and cancellations need the record of each request: leave --no-requests-table "
        "out");
  }
  metrics::RequestRecord& r = record(request.id);
  r.id = request.id;
  r.user = request.user;
  r.turn = request.turn;
  r.priority = request.priority;
  r.replica = -1;
  r.prompt_tokens = request.prompt_tokens;
  r.output_tokens = request.output_tokens;
  r.arrival = request.arrival;
  if (options_.custom.admission) {
    const std::string reason = options_.custom.admission(request, now_, fleet_);
    if (!reason.empty()) return turn_away(request.id, reason);
  }
  r.replica = router_->pick(request, now_);
  const auto replica = static_cast<std::size_t>(r.replica);
  if (request.timeout > 0) deadlines_.push({request.arrival + request.timeout, request.id});
  if (request.cancel_after > 0) {
    deadlines_.push({request.arrival + request.cancel_after, request.id});
  }
  ++fleet_.outstanding[replica];
  fleet_.replicas[replica].submit(request, now_);
  update(replica);
}

void Driver::turn_away(RequestId id, const std::string& reason) {
  ++result_.counters.requests;
  ++result_.counters.rejected;
  rejected(id, now_, reason);
}

void Driver::scheduled(RequestId id, Ticks at, std::int64_t cached_tokens) {
  if (record(id).outcome != metrics::Outcome::in_flight) return;  // its client has gone
  record(id).scheduled = at;
  record(id).cached_tokens = cached_tokens;
}

void Driver::preempted(RequestId id, Ticks) {
  ++record(id).preemptions;
}

void Driver::first_token(RequestId id, Ticks at) {
  if (record(id).outcome != metrics::Outcome::in_flight) return;
  record(id).first_token = at;
}

// Whichever comes first ends the request for its client, who no longer waits for the engine.
void Driver::left(RequestId id, Ticks at) {
  const Request& request = in_flight_.at(id);
  metrics::RequestRecord& r = record(id);
  const bool timed_out = request.timeout > 0 && at - request.arrival == request.timeout;
  r.finish = at;
  if (r.first_token > at) r.first_token = -1;
  r.outcome = timed_out ? metrics::Outcome::failed : metrics::Outcome::cancelled;
  r.reason = timed_out ? "timeout" : "cancelled by its client";
  ended(id, at, false);
}

bool Driver::gives_up_before(Ticks limit) {
  while (!deadlines_.empty()) {
    const Due& next = deadlines_.top();
    if (record(next.id).outcome == metrics::Outcome::in_flight) return next.at < limit;
    deadlines_.pop();
  }
  return false;
}

void Driver::give_up() {
  const Due deadline = deadlines_.top();
  deadlines_.pop();
  now_ = deadline.at;
  const auto replica = static_cast<std::size_t>(record(deadline.id).replica);
  fleet_.replicas[replica].abort(deadline.id, now_);
  left(deadline.id, now_);
  update(replica);
}

void Driver::aborted(RequestId id, Ticks, std::int64_t generated) {
  record(id).generated_tokens = generated;
}

void Driver::finished(RequestId id, Ticks at) {
  record(id).generated_tokens = record(id).output_tokens;
  if (record(id).outcome != metrics::Outcome::in_flight) {
    ++unheard_;
    return;  // its client had gone
  }
  const Request& request = in_flight_.at(id);
  const Ticks waited = at - request.arrival;
  Ticks patience = engine::never;
  for (const Ticks t : {request.timeout, request.cancel_after}) {
    if (t > 0) patience = std::min(patience, t);
  }
  if (waited > patience) {  // the last tokens reach nobody
    ++unheard_;
    return left(id, request.arrival + patience);
  }
  record(id).finish = at;
  record(id).outcome = metrics::Outcome::completed;
  ended(id, at, true);
}

void Driver::rejected(RequestId id, Ticks at, const std::string& reason) {
  record(id).finish = at;
  record(id).outcome = metrics::Outcome::rejected;
  record(id).reason = reason;
  ended(id, at, false);
}

void Driver::ended(RequestId id, Ticks at, bool completed) {
  result_.end = std::max(result_.end, at);
  if (record(id).replica >= 0) {
    --fleet_.outstanding[static_cast<std::size_t>(record(id).replica)];
  }
  if (sums_) sums_->add(records_.take(id));
  const Request request = in_flight_.take(id);
  if (const auto next = source_->on_end(request, at, completed)) expect(*next);
}

// Epochs are told when they end, which may be late; the order of the timeline is that of their
// starts. An epoch waits until no replica is in one that began before it.
void Driver::epoch(const metrics::Epoch& epoch) {
  if (fleet_.replicas.size() == 1) {
    result_.timeline.push_back(epoch, options_.timeline && options_.requests);
    return;
  }
  late_.push_back(epoch);
  if (late_.size() < late_limit_) return;
  Ticks before = now_;
  for (const engine::Replica& replica : fleet_.replicas) {
    before = std::min(before, replica.open_since());
  }
  flush_timeline(std::min(before, epoch.start));
}

void Driver::flush_timeline(Ticks before) {
  const auto open = std::partition(late_.begin(), late_.end(),
                                   [before](const metrics::Epoch& e) { return e.start >= before; });
  // Sorted by their places: an epoch is as large as eight of them.
  std::vector<std::pair<Ticks, const metrics::Epoch*>> order;
  order.reserve(static_cast<std::size_t>(late_.end() - open));
  for (auto e = open; e != late_.end(); ++e) order.emplace_back(e->start, &*e);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->replica < b.second->replica;
  });
  const bool keep = options_.timeline && options_.requests;
  for (const auto& [start, epoch] : order) result_.timeline.push_back(*epoch, keep);
  late_.erase(open, late_.end());
  // Each look sorts what waits and asks every replica: seldom enough to cost little an epoch.
  late_limit_ = 2 * late_.size() + 16 * fleet_.replicas.size();
}

metrics::RunResult Driver::take_result() {
  metrics::Counters& all = result_.counters;
  for (const engine::Replica& replica : fleet_.replicas) {
    all += replica.counters();
  }
  flush_timeline(engine::never);
  const std::int64_t arrived = sums_ ? sums_->requests + static_cast<std::int64_t>(records_.size())
                                     : static_cast<std::int64_t>(result_.requests.size());
  if (arrived != source_->total()) {
    throw RunError("event loop: " + std::to_string(arrived) + " of " +
                   std::to_string(source_->total()) + " requests arrived");
  }
  if (records_.size() > 0) {
    throw RunError("event loop: " + std::to_string(records_.size()) +
                   " requests neither ended nor have an event to wait for");
  }
  result_.request_sums = sums_;
  for (const auto& r : result_.requests) {
    if (r.outcome == metrics::Outcome::in_flight) {
      throw RunError("event loop: request " + std::to_string(r.id) +
                     " neither ended nor has an event to wait for");
    }
  }
  all.completed -= unheard_;
  all.aborted += unheard_;
  if (options_.check) metrics::check_conservation(result_);
  return std::move(result_);
}

bool Driver::before(std::size_t a, std::size_t b) const {
  return next_[a] != next_[b] ? next_[a] < next_[b] : a < b;
}

void Driver::update(std::size_t replica) {
  next_[replica] = fleet_.replicas[replica].next_event();
  sift_up(place_[replica]);
  sift_down(place_[replica]);
}

void Driver::sift_up(std::size_t place) {
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (!before(heap_[place], heap_[parent])) return;
    std::swap(heap_[place], heap_[parent]);
    std::swap(place_[heap_[place]], place_[heap_[parent]]);
    place = parent;
  }
}

void Driver::sift_down(std::size_t place) {
  for (;;) {
    std::size_t least = place;
    for (std::size_t child = 2 * place + 1; child < std::min(2 * place + 3, heap_.size());
         ++child) {
      if (before(heap_[child], heap_[least])) least = child;
    }
    if (least == place) return;
    std::swap(heap_[place], heap_[least]);
    std::swap(place_[heap_[place]], place_[heap_[least]]);
    place = least;
  }
}

}  // namespace servegrid::cluster
