#include "cluster/driver.hpp"

#include <algorithm>
#include <boost/random/uniform_01.hpp>
#include <utility>

#include "units/error.hpp"

namespace servegrid::cluster {

using workload::Request;
using workload::RequestId;

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
  const Ticks next = next_due();
  if (next == no_event && live_ == 0) return no_event;
  if (next <= stop_at_) return next;
  if (!flow_of_.empty()) return stop_at_;  // a flow may end before it
  cut();
  return no_event;
}

Ticks Driver::next_due() {
  const Ticks arrival = arrivals_.empty() ? no_event : arrivals_.top().at;
  const Ticks replica = agenda_.next();
  // Operations alone would go on for ever.
  if (arrival == no_event && replica == no_event && live_ == 0) return no_event;
  const Ticks timer = timers_.empty() ? no_event : timers_.next();
  return std::min({arrival, replica, next_deadline(), timer});
}

void Driver::run(std::int64_t events, Ticks until) {
  for (; events > 0 && flows_.empty(); --events) {
    const Ticks next = next_event();
    if (next == no_event || next > until || limit_reached()) return;
    if (next < now_) throw RunError("event loop: an event lies before the one handled last");
    now_ = next;
    if (next == stop_at_ && next_due() > next) return cut();
    if (invariants_) invariants_->event(now_);
    // At one instant arrivals come first, so that an idle replica starts with all of them, then
    // replicas, then clients that give up, then timers.
    if (!arrivals_.empty() && arrivals_.top().at == next) {
      arrive();
    } else if (const std::size_t first = agenda_.first(); agenda_.next() == next) {
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

void Driver::ended(RequestId id, Ticks at, bool completed) {
  result_.end = std::max(result_.end, at);
  --live_;
  if (sums_) sums_->add(records_.take(id));
  const Request request = in_flight_.take(id);
  if (const auto next = source_->on_end(request, at, completed)) expect(*next);
  if (precision_ > 0) look_at_precision();
}

void Driver::update(std::size_t replica) {
  agenda_.set(replica, fleet_.replicas[replica].next_event());
}

}  // namespace servegrid::cluster
