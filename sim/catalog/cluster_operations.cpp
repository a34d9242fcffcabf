// Network, faults and operations of a scenario.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "catalog/cluster_load.hpp"
#include "catalog/load.hpp"
#include "catalog/names.hpp"

namespace servegrid::catalog {

using units::Dimension;

namespace {

constexpr double max_seconds = 1e9;

double seconds(const Value& v, double low = 0) {
  return v.quantity(Dimension::seconds, low, max_seconds);
}

/// The N of "gpu-N"; -1 for another name.
int gpu_number(const std::string& name) {
  if (!name.starts_with("gpu-")) return -1;
  int number = -1;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + 4, end, number);
  return error == std::errc() && stop == end && number >= 0 ? number : -1;
}

FaultSpec::Event load_event(const Value& v) {
  FaultSpec::Event event;
  event.at = seconds(v.at("at"));
  int targets = 0;
  const auto target = [&](const char* key, FaultSpec::Target what) {
    if (const Value x = v.find(key); x.present()) {
      ++targets;
      event.target = what;
      event.index = static_cast<int>(x.integer(0, 1'000'000));
    }
  };
  target("replica", FaultSpec::Target::replica);
  target("gpu", FaultSpec::Target::gpu);
  target("server", FaultSpec::Target::server);
  if (targets != 1) throw v.error("a fault has exactly one of 'replica', 'gpu', 'server'");
  if (const Value x = v.find("for"); x.present()) event.duration = seconds(x, 1e-6);
  if (const Value x = v.find("slowdown"); x.present()) event.slowdown = x.number(1.0001, 1000);
  v.no_unknown_keys();
  return event;
}

AutoscaleSpec load_autoscale(const Value& v, const ClusterSpec& cluster, const Scenario& s) {
  AutoscaleSpec a;
  std::vector<std::string> names;
  for (const PoolSpec& pool : cluster.pools) names.push_back(pool.name);
  if (names.empty()) names.emplace_back("replicas");
  const Value pool = v.find("pool");
  if (!pool.present() && names.size() > 1) (void)v.at("pool");
  const auto index = static_cast<std::size_t>(pool.present() ? choice(pool, names) : 0);
  a.pool = names[index];
  const int most = cluster.pools.empty() ? s.replicas : cluster.pools[index].replicas;
  a.high_replicas = most;
  a.low_replicas = static_cast<int>(v.at("min").integer(1, most));
  a.by_kv = choice(v.at("signal"), {"queue", "kv"}) == 1;
  const auto level = [&](const char* key) {
    const Value x = v.at(key);
    return a.by_kv ? x.quantity(Dimension::ratio, 0, 1) : x.number(0, 1e9);
  };
  a.above = level("above");
  a.below = level("below");
  if (a.below >= a.above) throw v.find("below").error("must be less than 'above'");
  if (const Value x = v.find("interval"); x.present()) a.interval = seconds(x, 1e-3);
  if (const Value x = v.find("delay"); x.present()) a.delay = seconds(x);
  if (const Value x = v.find("cooldown"); x.present()) a.cooldown = seconds(x);
  v.no_unknown_keys();
  return a;
}

}  // namespace

FabricSpec load_fabric(const Value& v, const std::string& name, const std::string& file) {
  constexpr std::size_t max_links = 20'000;
  FabricSpec fabric;
  fabric.name = name;
  fabric.file = file;
  (void)text_or(v, "description");
  (void)text_or(v, "source");
  (void)text_or(v, "date");
  const Value links = v.at("links");
  std::set<int> gpus;
  for (const Value& item : links.items()) {
    FabricSpec::Link link;
    link.from = word(item.at("from"));
    link.to = word(item.at("to"));
    if (link.from == link.to) throw item.error("joins a node to itself");
    link.bandwidth = item.at("bandwidth").quantity(Dimension::bytes_per_second, 1, 1e18);
    if (const Value x = item.find("latency"); x.present()) {
      link.latency = x.quantity(Dimension::seconds, 0, 10);
    }
    if (const Value x = item.find("one_way"); x.present()) link.one_way = x.boolean();
    item.no_unknown_keys();
    for (const std::string& end : {link.from, link.to}) {
      if (const int number = gpu_number(end); number >= 0) gpus.insert(number);
    }
    fabric.links.push_back(std::move(link));
    if (fabric.links.size() > max_links) throw item.error("a fabric has at most 20000 links");
  }
  v.no_unknown_keys();
  if (gpus.empty()) throw links.error("no link ends at a GPU: they are called gpu-0, gpu-1, ...");
  fabric.gpus = static_cast<int>(gpus.size());
  if (*gpus.rbegin() != fabric.gpus - 1) {
    throw links.error(
        fmt::format("has gpu-{}, but not all GPUs below it: they count from 0", *gpus.rbegin()));
  }
  return fabric;
}

NetworkSpec load_network(const Value& v, const Catalog& catalog) {
  NetworkSpec network;
  if (const Value x = v.find("servers_per_leaf"); x.present()) {
    network.servers_per_leaf = static_cast<int>(x.integer(1, 1'000'000));
  }
  if (const Value x = v.find("oversubscription"); x.present()) {
    network.oversubscription = x.number(1, 1000);
  }
  if (const Value x = v.find("latency"); x.present()) {
    network.latency = x.quantity(Dimension::seconds, 0, 10);
  }
  if (const Value x = v.find("fabric"); x.present()) {
    for (const char* key : {"servers_per_leaf", "oversubscription"}) {
      if (const Value y = v.find(key); y.present()) {
        throw y.error("is of the generated platform; 'fabric' replaces it");
      }
    }
    const std::string name = word(x);
    std::string path;
    try {
      path = catalog.locate("fabrics", name, {});
    } catch (const InputError& e) {
      throw x.error(e.what());
    }
    network.fabric = load_fabric(Value::from_file(path), stem_of(path), path);
  }
  v.no_unknown_keys();
  return network;
}

FaultSpec load_faults(const Value& v) {
  FaultSpec faults;
  if (const Value x = v.find("events"); x.present()) {
    for (const Value& item : x.items()) {
      if (faults.events.size() >= 10'000) throw item.error("at most 10000 events");
      faults.events.push_back(load_event(item));
    }
  }
  if (const Value x = v.find("mttf"); x.present()) faults.mttf = seconds(x, 1e-3);
  if (const Value x = v.find("mttr"); x.present()) faults.mttr = seconds(x, 1e-6);
  if ((faults.mttf > 0) != (faults.mttr > 0)) {
    throw v.error("'mttf' (of one GPU) and 'mttr' belong together");
  }
  if (const Value x = v.find("until"); x.present()) {
    if (faults.mttf <= 0) throw x.error("ends the faults that 'mttf' draws, and there are none");
    faults.until = seconds(x);
  }
  if (const Value retry = v.find("retry"); retry.present()) {
    faults.attempts = static_cast<int>(retry.at("attempts").integer(1, 1000));
    if (const Value x = retry.find("delay"); x.present()) faults.retry_delay = seconds(x);
    retry.no_unknown_keys();
  }
  v.no_unknown_keys();
  return faults;
}

OperationsSpec load_operations(const Value& v, const ClusterSpec& cluster, const Scenario& s) {
  OperationsSpec operations;
  if (const Value x = v.find("load_bandwidth"); x.present()) {
    operations.load_bandwidth = x.quantity(Dimension::bytes_per_second, 1e3, 1e15);
  }
  if (const Value x = v.find("warm_up"); x.present()) operations.warm_up = seconds(x);
  if (const Value x = v.find("cold_start"); x.present()) operations.cold_start = x.boolean();
  if (const Value x = v.find("rolling_restart"); x.present()) {
    OperationsSpec::RollingRestart restart;
    restart.at = seconds(x.at("at"));
    if (const Value y = x.find("drain"); y.present()) restart.drain = seconds(y);
    x.no_unknown_keys();
    operations.rolling_restart = restart;
  }
  if (const Value x = v.find("autoscale"); x.present()) {
    if (x.is_list()) {
      for (const Value& item : x.items()) {
        operations.autoscale.push_back(load_autoscale(item, cluster, s));
      }
    } else {
      operations.autoscale.push_back(load_autoscale(x, cluster, s));
    }
  }
  std::set<std::string> scaled;
  for (const AutoscaleSpec& a : operations.autoscale) {
    if (!scaled.insert(a.pool).second) {
      throw v.find("autoscale").error(fmt::format("scales '{}' twice", a.pool));
    }
  }
  v.no_unknown_keys();
  return operations;
}

}  // namespace servegrid::catalog
