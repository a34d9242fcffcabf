// Which replica serves a request. A router sees what a real one could: its own counts and, where it
// polls them, the replicas' queues, KV use and caches.
#pragma once

#include <memory>
#include <string>

#include "catalog/cluster.hpp"
#include "cluster/fleet.hpp"

namespace servegrid::cluster {

class Router {
 public:
  virtual ~Router() = default;
  /// The replica, one of fleet.candidates (there is at least one), for a request at `now`.
  virtual int pick(const workload::Request& request, Ticks now) = 0;
};

/// "round-robin", "random", "least-outstanding", "least-kv", "session-affinity" (a user's requests
/// go where his first one went, by least outstanding; requests without a user by least
/// outstanding), "power-of-two" (the less loaded of two drawn at random), "prefix-aware",
/// "vllm-dp". Ties go to the lowest index. Throws InputError for another name.
std::unique_ptr<Router> make_router(const std::string& name, const Fleet& fleet,
                                    const catalog::RouterSpec& spec, std::uint64_t seed);

std::unique_ptr<Router> make_prefix_aware(const Fleet& fleet, const catalog::RouterSpec& spec);
std::unique_ptr<Router> make_vllm_dp(const Fleet& fleet, const catalog::RouterSpec& spec);

/// The candidate with the fewest requests sent and not ended.
int least_outstanding(const Fleet& fleet);

}  // namespace servegrid::cluster
