#include "cluster/operations.hpp"

#include <algorithm>

namespace servegrid::cluster {

using catalog::FaultSpec;

Operations::Operations(const catalog::ClusterSpec& spec, const Placement& placement,
                       const Fleet& fleet, std::vector<double> load_seconds, std::uint64_t seed,
                       Timers& timers, Crew& crew)
    : spec_(spec),
      placement_(placement),
      fleet_(fleet),
      load_seconds_(std::move(load_seconds)),
      timers_(timers),
      crew_(crew),
      failures_(seed, "failures"),
      repairs_(seed, "repairs"),
      states_(placement.replicas.size()),
      drawn_(placement.replicas.size(), 0) {
  for (const catalog::AutoscaleSpec& a : spec.operations.autoscale) {
    Scaler scaler{a, 0, -1};
    for (std::size_t p = 0; p < spec.pools.size(); ++p) {
      if (spec.pools[p].name == a.pool) scaler.pool = static_cast<int>(p);
    }
    scalers_.push_back(std::move(scaler));
  }
}

std::vector<int> Operations::replicas_of(int pool) const {
  std::vector<int> out;
  for (std::size_t r = 0; r < placement_.replicas.size(); ++r) {
    if (placement_.replicas[r].pool == pool) out.push_back(static_cast<int>(r));
  }
  return out;
}

void Operations::start() {
  for (const Scaler& scaler : scalers_) {
    const std::vector<int> replicas = replicas_of(scaler.pool);
    for (std::size_t k = static_cast<std::size_t>(scaler.spec.low_replicas); k < replicas.size();
         ++k) {
      at(replicas[k]).state = State::off;
      crew_.set_ready(replicas[k], false);
    }
  }
  for (std::size_t r = 0; r < states_.size(); ++r) {
    const int replica = static_cast<int>(r);
    if (states_[r].state == State::off) continue;
    if (spec_.operations.cold_start) {
      crew_.set_ready(replica, false);
      load(replica, 0);
    } else {
      draw_failure(replica, 0);
    }
  }
  for (std::size_t i = 0; i < spec_.faults.events.size(); ++i) {
    timers_.set(to_ticks(spec_.faults.events[i].at), Timer::Kind::fault,
                static_cast<std::int64_t>(i));
  }
  if (spec_.operations.rolling_restart) {
    timers_.set(to_ticks(spec_.operations.rolling_restart->at), Timer::Kind::restart, 0);
  }
  for (std::size_t i = 0; i < scalers_.size(); ++i) {
    timers_.set(to_ticks(scalers_[i].spec.interval), Timer::Kind::look,
                static_cast<std::int64_t>(i));
  }
}

void Operations::handle(const Timer& timer) {
  const int replica = static_cast<int>(timer.subject);
  const auto index = static_cast<std::size_t>(timer.subject);
  switch (timer.kind) {
    case Timer::Kind::fault:
      return fault(spec_.faults.events[index], timer.at);
    case Timer::Kind::restart:
      return next_restart(timer.at);
    case Timer::Kind::look:
      return look(index, timer.at);
    case Timer::Kind::slow_over:
      return crew_.set_slowdown(replica, 1);
    default:
      break;
  }
  if (at(replica).life != timer.detail) return;  // the replica has moved on since
  switch (timer.kind) {
    case Timer::Kind::failure: {
      const double seconds = workload::draw_exponential(
          spec_.faults.mttr, repairs_,
          timer.subject * 1'000'003 + drawn_[static_cast<std::size_t>(replica)]);
      return fail(replica, timer.at, timer.at + to_ticks(seconds));
    }
    case Timer::Kind::provisioned:
    case Timer::Kind::repaired:
      return load(replica, timer.at);
    case Timer::Kind::loaded:
      enter(replica, State::ready, timer.at);
      draw_failure(replica, timer.at);
      crew_.set_ready(replica, true);
      if (replica == restarting_) next_restart(timer.at);
      return;
    case Timer::Kind::drained:
    case Timer::Kind::emptied:
      crew_.lose(replica);  // what is left on it, on its way to it, and in its cache
      if (at(replica).restarts) return load(replica, timer.at);
      return enter(replica, State::off, timer.at);
    default:
      return;
  }
}

void Operations::enter(int replica, State state, Ticks now) {
  Replica& r = at(replica);
  const Ticks time = now - r.since;
  if (r.state != State::off && r.state != State::provisioned) r.held += time;
  if (r.state == State::ready) r.ready += time;
  r.state = state;
  r.since = now;
  r.comes_back = false;
  ++r.life;
}

void Operations::load(int replica, Ticks now) {
  enter(replica, State::loading, now);
  const double seconds = load_seconds_[static_cast<std::size_t>(pool_of(replica))];
  timers_.set(now + to_ticks(seconds), Timer::Kind::loaded, replica, at(replica).life);
}

void Operations::emptied(int replica, Ticks now) {
  timers_.set(now, Timer::Kind::emptied, replica, at(replica).life);
}

// The first failure of a replica's GPUs, from the life it begins at `now`.
void Operations::draw_failure(int replica, Ticks now) {
  if (spec_.faults.mttf <= 0) return;
  auto& drawn = drawn_[static_cast<std::size_t>(replica)];
  const int gpus = placement_.replicas[static_cast<std::size_t>(replica)].gpus;
  const double seconds = workload::draw_exponential(
      spec_.faults.mttf / gpus, failures_, static_cast<std::int64_t>(replica) * 1'000'003 + drawn);
  ++drawn;
  const Ticks when = now + to_ticks(std::min(seconds, 1e9));
  if (spec_.faults.until && when > to_ticks(*spec_.faults.until)) return;
  timers_.set(when, Timer::Kind::failure, replica, at(replica).life);
}

void Operations::fail(int replica, Ticks now, std::optional<Ticks> back) {
  const State was = at(replica).state;
  if (was == State::off || was == State::provisioned || was == State::down) return;
  ++faults_;
  const bool restarting = replica == restarting_;
  enter(replica, State::down, now);
  if (back) {
    at(replica).comes_back = true;
    timers_.set(*back, Timer::Kind::repaired, replica, at(replica).life);
  }
  crew_.set_ready(replica, false);
  crew_.lose(replica);
  if (restarting && !back) next_restart(now);
}

std::vector<int> Operations::hit_by(const FaultSpec::Event& event) const {
  std::vector<int> out;
  for (std::size_t r = 0; r < placement_.replicas.size(); ++r) {
    const Place& place = placement_.replicas[r];
    bool hit = false;
    switch (event.target) {
      case FaultSpec::Target::replica:
        hit = static_cast<int>(r) == event.index;
        break;
      case FaultSpec::Target::gpu:
        hit = place.first_gpu <= event.index && event.index < place.first_gpu + place.gpus;
        break;
      case FaultSpec::Target::server:
        hit = place.first_server <= event.index && event.index <= place.last_server;
        break;
    }
    if (hit) out.push_back(static_cast<int>(r));
  }
  return out;
}

void Operations::fault(const FaultSpec::Event& event, Ticks now) {
  const Ticks over = now + to_ticks(event.duration);
  for (const int replica : hit_by(event)) {
    if (event.slowdown > 0) {
      crew_.set_slowdown(replica, event.slowdown);
      if (event.duration > 0) timers_.set(over, Timer::Kind::slow_over, replica);
    } else {
      fail(replica, now, event.duration > 0 ? std::optional<Ticks>(over) : std::nullopt);
    }
  }
}

void Operations::drain(int replica, Ticks now, bool restarts, double seconds) {
  enter(replica, State::draining, now);
  at(replica).restarts = restarts;
  crew_.set_ready(replica, false);
  const std::int64_t life = at(replica).life;
  if (fleet_.outstanding[static_cast<std::size_t>(replica)] == 0) {
    timers_.set(now, Timer::Kind::emptied, replica, life);
  } else if (restarts) {
    timers_.set(now + to_ticks(seconds), Timer::Kind::drained, replica, life);
  }
}

// One replica after the other; those that are not ready when their turn comes are passed over.
void Operations::next_restart(Ticks now) {
  const int count = static_cast<int>(states_.size());
  for (int replica = restarting_ + 1; replica < count; ++replica) {
    restarting_ = replica;
    if (at(replica).state != State::ready) continue;
    drain(replica, now, true, spec_.operations.rolling_restart->drain);
    return;
  }
  restarting_ = count;
}

void Operations::look(std::size_t index, Ticks now) {
  Scaler& scaler = scalers_[index];
  timers_.set(now + to_ticks(scaler.spec.interval), Timer::Kind::look,
              static_cast<std::int64_t>(index));
  double signal = scaler.spec.by_kv ? 0 : static_cast<double>(crew_.parked(scaler.pool));
  int ready = 0, coming = 0, off = -1, last_ready = -1;
  for (const int replica : replicas_of(scaler.pool)) {
    const auto r = static_cast<std::size_t>(replica);
    const State state = states_[r].state;
    coming += state == State::loading || state == State::provisioned ? 1 : 0;
    if (state == State::off && off < 0) off = replica;
    if (state != State::ready) continue;
    ++ready;
    last_ready = replica;
    const engine::Observation seen = fleet_.replicas[r].observe(now);
    signal += scaler.spec.by_kv ? static_cast<double>(seen.blocks_used) /
                                      static_cast<double>(fleet_.num_blocks[r])
                                : static_cast<double>(seen.waiting);
  }
  signal /= std::max(1, ready);
  const bool short_of = ready + coming < scaler.spec.low_replicas;
  const bool rests = scaler.changed >= 0 && now - scaler.changed < to_ticks(scaler.spec.cooldown);
  if (off >= 0 && (short_of || (!rests && signal > scaler.spec.above))) {
    scaler.changed = now;
    enter(off, State::provisioned, now);
    timers_.set(now + to_ticks(scaler.spec.delay), Timer::Kind::provisioned, off, at(off).life);
  } else if (!rests && coming == 0 && ready > scaler.spec.low_replicas &&
             signal < scaler.spec.below) {
    scaler.changed = now;
    drain(last_ready, now, false, 0);
  }
}

bool Operations::hopeful(int pool) const {
  const bool scaled = std::any_of(scalers_.begin(), scalers_.end(),
                                  [&](const Scaler& s) { return s.pool == pool; });
  for (std::size_t r = 0; r < states_.size(); ++r) {
    if (placement_.replicas[r].pool != pool) continue;
    const Replica& one = states_[r];
    switch (one.state) {
      case State::ready:
      case State::loading:
      case State::provisioned:
        return true;
      case State::draining:
        if (one.restarts || scaled) return true;
        break;
      case State::down:
        if (one.comes_back) return true;
        break;
      case State::off:
        if (scaled) return true;
        break;
    }
  }
  return false;
}

void Operations::account(Ticks end, std::vector<metrics::ReplicaRecord>& records) {
  for (std::size_t r = 0; r < records.size(); ++r) {
    const Replica& one = states_[r];
    const Ticks time = std::max<Ticks>(0, end - one.since);
    const bool held = one.state != State::off && one.state != State::provisioned;
    records[r].held = one.held + (held ? time : 0);
    records[r].ready = one.ready + (one.state == State::ready ? time : 0);
  }
}

}  // namespace servegrid::cluster
