#include "study/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cluster/simulate.hpp"
#include "model/deployment.hpp"
#include "model/format_support.hpp"
#include "study/attribution.hpp"
#include "study/resources.hpp"
#include "units/error.hpp"

namespace servegrid::study {

using catalog::WorkloadSpec;

namespace {

double mean_of(const catalog::LengthSpec& spec) {
  return spec.kind == catalog::LengthSpec::Kind::uniform ? (spec.low + spec.high) / 2 : spec.mean;
}

std::string workload_name(WorkloadSpec::Kind kind) {
  switch (kind) {
    case WorkloadSpec::Kind::conversations:
      return "conversations";
    case WorkloadSpec::Kind::open:
      return "open";
    case WorkloadSpec::Kind::trace:
      return "trace";
    case WorkloadSpec::Kind::closed:
      break;
  }
  return "closed";
}

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

}  // namespace

std::optional<double> Point::metric(const std::string& name) const {
  for (const auto& [key, value] : summary)
    if (key == name) return value;
  return std::nullopt;
}

std::unique_ptr<roofline::StepModel> step_model_of(const catalog::Scenario& scenario) {
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
  double tokens = 8192;  // a trace: its lengths are not known before it is read
  switch (w.kind) {
    case WorkloadSpec::Kind::conversations:
      tokens = static_cast<double>(w.history) +
               static_cast<double>(w.turns) * (mean_of(w.turn_input) + mean_of(w.output));
      break;
    case WorkloadSpec::Kind::closed:
    case WorkloadSpec::Kind::open:
      tokens = mean_of(w.prompt) + mean_of(w.output);
      break;
    case WorkloadSpec::Kind::trace:
      break;
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

Point describe(const catalog::Scenario& s, const std::string& label, bool records) {
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
  if (point.feasible) check_resources(s, point.context_tokens, true, records);
  return point;
}

Point evaluate(const catalog::Scenario& s, const std::string& label, bool leap,
               metrics::RunResult* result) {
  cluster::RunOptions options;
  options.leap = leap;
  return evaluate(s, label, options, result);
}

Point evaluate(const catalog::Scenario& s, const std::string& label,
               const cluster::RunOptions& options, metrics::RunResult* result) {
  Point point = describe(s, label, options.requests);
  if (!point.feasible) return point;
  check_resources(s, point.context_tokens, options.leap, options.requests);
  memory::Options sizing;
  sizing.context_tokens = point.context_tokens;
  const memory::Ledger ledger = memory::size(s, sizing);
  const auto steps = step_model_of(s);
  cluster::RunOptions run = options;
  run.block_bytes =
      ledger.kv_bytes_per_gpu * s.parallel.dp / static_cast<double>(ledger.num_blocks);
  catalog::Scenario placed = s;  // layers with states or windows share blocks of another size
  placed.knobs.block_size = ledger.block_tokens;
  metrics::RunResult out = cluster::simulate_on_simgrid(placed, *steps, ledger.num_blocks,
                                                        ledger.blocks_per_request_fixed, run);
  point.trust = trust_of(s, *steps);
  point.load = load_of(out, s.replicas, *steps);
  point.summary = summary_of(out, s, point.load);
  point.binds = binds_of(out, s, point.load);
  point.intervals = intervals_at(s, point, *steps);
  if (result != nullptr) *result = std::move(out);
  return point;
}

}  // namespace servegrid::study
