#include "validate/predict.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "catalog/graph_sizes.hpp"
#include "cluster/simulate.hpp"
#include "memory/ledger.hpp"
#include "metrics/summary.hpp"
#include "model/deployment.hpp"
#include "units/error.hpp"
#include "validate/launch.hpp"

namespace servegrid::validate {
namespace {

using catalog::Format;

// What the data call the weights -> the checkpoint's own format: MoE FP8 checkpoints are
// block-scaled, gpt-oss is MXFP4 whatever the label, int4 means group 32 of W4A16.
Format weights_of(const MeasuredRow& row, const catalog::Model& model) {
  if (model.native_format == Format::mxfp4) return Format::mxfp4;
  const std::string& label = row.weights;
  if (label.empty() || label == "bfloat16") return Format::bf16;
  if (label == "int4_wo" || label == "int4") return Format::int4_g32;
  if (label == "fp4") return Format::nvfp4;
  const Format parsed = catalog::parse_format(label);
  const bool block_scaled =
      row.moe_weights == "fp8_block" || model.native_format == Format::fp8_block;
  return parsed == Format::fp8 && block_scaled ? Format::fp8_block : parsed;
}

// "0.19.0rc1.post2" -> {0, 19, 0}: the leading numbers.
std::vector<int> version_numbers(const std::string& text) {
  std::vector<int> numbers;
  std::size_t i = 0;
  while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0 &&
         numbers.size() < 3) {
    int n = 0;
    while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0)
      n = std::min(n * 10 + (text[i++] - '0'), 1000000);
    numbers.push_back(n);
    if (i >= text.size() || text[i] != '.') break;
    ++i;
  }
  return numbers;
}

catalog::LengthSpec length(std::int64_t given, double spread) {
  catalog::LengthSpec spec;
  spec.mean = static_cast<double>(given);
  if (spread > 0) {
    spec.kind = catalog::LengthSpec::Kind::uniform;
    spec.low = std::max(1.0, std::floor((1 - spread) * static_cast<double>(given)));
    spec.high = static_cast<double>(given);
  }
  return spec;
}

bool wants_more_than_pool(const PreparedRow& p, std::int64_t capacity_tokens) {
  const double mean_share = 1 - p.row.protocol.spread / 2;
  const double held = p.scenario.engine.policy == catalog::Policy::trtllm
                          ? static_cast<double>(p.row.isl + p.row.osl)
                          : static_cast<double>(p.row.isl) + 0.5 * static_cast<double>(p.row.osl);
  return static_cast<double>(p.row.concurrency) * mean_share * held >
         static_cast<double>(capacity_tokens);
}

// Prompt and output tokens a second that the measurement implies, as FLOPs of the active weights,
// above the highest rate that the GPUs have for any format: not a run of this load.
bool faster_than_peak(const MeasuredRow& row, const catalog::Scenario& s) {
  const double mean_share = 1 - row.protocol.spread / 2;
  const double tokens =
      static_cast<double>(row.concurrency) * mean_share * static_cast<double>(row.isl + row.osl);
  const double seconds =
      1e-3 * (row.ttft_ms + mean_share * static_cast<double>(row.osl) * row.tpot_ms);
  double peak = 0;
  for (const auto& [format, rate] : s.gpu.peak) peak = std::max(peak, rate);
  return seconds > 0 && row.ttft_ms > 0 && row.tpot_ms > 0 &&
         2 * memory::active_parameters(s.model) * tokens / seconds > peak * row.gpus;
}

std::vector<double> others_of(const MeasuredRow& row, const metrics::RunResult& result) {
  const metrics::Summary summary = metrics::summarize(result);
  std::vector<double> out;
  for (const auto& [name, measured] : row.others) {
    const auto it = std::find_if(summary.begin(), summary.end(),
                                 [&name = name](const auto& entry) { return entry.first == name; });
    out.push_back(it == summary.end() ? std::numeric_limits<double>::quiet_NaN() : it->second);
  }
  return out;
}

}  // namespace

const catalog::EngineProfile& Preparer::engine_at(const std::string& engine,
                                                  const std::string& version,
                                                  const std::string& date) {
  if (engines_.empty()) {
    for (const auto& name : catalog_.engine_names()) engines_.emplace(name, catalog_.engine(name));
  }
  // The newest profile that is not newer than the run; the oldest one when all are.
  const auto wanted = version_numbers(version);
  const catalog::EngineProfile* best = nullptr;
  const catalog::EngineProfile* oldest = nullptr;
  for (const auto& [name, profile] : engines_) {
    // Its own releases: schedulers that only borrow the engine's kernels have other names.
    if (profile.engine != engine || !name.starts_with(engine + "-")) continue;
    const auto has = version_numbers(profile.version);
    if (oldest == nullptr || has < version_numbers(oldest->version)) oldest = &profile;
    const bool not_newer = !wanted.empty() ? has <= wanted
                           : !date.empty() ? profile.date <= date
                                           : profile.date <= "2025-12";
    if (not_newer && (best == nullptr || version_numbers(best->version) < has)) best = &profile;
  }
  if (best == nullptr) best = oldest;
  if (best == nullptr) throw InputError("no engine profile for '" + engine + "'");
  return *best;
}

catalog::Scenario Preparer::scenario_of(const MeasuredRow& row) {
  if (gpus_.count(row.gpu) == 0) {
    catalog::Gpu gpu = catalog_.gpu(row.gpu);
    if (knowledge_ != Knowledge::own) gpu.fits.clear();
    if (knowledge_ == Knowledge::data_sheet) gpu.inherits_fits_from.clear();
    gpus_.emplace(row.gpu, std::move(gpu));
  }
  if (models_.count(row.model) == 0) models_.emplace(row.model, catalog_.model(row.model));
  catalog::Scenario s;
  s.name = row.id;
  s.gpu = gpus_.at(row.gpu);
  s.model = models_.at(row.model);
  s.engine = engine_at(row.engine, row.engine_version, row.date);
  s.weights = weights_of(row, s.model);
  s.parallel.tp = row.tp;
  s.parallel.dp = row.dp;
  s.parallel.ep = row.ep;
  s.knobs = s.engine.defaults_on(s.gpu);
  s.workload.requests = row.concurrency * row.protocol.prompts_per_slot;
  set_launch(row, s);
  if (s.knobs.max_model_len == 0) s.knobs.max_model_len = s.model.max_context;
  s.knobs.graph_sizes = catalog::default_graph_sizes(s.engine.policy, s.knobs, s.gpu, row.tp);
  s.workload.kind = catalog::WorkloadSpec::Kind::closed;
  s.workload.concurrent = row.concurrency;
  s.workload.prompt = length(row.isl, row.protocol.spread);
  s.workload.output = length(row.osl, row.protocol.spread);
  s.seed = 1;
  return s;
}

PreparedRow Preparer::prepare(const MeasuredRow& row) {
  PreparedRow p;
  p.row = row;
  p.skip = row.skip;
  if (!p.skip.empty()) return p;
  try {
    p.scenario = scenario_of(row);
    p.gpu_key = p.scenario.gpu.name;
    p.engine_key = p.scenario.engine.engine;
    if (faster_than_peak(row, p.scenario)) {
      p.skip = "faster than the GPUs' peak allows";
      return p;
    }
    compile(p, catalog_);
  } catch (const Error& e) {
    const std::string what = e.what();
    p.skip = what.substr(0, what.find('\n'));
  }
  return p;
}

void compile(PreparedRow& p, const catalog::Catalog& catalog) {
  model::check(model::deployment_of(p.scenario));
  const auto ledger = memory::size(p.scenario, {});
  if (!ledger.fits) {
    p.skip = "does not fit in memory";
    return;
  }
  p.num_blocks = ledger.num_blocks;
  p.scenario.knobs.block_size = ledger.block_tokens;  // states or windows: not the engine's own
  p.blocks_fixed = ledger.blocks_per_request_fixed;
  p.queues = wants_more_than_pool(p, ledger.kv_capacity_tokens);
  const auto& gpu = p.scenario.gpu;
  const std::string fit_name = !gpu.fits.empty() ? gpu.fits : gpu.inherits_fits_from;
  const std::string fit_file =
      fit_name.empty() ? std::string() : catalog.find_file("hw_profiles/fits", fit_name);
  p.steps = std::make_unique<roofline::StepModel>(model::deployment_of(p.scenario), fit_file);
}

Prediction predict(const PreparedRow& p) {
  Prediction out;
  out.skip = p.skip;
  out.queues = p.queues;
  if (!p.skip.empty()) return out;
  cluster::RunOptions options;
  options.timeline = !p.row.others.empty();  // ITL quantiles need it
  const auto result =
      cluster::simulate(p.scenario, *p.steps, p.num_blocks, p.blocks_fixed, options);
  double ttft = 0, tpot = 0, prompts = 0;
  std::int64_t n = 0, n_tpot = 0;
  for (const auto& r : result.requests) {
    if (r.outcome != metrics::Outcome::completed) continue;
    ++n;
    ttft += to_seconds(r.first_token - r.arrival);
    prompts += static_cast<double>(r.prompt_tokens);
    if (r.output_tokens > 1) {
      ++n_tpot;
      tpot += to_seconds(r.finish - r.first_token) / static_cast<double>(r.output_tokens - 1);
    }
  }
  if (n == 0 || n_tpot == 0) {
    out.skip = "no request completed";
    return out;
  }
  const double count = static_cast<double>(n);
  out.ttft_ms = 1e3 * (ttft + p.row.protocol.client_per_prompt_token * prompts) / count;
  out.tpot_ms = 1e3 * tpot / static_cast<double>(n_tpot);
  out.trust = p.steps->trust();
  if (!p.row.others.empty()) out.others = others_of(p.row, result);
  return out;
}

}  // namespace servegrid::validate
