#include "cluster/driver.hpp"

#include <algorithm>
#include <boost/random/uniform_01.hpp>
#include <utility>

#include "units/error.hpp"

namespace servegrid::cluster {

using workload::Request;
using workload::RequestId;

namespace {

// Each GPU copies its own part of a block over its own PCIe link; 0: no swapping.
engine::SwapSpace swap_of(const catalog::PoolSpec& pool, double block_bytes) {
  if (!pool.knobs.swap_preempted) return {};
  if (block_bytes <= 0 || pool.gpu.host_bandwidth <= 0) {
    throw InputError("preemption_mode swap: the bandwidth between GPU and host is not known");
  }
  return {static_cast<std::int64_t>(pool.knobs.swap_space / block_bytes),
          to_ticks(block_bytes / pool.gpu.host_bandwidth)};
}

// Sizes and bandwidths are per GPU, as the block is.
std::vector<engine::CacheTier> tiers_of(const catalog::PoolSpec& pool, double block_bytes) {
  std::vector<engine::CacheTier> tiers;
  for (const catalog::CacheTierSpec& tier : pool.cache_tiers) {
    if (block_bytes <= 0) throw InputError("cache tiers need the size of a KV block");
    tiers.push_back({static_cast<std::int64_t>(tier.bytes / block_bytes),
                     to_ticks(block_bytes / tier.bandwidth)});
  }
  return tiers;
}

}  // namespace

Driver::Driver(const catalog::Scenario& scenario, std::vector<PoolModel> models,
               const RunOptions& options)
    : options_(options),
      spec_(catalog::cluster_of(scenario)),
      pools_(catalog::pools_of(scenario)),
      models_(std::move(models)),
      placement_(place(pools_)),
      source_(workload::make_source(scenario.workload, scenario.seed)) {
  if (models_.size() != pools_.size()) throw RunError("event loop: not one model for each pool");
  if (placement_.replicas.empty()) throw InputError("replicas must be at least 1");
  build(scenario);
  if (disaggregated_) need_records("handovers");
  if (services_.size() > 1) need_records("several models");
  if (options_.custom.source) source_ = options_.custom.source(std::move(source_));
  if (options_.requests) {
    constexpr std::int64_t most_reserved = 1'000'000;  // the rest grows: a limit may come first
    result_.requests.reserve(static_cast<std::size_t>(
        options_.limits.any() ? std::min(source_->total(), most_reserved) : source_->total()));
  } else {
    need_no_records(scenario.workload);
    const double warmup = scenario.workload.warmup_fraction * static_cast<double>(source_->total());
    sums_ = std::make_shared<metrics::RequestSums>(
        metrics::Objectives{scenario.slo.ttft, scenario.slo.tpot, scenario.slo.e2el},
        static_cast<std::int64_t>(warmup));
  }
  const catalog::OperationsSpec& o = spec_.operations;
  if (!spec_.faults.events.empty() || spec_.faults.mttf > 0 || o.cold_start || o.rolling_restart ||
      !o.autoscale.empty()) {
    need_records("faults and operations");
    std::vector<double> load;
    for (const PoolModel& m : models_) {
      load.push_back(o.warm_up + (o.load_bandwidth > 0 ? m.weights_bytes / o.load_bandwidth : 0));
    }
    operations_.emplace(spec_, placement_, fleet_, std::move(load), scenario.seed, timers_, *this);
    operations_->start();
  }
  stop_when(scenario.workload);
  if (options_.limits.any()) limits_.emplace(options_.limits);
  if (options_.check_events || check_by_environment()) invariants_.emplace(configs_);
}

void Driver::build(const catalog::Scenario& scenario) {
  const std::size_t count = placement_.replicas.size();
  fleet_.outstanding.assign(count, 0);
  fleet_.replicas.reserve(count);
  next_.assign(count, engine::never);
  reserved_.assign(count, 0);
  incoming_.assign(count, 0);
  want_room_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Place& place = placement_.replicas[i];
    const auto p = static_cast<std::size_t>(place.pool);
    const PoolModel& model = models_[p];
    engine::ReplicaConfig config;
    config.policy = pools_[p].engine.policy;
    config.knobs = pools_[p].knobs;
    if (model.block_tokens > 0) config.knobs.block_size = model.block_tokens;
    config.pool = {model.num_blocks, config.knobs.block_size, model.blocks_fixed};
    config.swap = swap_of(pools_[p], model.block_bytes);
    config.ranks = pools_[p].parallel.dp;
    config.stages = pools_[p].parallel.pp;
    if (spec_.pools.empty()) config.pace = engine::pace_of(scenario.speculation, scenario.seed);
    config.tiers = tiers_of(pools_[p], model.block_bytes);
    config.index = static_cast<int>(i);
    config.leap = options_.leap;
    configs_.push_back(config);
    fleet_.replicas.push_back(make_replica(static_cast<int>(i)));
    fleet_.num_blocks.push_back(model.num_blocks);
    heap_.push_back(i);
    place_.push_back(i);
    result_.replicas.push_back({place.pool, place.gpus, model.num_blocks, 0, 0});
    result_.num_blocks = std::max(result_.num_blocks, model.num_blocks);
  }
  std::vector<std::string> names;
  for (const auto& [name, share] : spec_.models) names.push_back(name);
  if (names.empty()) names.push_back(pools_.front().model.name);
  services_.resize(names.size());
  if (names.size() > 1) model_draws_ = std::make_unique<workload::Stream>(scenario.seed, "model");
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    const auto it = std::find(names.begin(), names.end(), pools_[p].model.name);
    const auto s = static_cast<std::size_t>(it - names.begin());
    const bool decode = pools_[p].role == catalog::PoolRole::decode;
    disaggregated_ = disaggregated_ || decode;
    service_of_pool_.push_back(static_cast<int>(s));
    (decode ? services_[s].decode_pools : services_[s].pools).push_back(static_cast<int>(p));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto p = static_cast<std::size_t>(placement_.replicas[i].pool);
    Service& s = services_[static_cast<std::size_t>(service_of_pool_[p])];
    const bool decode = pools_[p].role == catalog::PoolRole::decode;
    (decode ? s.decode_ready : s.ready).push_back(static_cast<int>(i));
  }
  for (Service& s : services_) {
    s.router = options_.custom.router
                   ? options_.custom.router(fleet_)
                   : make_router(scenario.router, fleet_, spec_.router, scenario.seed);
    s.decode_router = make_router(spec_.router.decode, fleet_, spec_.router, scenario.seed);
  }
}

engine::Replica Driver::make_replica(int replica) {
  const auto p = static_cast<std::size_t>(pool_of(replica));
  return {configs_[static_cast<std::size_t>(replica)], *models_[p].steps, *this};
}

Ticks Driver::next_event() {
  if (stopped_) return no_event;
  // The source's own next arrival joins the queue when the one before it has left.
  while (!own_arrival_queued_) {
    const auto own = source_->next_arrival();
    if (!own) break;
    own_arrival_ = own->id;
    own_arrival_queued_ = true;
    expect(*own);
  }
  const Ticks arrival = arrivals_.empty() ? no_event : arrivals_.top().at;
  const Ticks replica = next_[heap_.front()];
  // Operations alone would go on for ever.
  if (arrival == no_event && replica == no_event && live_ == 0) return no_event;
  const Ticks timer = timers_.empty() ? no_event : timers_.next();
  const Ticks next = std::min({arrival, replica, next_deadline(), timer});
  if (next <= stop_at_) return next;
  cut();
  return no_event;
}

void Driver::run(std::int64_t events, Ticks until) {
  for (; events > 0 && flows_.empty(); --events) {
    const Ticks next = next_event();
    if (next == no_event || next > until || limit_reached()) return;
    if (next < now_) throw RunError("event loop: an event lies before the one handled last");
    now_ = next;
    if (invariants_) invariants_->event(now_);
    // At one instant arrivals come first, so that an idle replica starts with all of them, then
    // replicas, then clients that give up, then timers.
    if (!arrivals_.empty() && arrivals_.top().at == next) {
      arrive();
    } else if (const std::size_t first = heap_.front(); next_[first] == next) {
      fleet_.replicas[first].advance(now_);
      update(first);
      if (invariants_) {
        invariants_->state(static_cast<int>(first), fleet_.replicas[first].observe(now_));
      }
      if (!want_room_[first].empty()) give_room(static_cast<int>(first));
    } else if (next_deadline() == next) {
      give_up();
    } else {
      handle(timers_.take());
    }
  }
}

void Driver::handle(const Timer& timer) {
  if (timer.kind == Timer::Kind::retry) {
    if (record(timer.subject).outcome == metrics::Outcome::in_flight) dispatch(timer.subject);
    return;
  }
  if (timer.kind == Timer::Kind::transferred) {
    if (way(timer.subject).generation == timer.detail) transferred(timer.subject);
    return;
  }
  operations_->handle(timer);
}

void Driver::expect(const Request& request) {
  in_flight_.insert(request.id, request);
  arrivals_.push({request.arrival, request.id});
}

void Driver::need_records(const char* what) const {
  if (!options_.requests)
    throw InputError(std::string(what) +
                     " need the record of each request: leave --no-requests-table out");
}

void Driver::add_record(RequestId id) {
  if (sums_) return records_.insert(id, {});
  const auto place = static_cast<std::size_t>(id);
  if (place < result_.requests.size()) return;
  result_.requests.resize(place + 1);
  if (disaggregated_) {
    ways_.resize(place + 1);
    result_.handovers.resize(place + 1);
  }
  if (services_.size() > 1) service_of_.resize(place + 1);
}

void Driver::arrive() {
  const Request request = in_flight_.at(arrivals_.top().id);
  arrivals_.pop();
  if (request.id == own_arrival_) own_arrival_queued_ = false;
  add_record(request.id);
  if (request.timeout > 0 || request.cancel_after > 0) need_records("timeouts and cancellations");
  ++live_;
  metrics::RequestRecord& r = record(request.id);
  r.id = request.id;
  r.user = request.user;
  r.turn = request.turn;
  r.class_index = request.class_index;
  r.priority = request.priority;
  r.replica = -1;
  r.prompt_tokens = request.prompt_tokens;
  r.output_tokens = request.output_tokens;
  r.arrival = request.arrival;
  if (options_.custom.admission) {
    const std::string reason = options_.custom.admission(request, now_, fleet_);
    if (!reason.empty()) return turn_away(request.id, reason);
  }
  if (request.timeout > 0) deadlines_.push({request.arrival + request.timeout, request.id});
  if (request.cancel_after > 0) {
    deadlines_.push({request.arrival + request.cancel_after, request.id});
  }
  if (model_draws_) {  // all requests of a user ask for one model
    workload::SplitMix64 random = model_draws_->at(request.user >= 0 ? request.user : request.id);
    double u = boost::random::uniform_01<double>()(random);
    std::size_t s = 0;
    while (s + 1 < spec_.models.size() && u >= spec_.models[s].second) {
      u -= spec_.models[s++].second;
    }
    service_of_[static_cast<std::size_t>(request.id)] = static_cast<std::uint8_t>(s);
  }
  dispatch(request.id);
}

void Driver::dispatch(RequestId id) {
  Service& s = service_of(id);
  if (s.ready.empty()) {
    if (!hopeful(s.pools)) return fail(id, "no replica is left");
    s.parked.push_back(id);
    return;
  }
  const Request request = in_flight_.at(id);
  fleet_.candidates = &s.ready;
  const int chosen = s.router->pick(request, now_);
  if (!prefills(chosen)) return send(id, chosen, request);
  Request prefill = request;
  prefill.output_tokens = prefill.max_tokens = 1;
  prefill.hold = true;
  way(id).prefill = chosen;
  way(id).phase = Phase::prefill;
  result_.handovers[static_cast<std::size_t>(id)] = {};
  result_.handovers[static_cast<std::size_t>(id)].replica = chosen;
  send(id, chosen, prefill);
}

void Driver::send(RequestId id, int replica, const Request& request) {
  const auto r = static_cast<std::size_t>(replica);
  record(id).replica = replica;
  if (!disaggregated_ || way(id).phase != Phase::decode) ++record(id).attempts;
  ++fleet_.outstanding[r];
  if (invariants_) invariants_->sent(replica, request);
  fleet_.replicas[r].submit(request, now_);
  update(r);
}

void Driver::turn_away(RequestId id, const std::string& reason) {
  ++result_.counters.requests;
  ++result_.counters.rejected;
  rejected(id, now_, reason);
}

void Driver::scheduled(RequestId id, Ticks at, std::int64_t cached_tokens) {
  if (invariants_) invariants_->scheduled(record(id).replica, id);
  if (record(id).outcome != metrics::Outcome::in_flight) return;  // its client has gone
  if (disaggregated_ && way(id).phase == Phase::decode) return unreserve(id);
  record(id).scheduled = at;
  record(id).cached_tokens = cached_tokens;
  if (spec_.transfer.layer_wise && prefills(record(id).replica)) ask_for_room(id);
}

void Driver::preempted(RequestId id, Ticks) {
  ++record(id).preemptions;
  if (!disaggregated_ || !prefills(record(id).replica) || way(id).decode < 0) return;
  // What was sent layer by layer is computed again; room that it holds meanwhile may be what those
  // wait for whose blocks it needs.
  give_up_transfer(id);
  give_room_everywhere();
}

void Driver::first_token(RequestId id, Ticks at) {
  if (record(id).outcome != metrics::Outcome::in_flight) return;
  if (!prefills(record(id).replica)) record(id).first_token = at;
}

// Whichever comes first ends the request for its client, who no longer waits for the engine.
void Driver::left(RequestId id, Ticks at) {
  const Request& request = in_flight_.at(id);
  metrics::RequestRecord& r = record(id);
  const bool timed_out = request.timeout > 0 && at - request.arrival == request.timeout;
  r.finish = at;
  if (r.first_token > at) r.first_token = -1;
  r.outcome = timed_out ? metrics::Outcome::failed : metrics::Outcome::cancelled;
  r.reason = timed_out ? metrics::timed_out : "cancelled by its client";
  ended(id, at, false);
}

Ticks Driver::next_deadline() {
  while (!deadlines_.empty()) {
    const Due& next = deadlines_.top();
    if (record(next.id).outcome == metrics::Outcome::in_flight) return next.at;
    deadlines_.pop();
  }
  return no_event;
}

void Driver::give_up() {
  const RequestId id = deadlines_.top().id;
  deadlines_.pop();
  withdraw(id);
  if (disaggregated_) give_room_everywhere();
  left(id, now_);
}

// Takes a request from wherever it is: a replica, a transfer, or the queue in front of them.
void Driver::withdraw(RequestId id) {
  if (record(id).replica < 0) {
    Service& s = service_of(id);
    s.parked.erase(std::remove(s.parked.begin(), s.parked.end(), id), s.parked.end());
    return;
  }
  const auto r = static_cast<std::size_t>(record(id).replica);
  if (disaggregated_ && prefills(record(id).replica)) {
    const bool kept = result_.handovers[static_cast<std::size_t>(id)].prefilled >= 0;
    give_up_transfer(id);
    if (kept) return release_prefill(id);
  } else if (disaggregated_) {
    unreserve(id);
  }
  fleet_.replicas[r].abort(id, now_);
  update(r);
  vacate(record(id).replica);
}

// Of a prefill replica: its only token reaches nobody.
void Driver::aborted(RequestId id, Ticks, std::int64_t generated) {
  if (invariants_) invariants_->gone(id);
  if (!prefills(record(id).replica)) record(id).generated_tokens = generated;
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
    vacate(record(id).replica);
    return left(id, request.arrival + patience);
  }
  record(id).finish = at;
  record(id).outcome = metrics::Outcome::completed;
  vacate(record(id).replica);
  ended(id, at, true);
}

void Driver::rejected(RequestId id, Ticks at, const std::string& reason) {
  if (invariants_) invariants_->gone(id);
  record(id).finish = at;
  record(id).outcome = metrics::Outcome::rejected;
  record(id).reason = reason;
  vacate(record(id).replica);
  if (disaggregated_) unreserve(id);
  ended(id, at, false);
}

// Epochs are told when they end, which may be late; the order of the timeline is that of their
// starts. An epoch waits until no replica is in one that began before it.
void Driver::epoch(const metrics::Epoch& epoch) {
  if (invariants_) invariants_->epoch(epoch);
  if (fleet_.replicas.size() == 1) {
    add_to_timeline(epoch);
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

void Driver::add_to_timeline(const metrics::Epoch& epoch) {
  result_.timeline.push_back(epoch, options_.timeline && options_.requests);
  if (pools_.size() < 2) return;
  result_.pool_sums.resize(pools_.size());
  result_.pool_sums[static_cast<std::size_t>(pool_of(epoch.replica))].add(epoch);
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
  for (const auto& [start, epoch] : order) add_to_timeline(*epoch);
  late_.erase(open, late_.end());
  // Each look sorts what waits and asks every replica: seldom enough to cost little an epoch.
  late_limit_ = 2 * late_.size() + 16 * fleet_.replicas.size();
}

void Driver::ended(RequestId id, Ticks at, bool completed) {
  result_.end = std::max(result_.end, at);
  --live_;
  if (sums_) sums_->add(records_.take(id));
  const Request request = in_flight_.take(id);
  if (const auto next = source_->on_end(request, at, completed)) expect(*next);
  if (precision_ > 0) look_at_precision();
}

// Counters of a replica that is gone or at the end. A prefill replica's only token and its requests
// are counted where they are decoded.
void Driver::retire(const engine::Replica& replica, bool prefill) {
  metrics::Counters one = replica.counters();
  if (prefill) {  // its requests are counted where they are decoded
    one.requests = one.completed = one.rejected = one.aborted = 0;
    one.tokens_generated = one.tokens_lost = 0;
  }
  result_.counters += one;
}

metrics::RunResult Driver::take_result() {
  for (std::size_t r = 0; r < fleet_.replicas.size(); ++r) {
    retire(fleet_.replicas[r], prefills(static_cast<int>(r)));
  }
  metrics::Counters& all = result_.counters;
  if (operations_ || disaggregated_) {
    // Requests may have been sent more than once, or ended in front of the replicas.
    all.requests = static_cast<std::int64_t>(result_.requests.size());
    all.rejected = std::count_if(
        result_.requests.begin(), result_.requests.end(),
        [](const metrics::RequestRecord& r) { return r.outcome == metrics::Outcome::rejected; });
  }
  for (metrics::ReplicaRecord& record : result_.replicas) record.held = record.ready = result_.end;
  if (operations_) {
    all.faults = operations_->faults();
    operations_->account(result_.end, result_.replicas);
  }
  flush_timeline(engine::never);
  const std::int64_t arrived = sums_ ? sums_->requests + static_cast<std::int64_t>(records_.size())
                                     : static_cast<std::int64_t>(result_.requests.size());
  if (!stopped_ && arrived != source_->total()) {
    throw RunError("event loop: " + std::to_string(arrived) + " of " +
                   std::to_string(source_->total()) + " requests arrived");
  }
  if (records_.size() > 0) {
    throw RunError("event loop: " + std::to_string(records_.size()) +
                   " requests neither ended nor have an event to wait for");
  }
  result_.request_sums = sums_;
  for (const auto& r : result_.requests) {
    if (!stopped_ && r.outcome == metrics::Outcome::in_flight) {
      throw RunError("event loop: request " + std::to_string(r.id) +
                     " neither ended nor has an event to wait for");
    }
  }
  all.completed -= unheard_;
  all.aborted += unheard_;
  if (stopped_) {  // a replica may not have seen yet that a client left
    all.aborted =
        std::count_if(result_.requests.begin(), result_.requests.end(), [](const auto& r) {
          return r.outcome == metrics::Outcome::failed || r.outcome == metrics::Outcome::cancelled;
        });
  }
  result_.notes = source_->notes();
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
