#include "cli/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "metrics/version.hpp"

namespace servegrid::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string metric(const study::Point& p, const char* name, int decimals) {
  const auto value = p.metric(name);
  return value ? fixed(*value, decimals) : std::string("-");
}

std::string milliseconds(const study::Point& p, const char* name) {
  const auto value = p.metric(name);
  if (!value) return "-";
  return *value >= 1e4 ? fixed(*value, 0) : *value >= 100 ? fixed(*value, 1) : fixed(*value, 2);
}

std::string percent(double share) {
  return fixed(100 * share, 1);
}

std::string load_of(const study::Point& p) {
  if (p.users > 0) return std::to_string(p.users);
  if (p.rate > 0) return number(p.rate, 3) + " /s";
  return p.workload.empty() ? "-" : p.workload;
}

std::string prefix_hit(const study::Point& p) {
  const auto value = p.metric("prefix_cache_hit_rate");
  return value ? percent(*value) : "-";
}

// One row a group: the columns that a planner compares classes, tenants and replicas by.
std::string groups_text(const std::string& what, const std::vector<metrics::Group>& groups) {
  if (groups.empty()) return {};
  const auto cell = [](const metrics::Group& g, const char* name, double scale, int decimals) {
    for (const auto& [key, value] : g.summary)
      if (key == name) return fixed(scale * value, decimals);
    return std::string("-");
  };
  Table table({what, "requests", "completed", "goodput /s", "in SLO %", "TTFT ms mean",
               "TTFT ms p99", "TPOT ms mean", "TPOT ms p99", "out tok/s", "cached %", "busy %",
               "KV use %"});
  for (const auto& g : groups)
    table.row({g.name, cell(g, "requests", 1, 0), cell(g, "completed", 1, 0),
               cell(g, "request_goodput", 1, 2), cell(g, "slo_attainment", 100, 1),
               cell(g, "mean_ttft_ms", 1, 1), cell(g, "p99_ttft_ms", 1, 1),
               cell(g, "mean_tpot_ms", 1, 2), cell(g, "p99_tpot_ms", 1, 2),
               cell(g, "output_throughput", 1, 0), cell(g, "cached_prompt_share", 100, 1),
               cell(g, "busy_fraction", 100, 1), cell(g, "mean_kv_cache_usage", 100, 1)});
  return '\n' + table.text("  ");
}

}  // namespace

Table points_table(const std::vector<study::Point>& points) {
  const std::vector<std::string> header = {
      "set-up",       "users",       "resident",     "running",     "waiting",
      "TTFT ms mean", "TTFT ms p99", "TPOT ms mean", "TPOT ms p99", "out tok/s",
      "preempt",      "KV use %",    "prefix hit %", "what binds"};
  Table table(header);
  for (const auto& p : points) {
    std::vector<std::string> cells = {p.set_up, load_of(p)};
    if (p.feasible) {
      const std::vector<std::string> values = {
          (p.may_not_fit ? "~" : "") + fixed(p.resident * p.replicas, 2),
          fixed(p.load.running, 1),
          fixed(p.load.waiting, 1),
          milliseconds(p, "mean_ttft_ms"),
          milliseconds(p, "p99_ttft_ms"),
          milliseconds(p, "mean_tpot_ms"),
          milliseconds(p, "p99_tpot_ms"),
          metric(p, "output_throughput", 0),
          metric(p, "preemptions", 0),
          percent(p.load.kv_use_mean),
          prefix_hit(p),
          p.binds + (p.partial.empty() ? "" : "; PARTIAL: " + p.partial)};
      cells.insert(cells.end(), values.begin(), values.end());
    } else {
      cells.resize(13, "-");
      cells[2] = "no";
      cells.push_back(p.reason + (p.nearest.empty() ? "" : "; " + p.nearest));
    }
    table.row(cells);
  }
  return table;
}

std::string points_csv(const std::vector<study::Point>& points) {
  // Columns of the summary in the order of the first point that has them; a metric may be
  // undefined.
  std::vector<std::string> metrics;
  for (const auto& p : points) {
    for (const auto& [name, value] : p.summary) {
      if (std::find(metrics.begin(), metrics.end(), name) == metrics.end()) metrics.push_back(name);
    }
  }
  std::string out =
      "label,set_up,model,weights,gpu,engine,gpus,replicas,users,request_rate,feasible,reason,"
      "nearest,context_tokens,kv_capacity_tokens,resident_conversations,may_not_fit,binds,trust,"
      "partial";
  for (const auto& name : metrics) out += ',' + name;
  out += '\n';
  for (const auto& p : points) {
    out += fmt::format("{},{},{},{},{},{},{},{},{},{:.10g},{},{},{},{},{},{:.10g},{},{},{},{}",
                       csv_field(p.label), csv_field(p.set_up), csv_field(p.model), p.weights,
                       csv_field(p.gpu), csv_field(p.engine), p.gpus, p.replicas, p.users, p.rate,
                       p.feasible, csv_field(p.reason), csv_field(p.nearest), p.context_tokens,
                       p.kv_tokens, p.resident, p.may_not_fit, csv_field(p.binds),
                       csv_field(p.trust), csv_field(p.partial));
    for (const auto& name : metrics) {
      const auto value = p.metric(name);
      out += value ? fmt::format(",{:.10g}", *value) : ",";
    }
    out += '\n';
  }
  return out;
}

Table costs_table(const std::vector<study::SetUp>& set_ups) {
  Table table({"set-up", "price sheet", "a month", "per M output tokens", "sold"});
  for (const auto& s : set_ups) {
    for (const auto& cost : s.costs)
      table.row({s.name, cost.sheet, fixed(cost.per_month, 0) + " " + cost.currency,
                 fixed(cost.per_million_tokens, 3) + " " + cost.currency,
                 cost.sold > s.gpus ? fmt::format("not singly: {} GPUs for {} {}", cost.sold,
                                                  fixed(cost.sold_per_month, 0), cost.currency)
                                    : "in this number"});
    for (const auto& sheet : s.unpriced) table.row({s.name, sheet, "-", "-", "no offer"});
  }
  return table;
}

std::string points_json(const std::string& command, const std::vector<study::Point>& points,
                        const std::vector<study::SetUp>& set_ups,
                        const std::vector<std::string>& headline) {
  Json list = Json::array(), ups = Json::array();
  for (const auto& p : points) list.push_back(Json::parse(study::to_text(p)));
  for (const auto& s : set_ups) {
    Json costs = Json::array();
    for (const auto& c : s.costs) {
      costs.push_back({{"sheet", c.sheet},
                       {"currency", c.currency},
                       {"per_month", c.per_month},
                       {"sold_together", c.sold},
                       {"sold_per_month", c.sold_per_month},
                       {"per_million_output_tokens", c.per_million_tokens}});
      for (const auto& [pool, month] : c.pools) costs.back()["pools"][pool] = month;
    }
    Json at = nullptr;
    if (s.at_slo)
      at = {{"users", s.at_slo->none ? Json(nullptr) : Json(s.at_slo->users)},
            {"interpolated", s.at_slo->interpolated},
            {"at_least", s.at_slo->at_least}};
    ups.push_back({{"set_up", s.name},
                   {"gpu", s.gpu},
                   {"gpus", s.gpus},
                   {"resident_conversations", s.resident},
                   {"context_tokens", s.context_tokens},
                   {"best_output_throughput", s.best_tokens_per_second},
                   {"best_users", s.best_users},
                   {"users_at_tpot_slo", at},
                   {"costs", costs},
                   {"no_offer_in", s.unpriced}});
  }
  const Json json = {{"command", command},
                     {"format_version", metrics::format_version},
                     {"model_version", metrics::model_version},
                     {"points", list},
                     {"set_ups", ups},
                     {"headline", headline}};
  return json.dump(2) + '\n';
}

std::string run_text(const study::Point& p) {
  std::string out =
      fmt::format("{} in {} on {} ({}), {}\n", p.model, p.weights, p.gpu_title, p.set_up, p.engine);
  const auto line = [&](const std::string& what, const std::string& value) {
    out += fmt::format("  {:<28} {}\n", what, value);
  };
  if (!p.partial.empty()) line("PARTIAL", p.partial + "; what follows is of what ran until then");
  line("load", p.users > 0 ? fmt::format("{} users, {}", p.users, p.workload)
                           : load_of(p) + ", " + p.workload);
  line("resident conversations",
       fmt::format("{} ({} whole) of {} tokens{}", fixed(p.resident * p.replicas, 2),
                   std::floor(p.resident * p.replicas), fixed(double(p.context_tokens), 0),
                   p.may_not_fit ? ", may not fit" : ""));
  line("running / waiting requests", fixed(p.load.running, 1) + " / " + fixed(p.load.waiting, 1));
  std::string ended = metric(p, "completed", 0);
  for (const char* other : {"rejected", "failed", "cancelled", "in_flight"})
    if (p.metric(other).value_or(0) > 0)
      ended += fmt::format(", {} {}", other, metric(p, other, 0));
  std::replace(ended.begin(), ended.end(), '_', ' ');
  line("requests completed", ended);
  line("duration", metric(p, "duration", 1) + " s");
  line("request throughput", metric(p, "request_throughput", 3) + " /s");
  line("output tokens/s", metric(p, "output_throughput", 1));
  line("all tokens/s", metric(p, "total_token_throughput", 1));
  Table latency({"ms", "mean", "median", "p99"});
  for (const auto& [name, title] : {std::pair{"ttft", "TTFT"},
                                    {"ttft_queue", "  queue"},
                                    {"ttft_prefill", "  prefill"},
                                    {"ttft_transfer", "  transfer"},
                                    {"ttft_first_decode", "  first decode"},
                                    {"tpot", "TPOT"},
                                    {"itl", "ITL"},
                                    {"e2el", "E2EL"}}) {
    const std::string mean = std::string("mean_") + name + "_ms";
    if (title[0] == ' ' && !p.metric(mean)) continue;  // only prefill and decode apart have all
    latency.row({title, milliseconds(p, mean.c_str()),
                 milliseconds(p, (std::string("median_") + name + "_ms").c_str()),
                 milliseconds(p, (std::string("p99_") + name + "_ms").c_str())});
  }
  out += '\n' + latency.text("  ") + '\n';
  line("preemptions", metric(p, "preemptions", 0));
  line("KV use mean / peak",
       percent(p.load.kv_use_mean) + " % / " + percent(p.load.kv_use_peak) + " %");
  line("prefix cache hit rate", prefix_hit(p) + (prefix_hit(p) == "-" ? "" : " %"));
  line("what binds", p.binds);
  double total = 0;
  for (const double s : p.load.seconds_by_bound) total += s;
  static const std::array<const char*, 5> names = {"compute", "memory", "fabric", "latency",
                                                   "host"};
  std::string shares;
  for (std::size_t i = 0; total > 0 && i < names.size(); ++i)
    shares += fmt::format("{}{} {} %", shares.empty() ? "" : ", ", names.at(i),
                          percent(p.load.seconds_by_bound.at(i) / total));
  line("step time", shares);
  line("keeps up?", p.verdict);
  line("trust", p.trust);
  const auto interval = [&](const char* title, const char* name, const char* unit, int digits) {
    for (const auto& i : p.intervals) {
      if (i.metric == name)
        line(title, fixed(i.low, digits) + " to " + fixed(i.high, digits) + unit);
    }
  };
  interval("90 % interval of mean TTFT", "mean_ttft_ms", " ms", 0);
  interval("  of mean TPOT", "mean_tpot_ms", " ms", 1);
  interval("  of output tokens/s", "output_throughput", "", 0);
  for (const auto& note : p.notes) line("note", note);
  out += groups_text("class", p.classes) + groups_text("tenant", p.tenants) +
         groups_text("replica", p.by_replica);
  return out;
}

std::string run_csv(const study::Point& p) {
  std::string names, values;
  for (const auto& [name, value] : p.summary) {
    if (!names.empty()) {
      names += ',';
      values += ',';
    }
    names += name;
    values += fmt::format("{:.10g}", value);
  }
  if (!p.partial.empty()) {
    names += ",partial";
    values += ',' + csv_field(p.partial);
  }
  return names + '\n' + values + '\n';
}

}  // namespace servegrid::cli
