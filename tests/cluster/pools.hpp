// Scenarios of several pools over the toy step model.
#pragma once

#include "catalog/cluster.hpp"
#include "cluster/fleet.hpp"
#include "cluster/simulate.hpp"
#include "toy.hpp"

namespace toy {

using servegrid::catalog::ClusterSpec;
using servegrid::catalog::PoolRole;
using servegrid::catalog::PoolSpec;
using servegrid::catalog::Scenario;

/// `replicas` replicas of the scenario's own set-up on `gpus` GPUs each.
inline PoolSpec pool(const Scenario& s, const char* name, PoolRole role, int replicas,
                     int gpus = 1) {
  PoolSpec p;
  p.name = name;
  p.role = role;
  p.model = s.model;
  p.gpu = s.gpu;
  p.parallel.tp = gpus;
  p.replicas = replicas;
  p.engine = s.engine;
  p.knobs = s.knobs;
  return p;
}

inline void set(Scenario& s, ClusterSpec cluster) {
  s.cluster = std::make_shared<const ClusterSpec>(std::move(cluster));
}

/// Servers of two GPUs that only the network joins: 10 GB/s to each.
inline Scenario small_servers(servegrid::catalog::WorkloadSpec::Kind kind) {
  Scenario s = scenario(kind);
  s.gpu.name = "toy";
  s.gpu.fabric.kind = servegrid::catalog::FabricKind::pcie;
  s.gpu.fabric.domain = 2;
  s.gpu.nic_bandwidth = 10e9;
  s.model.name = "toy";
  return s;
}

/// One pool's model: `blocks` blocks, 1 MB of KV cache for each token of a GPU.
inline servegrid::cluster::PoolModel model(const Steps& steps, std::int64_t blocks) {
  servegrid::cluster::PoolModel m;
  m.steps = &steps;
  m.num_blocks = blocks;
  m.kv_bytes_per_token = 1e6;
  m.weights_bytes = 10e9;
  return m;
}

}  // namespace toy
