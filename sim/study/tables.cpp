#include "study/tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "metrics/atomic_write.hpp"
#include "metrics/chrome_trace.hpp"
#include "metrics/steady.hpp"

namespace servegrid::study {

using catalog::LengthSpec;
using catalog::WorkloadSpec;

namespace {

metrics::Objectives objectives(const catalog::SloSpec& own, const catalog::SloSpec& all) {
  const bool any = own.ttft || own.tpot || own.e2el;
  const catalog::SloSpec& slo = any ? own : all;
  return {slo.ttft, slo.tpot, slo.e2el};
}

/// Users whose answers are all equally long stay in lockstep.
bool lockstep(const WorkloadSpec& w) {
  return w.kind == WorkloadSpec::Kind::closed && w.concurrent >= 8 && w.classes.empty() &&
         !w.pairs && w.think_time == 0 && w.prompt.kind == LengthSpec::Kind::fixed &&
         w.output.kind == LengthSpec::Kind::fixed;
}

}  // namespace

metrics::Grouping grouping_of(const catalog::Scenario& s, const metrics::RunResult& result) {
  metrics::Grouping g;
  g.replicas = static_cast<int>(result.replicas.size());
  for (const catalog::ClassSpec& c : s.workload.classes) {
    g.classes.push_back({c.name, c.tenant, objectives(c.slo, s.slo)});
  }
  if (g.classes.empty()) g.classes.push_back({"all", "all", objectives(s.slo, s.slo)});
  const WorkloadSpec& w = s.workload;
  g.measured = metrics::measured(result, {w.warmup_fraction, w.warmup_time, w.warmup_auto});
  return g;
}

void add_tables(const catalog::Scenario& s, const metrics::RunResult& result,
                const metrics::Grouping& grouping, Point& point) {
  const metrics::Verdict verdict =
      metrics::verdict_of(result, s.workload.concurrent, point.load.waiting);
  const bool batch = s.workload.kind == WorkloadSpec::Kind::batch;
  point.verdict = batch ? "a batch: all requests are there at the start" : verdict.text;
  point.saturated = !batch && verdict.saturated;
  point.notes = result.notes;
  if (lockstep(s.workload)) {
    point.notes.emplace_back(
        "all prompts and answers are equally long: users stay in lockstep and TTFT is misread; "
        "--spread 0.2 spreads the lengths");
  }
  if (s.router == "session-affinity" &&
      std::none_of(result.requests.begin(), result.requests.end(),
                   [](const metrics::RequestRecord& r) { return r.user >= 0; })) {
    point.notes.emplace_back(
        "no request names a user: session-affinity sends each where least-outstanding would");
  }
  if (s.workload.classes.size() > 1) {
    point.classes = metrics::by_class(result, grouping);
    point.tenants = metrics::by_tenant(result, grouping);
    if (point.tenants.size() == point.classes.size()) point.tenants.clear();
  }
  if (grouping.replicas > 1) point.by_replica = metrics::by_replica(result, grouping);
}

void write_trace(const std::string& path, const metrics::RunResult& result, int replicas) {
  std::string text;
  metrics::write_chrome_trace(result, replicas,
                              [&](std::string_view piece) { text.append(piece); });
  metrics::write_file_atomically(path, text);
}

}  // namespace servegrid::study
