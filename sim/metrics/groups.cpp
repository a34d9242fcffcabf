#include "metrics/groups.hpp"

#include <algorithm>

#include "metrics/quantile.hpp"

namespace servegrid::metrics {

namespace {

struct Part {
  std::int64_t requests = 0, completed = 0, rejected = 0, failed = 0, cancelled = 0, in_flight = 0;
  std::int64_t preemptions = 0, good = 0;
  double input = 0, output = 0, cached = 0;
  bool objectives = false;
  std::vector<double> ttft, tpot, e2el;  // [ms]
};

void add(Part& p, const RequestRecord& r, const Objectives& o, bool measured) {
  ++p.requests;
  p.rejected += r.outcome == Outcome::rejected ? 1 : 0;
  p.failed += r.outcome == Outcome::failed ? 1 : 0;
  p.cancelled += r.outcome == Outcome::cancelled ? 1 : 0;
  p.in_flight += r.outcome == Outcome::in_flight ? 1 : 0;
  p.preemptions += r.preemptions;
  p.objectives = p.objectives || o.any();
  if (r.outcome != Outcome::completed) return;
  ++p.completed;
  p.input += static_cast<double>(r.prompt_tokens);
  p.output += static_cast<double>(r.output_tokens);
  p.cached += static_cast<double>(r.cached_tokens);
  p.good += meets(r, o) ? 1 : 0;
  if (!measured) return;
  p.ttft.push_back(1e3 * to_seconds(r.first_token - r.arrival));
  p.e2el.push_back(1e3 * to_seconds(r.finish - r.arrival));
  if (r.output_tokens > 1) {
    p.tpot.push_back(1e3 * to_seconds(r.finish - r.first_token) /
                     static_cast<double>(r.output_tokens - 1));
  }
}

void add_latency(Summary& out, const std::string& name, std::vector<double>& ms) {
  if (ms.empty()) return;
  out.emplace_back("mean_" + name, moments(ms).mean);
  out.emplace_back("median_" + name, quantile(ms, 0.5));
  out.emplace_back("p99_" + name, quantile(ms, 0.99));
}

Summary summary_of(Part& p, double seconds) {
  Summary out;
  const auto put = [&](const char* name, double value) { out.emplace_back(name, value); };
  put("requests", static_cast<double>(p.requests));
  put("completed", static_cast<double>(p.completed));
  if (p.rejected > 0) put("rejected", static_cast<double>(p.rejected));
  if (p.failed > 0) put("failed", static_cast<double>(p.failed));
  if (p.cancelled > 0) put("cancelled", static_cast<double>(p.cancelled));
  if (p.in_flight > 0) put("in_flight", static_cast<double>(p.in_flight));
  put("total_input_tokens", p.input);
  put("total_output_tokens", p.output);
  if (seconds > 0) {
    put("request_throughput", static_cast<double>(p.completed) / seconds);
    if (p.objectives) put("request_goodput", static_cast<double>(p.good) / seconds);
    put("output_throughput", p.output / seconds);
  }
  if (p.objectives && p.requests > 0) {
    put("slo_attainment", static_cast<double>(p.good) / static_cast<double>(p.requests));
  }
  add_latency(out, "ttft_ms", p.ttft);
  add_latency(out, "tpot_ms", p.tpot);
  add_latency(out, "e2el_ms", p.e2el);
  put("preemptions", static_cast<double>(p.preemptions));
  if (p.input > 0) put("cached_prompt_share", p.cached / p.input);
  return out;
}

// `key`: the group of a request, in the order in which groups are told.
template <typename Key>
std::vector<Group> groups_of(const RunResult& result, const Grouping& g,
                             const std::vector<std::string>& names, const Key& key) {
  std::vector<Part> parts(names.size());
  for (const RequestRecord& r : result.requests) {
    const auto id = static_cast<std::size_t>(r.id);
    const std::size_t group = key(r);
    if (group >= parts.size()) continue;  // ended before it was sent to a replica
    add(parts[group], r, g.classes[static_cast<std::size_t>(r.class_index)].objectives,
        id >= g.measured.size() || g.measured[id]);
  }
  std::vector<Group> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    out.push_back({names[i], summary_of(parts[i], to_seconds(result.end))});
  }
  return out;
}

}  // namespace

std::vector<Group> by_class(const RunResult& result, const Grouping& grouping) {
  std::vector<std::string> names;
  for (const ClassInfo& c : grouping.classes) names.push_back(c.name);
  return groups_of(result, grouping, names,
                   [](const RequestRecord& r) { return static_cast<std::size_t>(r.class_index); });
}

std::vector<Group> by_tenant(const RunResult& result, const Grouping& grouping) {
  std::vector<std::string> names;
  std::vector<std::size_t> tenant;  // of each class
  for (const ClassInfo& c : grouping.classes) {
    const auto it = std::find(names.begin(), names.end(), c.tenant);
    tenant.push_back(static_cast<std::size_t>(it - names.begin()));
    if (it == names.end()) names.push_back(c.tenant);
  }
  return groups_of(result, grouping, names, [&](const RequestRecord& r) {
    return tenant[static_cast<std::size_t>(r.class_index)];
  });
}

std::vector<Group> by_replica(const RunResult& result, const Grouping& grouping) {
  std::vector<std::string> names;
  for (int i = 0; i < grouping.replicas; ++i) names.push_back(std::to_string(i));
  std::vector<Group> out = groups_of(result, grouping, names, [](const RequestRecord& r) {
    return static_cast<std::size_t>(r.replica);
  });
  struct Load {
    double busy = 0, running = 0, waiting = 0, blocks = 0;
  };
  std::vector<Load> loads(names.size());
  for (const Epoch& e : result.timeline) {
    const Ticks n = e.steps;
    const double seconds = to_seconds(n * e.first_step + e.step_growth * (n * (n - 1) / 2));
    Load& l = loads[static_cast<std::size_t>(e.replica)];
    l.busy += seconds;
    l.running += seconds * static_cast<double>(e.running);
    l.waiting += seconds * static_cast<double>(e.waiting);
    l.blocks += seconds * static_cast<double>(e.blocks_used);
  }
  const double whole = to_seconds(result.end);
  if (whole <= 0 || result.timeline.empty()) return out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    Summary& s = out[i].summary;
    s.emplace_back("busy_fraction", loads[i].busy / whole);
    s.emplace_back("mean_running", loads[i].running / whole);
    s.emplace_back("mean_waiting", loads[i].waiting / whole);
    if (result.num_blocks <= 0) continue;
    s.emplace_back("mean_kv_cache_usage",
                   loads[i].blocks / whole / static_cast<double>(result.num_blocks));
  }
  return out;
}

}  // namespace servegrid::metrics
