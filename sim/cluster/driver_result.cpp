// What is told of a run: the timeline in the order of its epochs, and the result at its end.
#include <algorithm>
#include <string>
#include <utility>

#include "cluster/driver.hpp"
#include "units/error.hpp"

namespace servegrid::cluster {

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

}  // namespace servegrid::cluster
