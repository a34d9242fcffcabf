// Which replica serves a request. A router sees what a real one could: its own counts and, where it
// polls them, the replicas' queues and KV use at the moment of the arrival.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/replica.hpp"

namespace servegrid::cluster {

class Router {
 public:
  virtual ~Router() = default;
  /// The replica for a request that arrives at `now`.
  virtual int pick(const workload::Request& request, Ticks now) = 0;
};

/// What routers may look at; owned by the driver, one entry a replica.
struct Fleet {
  std::vector<engine::Replica> replicas;
  std::vector<std::int64_t> outstanding;  // requests sent and not ended
  std::int64_t num_blocks = 0;            // KV pool of a replica
};

/// "round-robin", "random", "least-outstanding", "least-kv", "session-affinity" (a user's requests
/// go where his first one went, by least outstanding; requests without a user by least
/// outstanding), "power-of-two" (the less loaded of two drawn at random), "vllm-dp" (vLLM's balance
/// over data-parallel engines). Ties go to the lowest index, those of vllm-dp to a rotating one.
/// Throws InputError for another name.
std::unique_ptr<Router> make_router(const std::string& name, const Fleet& fleet,
                                    std::uint64_t seed);
std::unique_ptr<Router> make_vllm_dp(const Fleet& fleet);

}  // namespace servegrid::cluster
