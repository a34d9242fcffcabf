// The cluster sections of a scenario: pools, router, transfer, operations.
#include "catalog/cluster.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "catalog/cluster_load.hpp"
#include "catalog/load.hpp"
#include "catalog/names.hpp"
#include "catalog/scenario_load.hpp"

namespace servegrid::catalog {

using units::Dimension;

namespace {

constexpr int max_pools = 64, max_replicas = 1'000'000;
constexpr std::int64_t max_gpus = 1'000'000;

PoolSpec pool_of(const Scenario& s) {
  PoolSpec pool;
  pool.name = "replicas";
  pool.model = s.model;
  pool.weights = s.weights;
  pool.gpu = s.gpu;
  pool.parallel = s.parallel;
  pool.replicas = s.replicas;
  pool.engine = s.engine;
  pool.knobs = s.knobs;
  pool.num_gpu_blocks = s.num_gpu_blocks;
  pool.kv_bytes = s.kv_bytes;
  pool.reserve_bytes = s.reserve_bytes;
  pool.weights_bytes = s.weights_bytes;
  pool.cache_tiers = s.cache_tiers;
  return pool;
}

/// One pool; what it does not say is the scenario's.
PoolSpec load_pool(const Value& v, const Value& all, const Catalog& catalog,
                   const ProfileOverrides& profiles, Scenario s) {
  const Value role = v.find("role"), replicas = v.find("replicas"), own_engine = v.find("engine"),
              own_memory = v.find("memory"), price = v.find("price");
  if (!v.find("model").present() && !all.find("model").present()) (void)v.at("model");
  load_model_part(v, catalog, profiles.model, s);
  if (replicas.present()) s.replicas = static_cast<int>(replicas.integer(1, max_replicas));
  load_replica(v, catalog, profiles.gpu, s);
  const Value engine = own_engine.present() ? own_engine : all.find("engine");
  load_engine_part(engine.present() ? engine : v.at("engine"), catalog, profiles.engine, s);
  const Value memory = own_memory.present() ? own_memory : all.find("memory");
  if (memory.present()) load_memory_part(memory, s);
  PoolSpec pool = pool_of(s);
  if (role.present()) {
    pool.role = static_cast<PoolRole>(choice(role, {"serve", "prefill", "decode"}));
  }
  if (price.present()) {
    // In the currency of the scenario's sheets, so that the pools add up.
    pool.currency = s.prices.empty() ? PriceSheet().currency : catalog.prices(s.prices[0]).currency;
    pool.price = load_money(price, pool.currency);
    if (pool.price <= 0) throw price.error("a price is more than nothing");
  }
  const Policy p = pool.engine.policy;
  const bool hands_over = p == Policy::vllm_v1 || p == Policy::sglang || p == Policy::trtllm;
  if (pool.role != PoolRole::serve && !hands_over) {
    throw role.error(pool.engine.name +
                     " is not simulated with KV caches handed over: prefill and decode pools need "
                     "vLLM V1, SGLang or TensorRT-LLM");
  }
  return pool;
}

/// A model's requests go to pools that serve them whole, or to both halves.
void check_roles(const Value& v, const std::vector<PoolSpec>& pools) {
  for (const PoolSpec& one : pools) {
    int whole = 0, prefill = 0, decode = 0;
    for (const PoolSpec& other : pools) {
      if (other.model.name != one.model.name) continue;
      whole += other.role == PoolRole::serve ? 1 : 0;
      prefill += other.role == PoolRole::prefill ? 1 : 0;
      decode += other.role == PoolRole::decode ? 1 : 0;
      if (one.role == PoolRole::prefill && other.role == PoolRole::decode &&
          one.knobs.kv_cache != other.knobs.kv_cache) {
        throw v.error(fmt::format("'{}' keeps its KV cache in {}, '{}' in {}: transfers need one",
                                  one.name, name(one.knobs.kv_cache), other.name,
                                  name(other.knobs.kv_cache)));
      }
    }
    if (whole > 0 && prefill + decode > 0) {
      throw v.error(fmt::format("{} has pools that serve whole requests beside halves of them",
                                one.model.name));
    }
    if ((prefill > 0) != (decode > 0)) {
      throw v.error(fmt::format("{} has a pool for {} only", one.model.name,
                                prefill > 0 ? "prefill" : "decode"));
    }
  }
}

std::vector<PoolSpec> load_pools(const Value& v, const Value& all, const Catalog& catalog,
                                 const ProfileOverrides& profiles, const Scenario& s) {
  for (const char* key : {"replica", "replicas"}) {
    if (const Value x = all.find(key); x.present()) {
      throw x.error("with 'pools', each of them says its own gpu, tp, ... and replicas");
    }
  }
  std::vector<PoolSpec> pools;
  const auto entries = v.entries();
  if (entries.empty() || entries.size() > max_pools) {
    throw v.error(fmt::format("expected 1 to {} pools, 'name: {{gpu: ..., tp: ...}}'", max_pools));
  }
  std::int64_t gpus = 0;
  for (const auto& [name, value] : entries) {
    pools.push_back(load_pool(value, all, catalog, profiles, s));
    pools.back().name = name;
    gpus += static_cast<std::int64_t>(pools.back().replicas) * pools.back().parallel.gpus();
  }
  if (gpus > max_gpus) throw v.error(fmt::format("{} GPUs; the limit is {}", gpus, max_gpus));
  check_roles(v, pools);
  return pools;
}

void load_models(const Value& v, const Catalog& catalog, ClusterSpec& cluster) {
  double sum = 0;
  for (const auto& [name, share] : v.entries()) {
    const std::string known = catalog.model(name).name;
    const bool served = std::any_of(cluster.pools.begin(), cluster.pools.end(),
                                    [&](const PoolSpec& p) { return p.model.name == known; });
    if (!served) throw share.error(fmt::format("no pool serves {}", known));
    cluster.models.emplace_back(known, share.quantity(Dimension::ratio, 1e-9, 1));
    sum += cluster.models.back().second;
  }
  if (std::abs(sum - 1) > 1e-6) {
    throw v.error(fmt::format("the shares add up to {:g} %, not 100 %", sum * 100));
  }
}

void check_models(const Value& v, const ClusterSpec& cluster) {
  for (const PoolSpec& pool : cluster.pools) {
    const bool only =
        std::all_of(cluster.pools.begin(), cluster.pools.end(),
                    [&](const PoolSpec& other) { return other.model.name == pool.model.name; });
    if (cluster.models.empty() && only) return;
    const bool named = std::any_of(cluster.models.begin(), cluster.models.end(),
                                   [&](const auto& m) { return m.first == pool.model.name; });
    if (!named) {
      throw v.find("pools").error(fmt::format(
          "the pools serve several models: 'models: {{{}: 50 %, ...}}' says which share "
          "of the requests each gets",
          pool.model.name));
    }
  }
}

void load_router(const Value& v, Scenario& s, RouterSpec& router) {
  if (!v.is_map()) {
    s.router = word(v);
    return;
  }
  s.router = word(v.at("policy"));
  const auto needs = [&](const Value& x, const char* policy) {
    if (s.router != policy) {
      throw x.error(fmt::format("is of {}, and the policy is {}", policy, s.router));
    }
  };
  if (const Value x = v.find("staleness"); x.present()) {
    needs(x, "prefix-aware");
    router.staleness = x.quantity(Dimension::seconds, 0, 1e7);
  }
  if (const Value x = v.find("match_threshold"); x.present()) {
    needs(x, "prefix-aware");
    router.match_threshold = x.quantity(Dimension::ratio, 0, 1);
  }
  if (const Value x = v.find("balance_absolute"); x.present()) {
    needs(x, "prefix-aware");
    router.balance_absolute = x.integer(0, 1'000'000'000);
  }
  if (const Value x = v.find("balance_relative"); x.present()) {
    needs(x, "prefix-aware");
    router.balance_relative = x.number(1, 1e9);
  }
  if (const Value x = v.find("stats_interval"); x.present()) {
    needs(x, "vllm-dp");
    router.stats_interval = x.quantity(Dimension::seconds, 0, 1e7);
  }
  if (const Value x = v.find("decode"); x.present()) router.decode = word(x);
  v.no_unknown_keys();
}

TransferSpec load_transfer(const Value& v) {
  TransferSpec transfer;
  if (const Value x = v.find("mode"); x.present()) {
    transfer.layer_wise = choice(x, {"whole", "layer-wise"}) == 1;
  }
  if (const Value x = v.find("latency"); x.present()) {
    transfer.latency = x.quantity(Dimension::seconds, 0, 1e4);
  }
  v.no_unknown_keys();
  return transfer;
}

}  // namespace

void load_cluster(const Value& v, const Catalog& catalog, const ProfileOverrides& profiles,
                  Scenario& s) {
  ClusterSpec cluster;
  bool any = false;
  const auto part = [&](const char* key, auto load) {
    const Value x = v.find(key);
    if (!x.present()) return;
    any = any || x.is_map();  // a router's name alone is nothing new
    load(x);
  };
  part("pools", [&](const Value& x) {
    cluster.pools = load_pools(x, v, catalog, profiles, s);
    const Scenario first = scenario_of_pool(s, cluster.pools.front());
    s = first;
  });
  part("models", [&](const Value& x) {
    if (cluster.pools.empty()) throw x.error("needs 'pools'");
    load_models(x, catalog, cluster);
  });
  check_models(v, cluster);
  part("router", [&](const Value& x) { load_router(x, s, cluster.router); });
  part("transfer", [&](const Value& x) { cluster.transfer = load_transfer(x); });
  part("network", [&](const Value& x) {
    cluster.network = load_network(x, catalog);
    if (!cluster.network.fabric) return;
    // The fabric is the scale-up domain.
    const auto joins = [&](Gpu& gpu) {
      gpu.fabric.domain = cluster.network.fabric->gpus;
      gpu.fabric.name = cluster.network.fabric->name;
    };
    joins(s.gpu);
    for (PoolSpec& pool : cluster.pools) joins(pool.gpu);
  });
  part("faults", [&](const Value& x) { cluster.faults = load_faults(x); });
  part("operations", [&](const Value& x) { cluster.operations = load_operations(x, cluster, s); });
  if (any) s.cluster = std::make_shared<const ClusterSpec>(std::move(cluster));
}

const ClusterSpec& cluster_of(const Scenario& scenario) {
  static const ClusterSpec none;
  return scenario.cluster ? *scenario.cluster : none;
}

Scenario scenario_of_pool(const Scenario& scenario, const PoolSpec& pool) {
  Scenario s = scenario;
  s.model = pool.model;
  s.weights = pool.weights;
  s.gpu = pool.gpu;
  s.parallel = pool.parallel;
  s.replicas = pool.replicas;
  s.engine = pool.engine;
  s.knobs = pool.knobs;
  s.num_gpu_blocks = pool.num_gpu_blocks;
  s.kv_bytes = pool.kv_bytes;
  s.reserve_bytes = pool.reserve_bytes;
  s.weights_bytes = pool.weights_bytes;
  s.cache_tiers = pool.cache_tiers;
  return s;
}

std::vector<PoolSpec> pools_of(const Scenario& scenario) {
  const ClusterSpec& cluster = cluster_of(scenario);
  return cluster.pools.empty() ? std::vector<PoolSpec>{pool_of(scenario)} : cluster.pools;
}

}  // namespace servegrid::catalog
