// The replicas of a run: what routers and operations may look at, and on which GPUs each one is.
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/cluster.hpp"
#include "engine/replica.hpp"

namespace servegrid::cluster {

/// Owned by the driver; one entry a replica.
struct Fleet {
  std::vector<engine::Replica> replicas;
  std::vector<std::int64_t> outstanding;  // requests sent and not ended
  std::vector<std::int64_t> num_blocks;   // of its KV pool
  /// Those that a router may pick for the request at hand: ready ones of its model, ascending.
  const std::vector<int>* candidates = nullptr;
};

/// Where a replica is: its GPUs are numbered from `first_gpu`.
struct Place {
  int pool = 0;
  int first_gpu = 0, gpus = 1;
  int first_server = 0, last_server = 0;
};

/// GPUs in servers (scale-up domains): pools in order, replicas in order; a replica that fits into
/// one server does not span two, and a server has GPUs of one kind. Several pools may share one.
struct Placement {
  struct Server {
    int pool = 0;  // whose GPU it has
    int first_gpu = 0, gpus = 0;
  };
  std::vector<Place> replicas;
  std::vector<Server> servers;
  int gpus = 0;  // slots of servers that no replica uses included
};

Placement place(const std::vector<catalog::PoolSpec>& pools);

}  // namespace servegrid::cluster
