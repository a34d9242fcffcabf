// Clients who give up: their time is over, or they go away by themselves.
#include <algorithm>

#include "cluster/driver.hpp"

namespace servegrid::cluster {

using workload::Request;
using workload::RequestId;

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

}  // namespace servegrid::cluster
