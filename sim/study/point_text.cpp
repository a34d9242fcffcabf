// A point as JSON text, for pipes between processes and for output.
#include <nlohmann/json.hpp>

#include "study/run.hpp"
#include "units/error.hpp"

namespace servegrid::study {

namespace {
using Json = nlohmann::ordered_json;

Json optional(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<double> optional(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<double>();
}

Json load_json(const Load& l) {
  return {{"running", l.running},
          {"waiting", l.waiting},
          {"kv_use_mean", l.kv_use_mean},
          {"kv_use_peak", l.kv_use_peak},
          {"busy_seconds", l.busy_seconds},
          {"seconds_by_bound",
           {{"compute", l.seconds_by_bound[0]},
            {"memory", l.seconds_by_bound[1]},
            {"fabric", l.seconds_by_bound[2]},
            {"latency", l.seconds_by_bound[3]},
            {"host", l.seconds_by_bound[4]}}},
          {"flops_per_gpu", l.flops},
          {"bytes_per_gpu", l.bytes}};
}

Load load_from(const Json& j) {
  Load l;
  l.running = j.at("running");
  l.waiting = j.at("waiting");
  l.kv_use_mean = j.at("kv_use_mean");
  l.kv_use_peak = j.at("kv_use_peak");
  l.busy_seconds = j.at("busy_seconds");
  const auto& bound = j.at("seconds_by_bound");
  l.seconds_by_bound = {bound.at("compute"), bound.at("memory"), bound.at("fabric"),
                        bound.at("latency"), bound.at("host")};
  l.flops = j.at("flops_per_gpu");
  l.bytes = j.at("bytes_per_gpu");
  return l;
}

Json groups_json(const std::vector<metrics::Group>& groups) {
  Json out = Json::object();
  for (const auto& group : groups) {
    Json& one = out[group.name] = Json::object();
    for (const auto& [name, value] : group.summary) one[name] = value;
  }
  return out;
}

std::vector<metrics::Group> groups_from(const Json& j) {
  std::vector<metrics::Group> out;
  for (const auto& [name, one] : j.items()) {
    out.push_back({name, {}});
    for (const auto& [key, value] : one.items())
      out.back().summary.emplace_back(key, value.get<double>());
  }
  return out;
}

}  // namespace

std::string to_text(const Point& p) {
  Json summary = Json::object();
  for (const auto& [name, value] : p.summary) summary[name] = value;
  Json intervals = Json::object();
  for (const auto& i : p.intervals) intervals[i.metric] = {i.low, i.high};
  Json json = {{"label", p.label},
               {"model", p.model},
               {"weights", p.weights},
               {"gpu", p.gpu},
               {"gpu_title", p.gpu_title},
               {"engine", p.engine},
               {"gpus", p.gpus},
               {"replicas", p.replicas},
               {"set_up", p.set_up},
               {"workload", p.workload},
               {"users", p.users},
               {"request_rate", p.rate},
               {"slo_tpot_s", optional(p.slo_tpot)},
               {"slo_ttft_s", optional(p.slo_ttft)},
               {"prices", p.prices},
               {"feasible", p.feasible},
               {"reason", p.reason},
               {"nearest", p.nearest},
               {"may_not_fit", p.may_not_fit},
               {"context_tokens", p.context_tokens},
               {"kv_capacity_tokens", p.kv_tokens},
               {"resident_conversations", p.resident},
               {"binds", p.binds},
               {"trust", p.trust},
               {"verdict", p.verdict},
               {"saturated", p.saturated},
               {"partial", p.partial.empty() ? Json(nullptr) : Json(p.partial)},
               {"notes", p.notes},
               {"classes", groups_json(p.classes)},
               {"tenants", groups_json(p.tenants)},
               {"by_replica", groups_json(p.by_replica)},
               {"summary", summary},
               {"intervals_90", intervals},
               {"load", load_json(p.load)}};
  if (p.pools.empty()) return json.dump();
  Json pools = Json::array();
  for (const PoolPrice& pool : p.pools) {
    pools.push_back({{"name", pool.name},
                     {"gpu", pool.gpu},
                     {"gpus", pool.gpus},
                     {"gpus_per_replica", pool.group},
                     {"own_price_per_gpu_month",
                      pool.per_gpu_month > 0 ? Json(pool.per_gpu_month) : Json(nullptr)}});
  }
  json["pools"] = pools;
  json["currency"] = p.currency;
  return json.dump();
}

Point from_text(const std::string& text) {
  try {
    const Json j = Json::parse(text);
    Point p;
    p.label = j.at("label");
    p.model = j.at("model");
    p.weights = j.at("weights");
    p.gpu = j.at("gpu");
    p.gpu_title = j.at("gpu_title");
    p.engine = j.at("engine");
    p.gpus = j.at("gpus");
    p.replicas = j.at("replicas");
    p.set_up = j.at("set_up");
    p.workload = j.at("workload");
    p.users = j.at("users");
    p.rate = j.at("request_rate");
    p.slo_tpot = optional(j.at("slo_tpot_s"));
    p.slo_ttft = optional(j.at("slo_ttft_s"));
    p.prices = j.at("prices").get<std::vector<std::string>>();
    if (j.contains("pools")) {
      for (const Json& pool : j.at("pools")) {
        const Json& own = pool.at("own_price_per_gpu_month");
        p.pools.push_back({pool.at("name"), pool.at("gpu"), pool.at("gpus"),
                           pool.at("gpus_per_replica"), own.is_null() ? 0 : own.get<double>()});
      }
      p.currency = j.at("currency");
    }
    p.feasible = j.at("feasible");
    p.reason = j.at("reason");
    p.nearest = j.at("nearest");
    p.may_not_fit = j.at("may_not_fit");
    p.context_tokens = j.at("context_tokens");
    p.kv_tokens = j.at("kv_capacity_tokens");
    p.resident = j.at("resident_conversations");
    p.binds = j.at("binds");
    p.trust = j.at("trust");
    p.verdict = j.at("verdict");
    p.saturated = j.at("saturated");
    if (!j.at("partial").is_null()) p.partial = j.at("partial");
    p.notes = j.at("notes").get<std::vector<std::string>>();
    p.classes = groups_from(j.at("classes"));
    p.tenants = groups_from(j.at("tenants"));
    p.by_replica = groups_from(j.at("by_replica"));
    for (const auto& [name, value] : j.at("summary").items())
      p.summary.emplace_back(name, value.get<double>());
    for (const auto& [name, value] : j.at("intervals_90").items())
      p.intervals.push_back({name, value.at(0), value.at(1)});
    p.load = load_from(j.at("load"));
    return p;
  } catch (const Json::exception& e) {
    throw RunError(std::string("a worker's result cannot be read: ") + e.what());
  }
}

}  // namespace servegrid::study
