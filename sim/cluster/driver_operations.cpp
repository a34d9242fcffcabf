// Replicas that come, go, fail and slow down, and what becomes of their requests.
#include <algorithm>
#include <string>
#include <utility>

#include "cluster/driver.hpp"

namespace servegrid::cluster {

using workload::RequestId;

void Driver::vacate(int replica) {
  if (replica < 0) return;  // turned away in front of the replicas
  const auto r = static_cast<std::size_t>(replica);
  --fleet_.outstanding[r];
  if (operations_ && fleet_.outstanding[r] == 0 && operations_->draining(replica)) {
    operations_->emptied(replica, now_);
  }
}

void Driver::fail(RequestId id, const std::string& reason) {
  record(id).finish = now_;
  record(id).outcome = metrics::Outcome::failed;
  record(id).reason = reason;
  ended(id, now_, false);
}

// A request whose replica is gone: started again, or failed when it was started often enough.
void Driver::lost(RequestId id) {
  metrics::RequestRecord& r = record(id);
  r.scheduled = r.first_token = -1;
  r.replica = -1;
  if (r.attempts >= spec_.faults.attempts) {
    return fail(id, spec_.faults.attempts == 1
                        ? "its replica was lost"
                        : "its replica was lost, " + std::to_string(r.attempts) + " attempts");
  }
  ++result_.counters.retries;
  timers_.set(now_ + to_ticks(spec_.faults.retry_delay), Timer::Kind::retry, id);
}

void Driver::lose(int replica) {
  const auto r = static_cast<std::size_t>(replica);
  std::vector<RequestId> ids = fleet_.replicas[r].lose(now_);
  // Some had lost their client, and would have been aborted at the next step.
  std::erase_if(ids,
                [this](RequestId id) { return record(id).outcome != metrics::Outcome::in_flight; });
  retire(fleet_.replicas[r], prefills(replica));
  fleet_.replicas[r] = make_replica(replica);
  fleet_.outstanding[r] = 0;
  update(r);
  if (disaggregated_) {
    for (const RequestId id : ids) give_up_transfer(id);
    redirect(replica);
    give_room_everywhere();
  }
  for (const RequestId id : ids) lost(id);
}

void Driver::set_slowdown(int replica, double factor) {
  const auto r = static_cast<std::size_t>(replica);
  fleet_.replicas[r].set_slowdown(factor, now_);
  update(r);
}

void Driver::set_ready(int replica, bool ready) {
  const int pool = pool_of(replica);
  Service& s =
      services_[static_cast<std::size_t>(service_of_pool_[static_cast<std::size_t>(pool)])];
  const bool decode = pools_[static_cast<std::size_t>(pool)].role == catalog::PoolRole::decode;
  std::vector<int>& set = decode ? s.decode_ready : s.ready;
  const auto at = std::lower_bound(set.begin(), set.end(), replica);
  const bool there = at != set.end() && *at == replica;
  if (ready && !there) set.insert(at, replica);
  if (!ready && there) set.erase(at);
  unpark(s);
}

bool Driver::hopeful(const std::vector<int>& pools) const {
  return std::any_of(pools.begin(), pools.end(),
                     [&](int pool) { return operations_ && operations_->hopeful(pool); });
}

std::int64_t Driver::parked(int pool) const {
  const auto p = static_cast<std::size_t>(pool);
  const Service& s = services_[static_cast<std::size_t>(service_of_pool_[p])];
  const bool decode = pools_[p].role == catalog::PoolRole::decode;
  return static_cast<std::int64_t>((decode ? s.decode_parked : s.parked).size());
}

// Sends what waited for a ready replica, or fails it when none can come any more.
void Driver::unpark(Service& s) {
  if (!s.parked.empty() && (!s.ready.empty() || !hopeful(s.pools))) {
    for (const RequestId id : std::exchange(s.parked, {})) dispatch(id);
  }
  if (!s.decode_parked.empty() && (!s.decode_ready.empty() || !hopeful(s.decode_pools))) {
    for (const RequestId id : std::exchange(s.decode_parked, {})) ask_for_room(id);
  }
}

}  // namespace servegrid::cluster
