// What must hold at every event, whatever the policy: watched while a run goes on (--check). What
// must hold at its end is in metrics/conservation.cpp, and that is always looked at.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/replica.hpp"
#include "metrics/epoch.hpp"

namespace servegrid::cluster {

/// SERVEGRID_CHECK is set in the environment: every run is watched.
bool check_by_environment();

/// Each call throws RunError naming the invariant that is broken. O(1) a call, but for flows:
/// O(links of the route).
class Invariants {
 public:
  /// A link of a flow's route and what it carries [B/s].
  using Links = std::vector<std::pair<int, double>>;

  explicit Invariants(const std::vector<engine::ReplicaConfig>& configs);

  /// Time never goes back.
  void event(Ticks now);
  /// First come, first served within a class: those sent to a replica start in the order of
  /// sending, where its policy has no other order.
  void sent(int replica, const workload::Request& request);
  void scheduled(int replica, std::int64_t id);
  /// It ended, or was lost, before or after it started.
  void gone(std::int64_t id) { sent_.erase(id); }
  /// Queues are not negative, batch and pool hold no more than they can.
  void state(int replica, const engine::Observation& seen) const;
  void epoch(const metrics::Epoch& epoch) const;
  /// A link never carries more than its rate: over any stretch in which it is in use.
  void flow_begun(std::int64_t id, Ticks at, std::uint64_t bytes, Links links);
  void flow_over(std::int64_t id, Ticks at);

 private:
  struct Limit {
    std::int64_t sequences = 0, blocks = 0;
    std::int64_t step_tokens = 0;  // 0: the policy's budget is not one of all tokens of a step
    bool in_order = false;
    bool by_priority = false;
  };
  struct Sent {
    std::int64_t number = 0;
    int replica = 0, priority = 0;
  };
  struct Link {
    int flows = 0;
    Ticks since = 0;   // in use
    double bytes = 0;  // of flows that ended since
  };
  struct Moving {
    double bytes = 0;
    Links links;
  };

  std::vector<Limit> limits_;
  Ticks now_ = 0;
  std::int64_t next_ = 0;
  std::unordered_map<std::int64_t, Sent> sent_;          // by id; looked up only
  std::map<std::pair<int, int>, std::int64_t> started_;  // number of the last, by replica and class
  std::map<int, Link> links_;
  std::map<std::int64_t, Moving> flows_;
};

}  // namespace servegrid::cluster
