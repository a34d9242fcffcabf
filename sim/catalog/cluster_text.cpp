// The cluster sections as YAML that reads back as the same.
#include <fmt/core.h>

#include "catalog/cluster_load.hpp"
#include "catalog/load.hpp"
#include "catalog/names.hpp"
#include "catalog/scenario_load.hpp"
#include "catalog/tree.hpp"

namespace servegrid::catalog {

using units::Dimension;
using units::exact;

namespace {

std::string seconds(double s) {
  return exact(s, Dimension::seconds);
}

std::string pool_text(const Scenario& s, const PoolSpec& pool, const Catalog& catalog) {
  constexpr const char* roles[] = {"serve", "prefill", "decode"};
  std::string out = fmt::format("  {}:\n    role: {}\n", yaml_scalar(pool.name, false),
                                roles[static_cast<int>(pool.role)]);
  out += "    model: " + reference(pool.model.name, pool.model.file, "models", catalog) + "\n";
  out += fmt::format("    weights: {}\n    gpu: {}\n", name(pool.weights),
                     reference(pool.gpu.name, pool.gpu.file, "hw_profiles", catalog));
  const Parallelism& p = pool.parallel;
  out += fmt::format("    tp: {}\n    pp: {}\n    ep: {}\n    dp: {}\n    replicas: {}\n", p.tp,
                     p.pp, p.ep, p.dp, pool.replicas);
  out += "    engine:\n      profile: " +
         reference(pool.engine.name, pool.engine.file, "engines", catalog) + "\n";
  for (const auto& [knob, value] : write_knobs(pool.knobs, pool.engine.policy)) {
    out += "      " + knob + ": " + value + "\n";
  }
  if (pool.price > 0) out += fmt::format("    price: {} {}/month\n", pool.price, pool.currency);
  const std::string memory = memory_text(scenario_of_pool(s, pool));
  if (!memory.empty()) out += "    " + memory;
  return out;
}

std::string router_text(const Scenario& s, const RouterSpec& router) {
  std::string out = "router: {policy: " + yaml_scalar(s.router, true);
  if (s.router == "prefix-aware") {
    out += fmt::format(
        ", staleness: {}, match_threshold: {}, balance_absolute: {}, balance_relative: {}",
        seconds(router.staleness), exact(router.match_threshold, Dimension::ratio),
        router.balance_absolute, router.balance_relative);
  }
  if (s.router == "vllm-dp") out += ", stats_interval: " + seconds(router.stats_interval);
  return out + ", decode: " + yaml_scalar(router.decode, true) + "}\n";
}

}  // namespace

std::string network_text(const NetworkSpec& network, const Catalog& catalog) {
  std::string out = "network: {latency: " + seconds(network.latency);
  if (network.fabric) {
    return out + ", fabric: " +
           reference(network.fabric->name, network.fabric->file, "fabrics", catalog) + "}\n";
  }
  if (network.servers_per_leaf > 0) {
    out += fmt::format(", servers_per_leaf: {}", network.servers_per_leaf);
  }
  return out + fmt::format(", oversubscription: {}}}\n", network.oversubscription);
}

std::string faults_text(const FaultSpec& faults) {
  std::string out;
  constexpr const char* targets[] = {"replica", "gpu", "server"};
  if (!faults.events.empty()) out += "  events:\n";
  for (const FaultSpec::Event& e : faults.events) {
    out += fmt::format("    - {{at: {}, {}: {}", seconds(e.at), targets[static_cast<int>(e.target)],
                       e.index);
    if (e.duration > 0) out += ", for: " + seconds(e.duration);
    if (e.slowdown > 0) out += fmt::format(", slowdown: {}", e.slowdown);
    out += "}\n";
  }
  if (faults.mttf > 0) {
    out += fmt::format("  mttf: {}\n  mttr: {}\n", seconds(faults.mttf), seconds(faults.mttr));
  }
  if (faults.until) out += "  until: " + seconds(*faults.until) + "\n";
  if (faults.attempts > 1) {
    out += fmt::format("  retry: {{attempts: {}, delay: {}}}\n", faults.attempts,
                       seconds(faults.retry_delay));
  }
  return out.empty() ? out : "faults:\n" + out;
}

std::string operations_text(const OperationsSpec& o) {
  std::string out = "operations:\n";
  if (o.load_bandwidth > 0) {
    out += "  load_bandwidth: " + exact(o.load_bandwidth, Dimension::bytes_per_second) + "\n";
  }
  out += fmt::format("  warm_up: {}\n  cold_start: {}\n", seconds(o.warm_up), o.cold_start);
  if (o.rolling_restart) {
    out += fmt::format("  rolling_restart: {{at: {}, drain: {}}}\n", seconds(o.rolling_restart->at),
                       seconds(o.rolling_restart->drain));
  }
  if (!o.autoscale.empty()) out += "  autoscale:\n";
  for (const AutoscaleSpec& a : o.autoscale) {
    const auto level = [&](double x) {
      return a.by_kv ? exact(x, Dimension::ratio) : fmt::format("{}", x);
    };
    out += fmt::format(
        "    - {{pool: {}, min: {}, signal: {}, above: {}, below: {}, interval: {}, delay: {}, "
        "cooldown: {}}}\n",
        yaml_scalar(a.pool, true), a.low_replicas, a.by_kv ? "kv" : "queue", level(a.above),
        level(a.below), seconds(a.interval), seconds(a.delay), seconds(a.cooldown));
  }
  return out;
}

std::string cluster_text(const Scenario& s, const Catalog& catalog) {
  if (!s.cluster) return "router: " + yaml_scalar(s.router, false) + "\n";
  const ClusterSpec& cluster = *s.cluster;
  std::string out;
  if (!cluster.pools.empty()) out += "pools:\n";
  for (const PoolSpec& pool : cluster.pools) out += pool_text(s, pool, catalog);
  if (!cluster.models.empty()) out += "models:\n";
  for (const auto& [model, share] : cluster.models) {
    out += fmt::format("  {}: {}\n", yaml_scalar(model, false), exact(share, Dimension::ratio));
  }
  out += router_text(s, cluster.router);
  out += fmt::format("transfer: {{mode: {}, latency: {}}}\n",
                     cluster.transfer.layer_wise ? "layer-wise" : "whole",
                     seconds(cluster.transfer.latency));
  out += network_text(cluster.network, catalog);
  out += faults_text(cluster.faults);
  return out + operations_text(cluster.operations);
}

}  // namespace servegrid::catalog
