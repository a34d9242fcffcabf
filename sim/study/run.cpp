#include "study/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "catalog/cluster.hpp"
#include "cluster/collectives.hpp"
#include "cluster/invariants.hpp"
#include "cluster/simulate.hpp"
#include "model/deployment.hpp"
#include "model/format_support.hpp"
#include "study/adds_up.hpp"
#include "study/attribution.hpp"
#include "study/resources.hpp"
#include "study/tables.hpp"
#include "units/error.hpp"
#include "workload/trace_size.hpp"

namespace servegrid::study {

using catalog::WorkloadSpec;

namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// The pool and, where the point cannot run, why.
memory::Ledger size_point(const catalog::Scenario& scenario, Point& point) {
  memory::Options options;
  options.context_tokens = point.context_tokens;
  memory::Ledger ledger;
  try {
    model::check(model::deployment_of(scenario));
    ledger = memory::size(scenario, options);
  } catch (const InfeasibleError& e) {
    point.feasible = false;
    point.reason = first_line(e.what());
    return ledger;
  } catch (const InputError& e) {  // TP that does not divide the heads, and the like
    point.feasible = false;
    point.reason = first_line(e.what());
    return ledger;
  }
  point.context_tokens = ledger.context_tokens;
  point.kv_tokens = ledger.kv_capacity_tokens;
  point.resident = ledger.conversations;
  point.may_not_fit = ledger.may_not_fit;
  point.nearest = ledger.note;
  if (!ledger.fits) {
    point.feasible = false;
    const double gib = 1024.0 * 1024 * 1024;
    point.reason = fmt::format(
        "does not fit: weights {:.1f} GiB and reserve {:.1f} GiB of each GPU's {:.1f} GiB leave no "
        "room for one sequence of {} tokens",
        ledger.weights_bytes_per_gpu / gib, ledger.reserve_bytes / gib,
        scenario.gpu.engine_bytes() / gib, point.context_tokens);
    if (ledger.gpus_needed > 0)
      point.nearest = fmt::format("fits on {} x {} (TP {})", ledger.gpus_needed, scenario.gpu.name,
                                  ledger.gpus_needed);
  }
  return ledger;
}

std::vector<Interval> intervals_at(const catalog::Scenario& s, const Point& point,
                                   const roofline::StepModel& steps) {
  const auto value = [&](const char* name) { return point.metric(name).value_or(0); };
  Prediction p;
  p.ttft_ms = value("mean_ttft_ms");
  p.tpot_ms = value("mean_tpot_ms");
  p.e2el_ms = value("mean_e2el_ms");
  p.throughput = value("output_throughput");
  p.duration = value("duration");
  p.closed = s.workload.kind == WorkloadSpec::Kind::closed ||
             s.workload.kind == WorkloadSpec::Kind::conversations;
  p.think_ms = 1e3 * s.workload.think_time;
  p.queues = point.load.waiting >= 0.5;
  return intervals_of(p, bands_of(steps.costs(), point.trust, p.queues));
}

// Several pools as one row: all GPUs together, and what each pool is.
void describe_pools(const catalog::Scenario& s, const std::vector<catalog::PoolSpec>& pools,
                    Point& point) {
  point.replicas = 1;
  point.gpus = 0;
  point.resident = 0;
  point.kv_tokens = 0;
  point.set_up.clear();
  for (const catalog::PoolSpec& pool : pools) {
    Point one;
    one.context_tokens = point.context_tokens;
    size_point(catalog::scenario_of_pool(s, pool), one);
    if (!one.feasible && point.feasible) {
      point.feasible = false;
      point.reason = fmt::format("pool '{}': {}", pool.name, one.reason);
      point.nearest = one.nearest;
    }
    point.may_not_fit = point.may_not_fit || one.may_not_fit;
    point.gpus += pool.replicas * pool.parallel.gpus();
    point.pools.push_back({pool.name, pool.gpu.name, pool.replicas * pool.parallel.gpus(),
                           pool.parallel.gpus(), pool.price});
    if (pool.price > 0) point.currency = pool.currency;
    if (pool.role != catalog::PoolRole::prefill) {
      point.resident += one.resident * pool.replicas;
      point.kv_tokens += one.kv_tokens * pool.replicas;
    }
    if (point.model.find(pool.model.name) == std::string::npos) {
      point.model += " + " + pool.model.name;
    }
    point.set_up += fmt::format("{}{}: {} x {}, {}", point.set_up.empty() ? "" : "; ", pool.name,
                                pool.replicas, pool.gpu.name, parallel_text(pool.parallel));
  }
}

}  // namespace

std::string workload_name(WorkloadSpec::Kind kind) {
  switch (kind) {
    case WorkloadSpec::Kind::conversations:
      return "conversations";
    case WorkloadSpec::Kind::open:
      return "open";
    case WorkloadSpec::Kind::batch:
      return "batch";
    case WorkloadSpec::Kind::trace:
      return "trace";
    case WorkloadSpec::Kind::closed:
      break;
  }
  return "closed";
}

std::optional<double> Point::metric(const std::string& name) const {
  for (const auto& [key, value] : summary)
    if (key == name) return value;
  return std::nullopt;
}

catalog::Scenario with_fabric(const catalog::Scenario& scenario) {
  const catalog::NetworkSpec& network = catalog::cluster_of(scenario).network;
  catalog::Scenario s = scenario;
  const int gpus = s.parallel.gpus();
  if (!network.fabric || gpus < 2) return s;
  s.gpu.fabric.derived = cluster::derive_collectives(cluster::make_platform(*network.fabric), gpus);
  return s;
}

std::unique_ptr<roofline::StepModel> step_model_of(const catalog::Scenario& given) {
  const catalog::Scenario scenario = with_fabric(given);
  const catalog::Catalog catalog(std::filesystem::path(scenario.file).parent_path().string());
  const auto& gpu = scenario.gpu;
  const std::string name = !gpu.fits.empty() ? gpu.fits : gpu.inherits_fits_from;
  const std::string file = name.empty() ? "" : catalog.find_file("hw_profiles/fits", name);
  return std::make_unique<roofline::StepModel>(model::deployment_of(scenario), file);
}

std::string parallel_text(const catalog::Parallelism& p) {
  std::string text = fmt::format("TP {}", p.tp);
  if (p.pp > 1) text += fmt::format(", PP {}", p.pp);
  if (p.ep > 1) text += fmt::format(", EP {}", p.ep);
  if (p.dp > 1) text += fmt::format(", DP {}", p.dp);
  if (p.expert_imbalance > 1) text += fmt::format(", imbalance {}", p.expert_imbalance);
  return text;
}

std::string trust_of(const catalog::Scenario& s, const roofline::StepModel& steps) {
  std::string out;
  const auto add = [&](const std::string& what) { out += (out.empty() ? "" : ", ") + what; };
  if (s.parallel.pp > 1) add("pipeline stages");
  if (s.parallel.expert_imbalance > 1) add("expert imbalance");
  if (s.knobs.all_to_all != catalog::AllToAll::automatic) add("the all-to-all backend");
  if (s.speculation.on()) add("speculative decoding");
  return steps.trust() + (out.empty() ? "" : ", unvalidated: " + out);
}

std::int64_t conversation_tokens(const WorkloadSpec& w) {
  double tokens = 0;
  switch (w.kind) {
    case WorkloadSpec::Kind::conversations:
      tokens = static_cast<double>(w.history) +
               static_cast<double>(w.turns) * (w.turn_input.mean + w.output.mean);
      break;
    case WorkloadSpec::Kind::closed:
    case WorkloadSpec::Kind::open:
    case WorkloadSpec::Kind::batch:
      tokens = w.prompt.mean + w.output.mean;
      break;
    case WorkloadSpec::Kind::trace: {
      const workload::TraceSize size = workload::size_of_trace(w);
      tokens = size.mean_prompt + size.mean_output;
      break;
    }
  }
  return std::max<std::int64_t>(1, std::llround(tokens));
}

std::string scenario_text(const std::string& path, const std::string& text,
                          const catalog::Overrides& overrides) {
  if (!path.empty()) return catalog::read_scenario(path, overrides).resolved_yaml;
  // Reading it first: a scenario that is printed is one that can be run.
  static_cast<void>(catalog::read_scenario_text(text, "command-line", overrides));
  std::string out = text;
  for (const auto& [key, value] : overrides) out += "# --set '" + key + '=' + value + "'\n";
  return out;
}

Point describe(const catalog::Scenario& s, const std::string& label, bool records, bool stops) {
  Point point;
  point.label = label;
  point.model = s.model.name;
  point.weights = model::formats_text(s);
  point.gpu = s.gpu.name;
  point.gpu_title = s.gpu.title;
  point.engine = s.engine.name;
  point.gpus = s.parallel.gpus();
  point.replicas = s.replicas;
  point.set_up = s.gpu.name + ", " + parallel_text(s.parallel);
  if (s.speculation.on()) {
    point.set_up +=
        fmt::format(", {} x{}", catalog::name(s.speculation.method), s.speculation.passes);
  }
  if (s.replicas > 1) point.set_up += fmt::format(", {} replicas", s.replicas);
  point.workload = workload_name(s.workload.kind);
  point.users = s.workload.concurrent;
  point.rate = s.workload.rate;
  point.slo_tpot = s.slo.tpot;
  point.slo_ttft = s.slo.ttft;
  point.prices = s.prices;
  point.context_tokens = conversation_tokens(s.workload);
  size_point(s, point);
  if (const auto& pools = catalog::cluster_of(s).pools;
      pools.size() > 1 || (!pools.empty() && pools.front().price > 0)) {
    describe_pools(s, pools, point);
  }
  if (point.feasible) check_resources(s, point.context_tokens, true, records, stops);
  return point;
}

PoolModels models_of(const catalog::Scenario& s, std::int64_t context_tokens) {
  PoolModels out;
  memory::Options options;
  options.context_tokens = context_tokens;
  for (const catalog::PoolSpec& pool : catalog::pools_of(s)) {
    const catalog::Scenario alone = catalog::scenario_of_pool(s, pool);
    const memory::Ledger ledger = memory::size(alone, options);
    out.steps.push_back(step_model_of(alone));
    cluster::PoolModel model;
    model.steps = out.steps.back().get();
    model.num_blocks = ledger.num_blocks;
    model.blocks_fixed = ledger.blocks_per_request_fixed;
    model.block_tokens = ledger.block_tokens;  // of layers with states or windows: not the engine's
    model.block_bytes =
        ledger.kv_bytes_per_gpu * alone.parallel.dp / static_cast<double>(ledger.num_blocks);
    model.weights_bytes = ledger.weights_bytes_per_gpu;
    model.kv_bytes_per_token = ledger.kv_bytes_per_token_per_gpu;
    out.pools.push_back(model);
  }
  return out;
}

Point evaluate(const catalog::Scenario& s, const std::string& label, bool leap,
               metrics::RunResult* result) {
  cluster::RunOptions options;
  options.leap = leap;
  return evaluate(s, label, options, result);
}

Point evaluate(const catalog::Scenario& s, const std::string& label,
               const cluster::RunOptions& given, metrics::RunResult* result) {
  cluster::RunOptions options = given;
  options.limits = with_memory_limit(given.limits);
  const bool stops = options.limits.any();
  Point point = describe(s, label, options.requests, stops);
  if (!point.feasible) return point;
  check_resources(s, point.context_tokens, options.leap, options.requests, stops);
  const PoolModels models = models_of(s, point.context_tokens);
  metrics::RunResult out = cluster::simulate_on_simgrid(s, models.pools, options);
  std::vector<const roofline::StepModel*> steps;
  for (const auto& one : models.steps) {
    steps.push_back(one.get());
    const std::string trust = trust_of(s, *one);
    if (point.trust.find(trust) == std::string::npos) {
      point.trust += (point.trust.empty() ? "" : "; ") + trust;
    }
  }
  point.load = load_of(out, steps);
  point.binds = binds_of(out, s, point.load);
  const metrics::Grouping grouping = grouping_of(s, out);
  add_tables(s, out, grouping, point);
  point.summary = summary_of(out, s, point.load, grouping, point.saturated);
  // Their errors are known of single replicas; what pools add to them is not.
  if (steps.size() == 1) point.intervals = intervals_at(s, point, *steps.front());
  point.partial = out.partial;
  if (options.check_events || cluster::check_by_environment()) check_sums(out, point);
  if (result != nullptr) *result = std::move(out);
  return point;
}

}  // namespace servegrid::study
