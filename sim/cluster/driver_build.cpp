// From a scenario to its replicas, models and routers.
#include <algorithm>

#include "cluster/driver.hpp"
#include "units/error.hpp"

namespace servegrid::cluster {

namespace {

// Each GPU copies its own part of a block over its own PCIe link; 0: no swapping.
engine::SwapSpace swap_of(const catalog::PoolSpec& pool, double block_bytes) {
  if (!pool.knobs.swap_preempted) return {};
  if (block_bytes <= 0 || pool.gpu.host_bandwidth <= 0) {
    throw InputError("preemption_mode swap: the bandwidth between GPU and host is not known");
  }
  return {static_cast<std::int64_t>(pool.knobs.swap_space / block_bytes),
          to_ticks(block_bytes / pool.gpu.host_bandwidth)};
}

// Sizes and bandwidths are per GPU, as the block is.
std::vector<engine::CacheTier> tiers_of(const catalog::PoolSpec& pool, double block_bytes) {
  std::vector<engine::CacheTier> tiers;
  for (const catalog::CacheTierSpec& tier : pool.cache_tiers) {
    if (block_bytes <= 0) throw InputError("cache tiers need the size of a KV block");
    tiers.push_back({static_cast<std::int64_t>(tier.bytes / block_bytes),
                     to_ticks(block_bytes / tier.bandwidth)});
  }
  return tiers;
}

}  // namespace

void Driver::build(const catalog::Scenario& scenario) {
  const std::size_t count = placement_.replicas.size();
  fleet_.outstanding.assign(count, 0);
  fleet_.replicas.reserve(count);
  reserved_.assign(count, 0);
  incoming_.assign(count, 0);
  want_room_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Place& place = placement_.replicas[i];
    const auto p = static_cast<std::size_t>(place.pool);
    const PoolModel& model = models_[p];
    engine::ReplicaConfig config;
    config.policy = pools_[p].engine.policy;
    config.knobs = pools_[p].knobs;
    if (model.block_tokens > 0) config.knobs.block_size = model.block_tokens;
    config.pool = {model.num_blocks, config.knobs.block_size, model.blocks_fixed};
    config.swap = swap_of(pools_[p], model.block_bytes);
    config.ranks = pools_[p].parallel.dp;
    config.stages = pools_[p].parallel.pp;
    if (spec_.pools.empty()) config.pace = engine::pace_of(scenario.speculation, scenario.seed);
    config.tiers = tiers_of(pools_[p], model.block_bytes);
    config.index = static_cast<int>(i);
    config.leap = options_.leap;
    configs_.push_back(config);
    fleet_.replicas.push_back(make_replica(static_cast<int>(i)));
    fleet_.num_blocks.push_back(model.num_blocks);
    agenda_.add(engine::never);
    result_.replicas.push_back({place.pool, place.gpus, model.num_blocks, 0, 0});
    result_.num_blocks = std::max(result_.num_blocks, model.num_blocks);
  }
  std::vector<std::string> names;
  for (const auto& [name, share] : spec_.models) names.push_back(name);
  if (names.empty()) names.push_back(pools_.front().model.name);
  services_.resize(names.size());
  if (names.size() > 1) model_draws_ = std::make_unique<workload::Stream>(scenario.seed, "model");
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    const auto it = std::find(names.begin(), names.end(), pools_[p].model.name);
    const auto s = static_cast<std::size_t>(it - names.begin());
    const bool decode = pools_[p].role == catalog::PoolRole::decode;
    disaggregated_ = disaggregated_ || decode;
    service_of_pool_.push_back(static_cast<int>(s));
    (decode ? services_[s].decode_pools : services_[s].pools).push_back(static_cast<int>(p));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto p = static_cast<std::size_t>(placement_.replicas[i].pool);
    Service& s = services_[static_cast<std::size_t>(service_of_pool_[p])];
    const bool decode = pools_[p].role == catalog::PoolRole::decode;
    (decode ? s.decode_ready : s.ready).push_back(static_cast<int>(i));
  }
  for (Service& s : services_) {
    s.router = options_.custom.router
                   ? options_.custom.router(fleet_)
                   : make_router(scenario.router, fleet_, spec_.router, scenario.seed);
    s.decode_router = make_router(spec_.router.decode, fleet_, spec_.router, scenario.seed);
  }
}

engine::Replica Driver::make_replica(int replica) {
  const auto p = static_cast<std::size_t>(pool_of(replica));
  return {configs_[static_cast<std::size_t>(replica)], *models_[p].steps, *this};
}

}  // namespace servegrid::cluster
