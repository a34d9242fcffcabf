#include "study/attribution.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "metrics/summary.hpp"

namespace servegrid::study {

namespace {

constexpr std::array<const char*, 5> bound_names = {"compute", "memory", "fabric", "latency",
                                                    "host"};

// Epochs looked at one by one; longer timelines are sampled at a fixed stride, by weight of time.
constexpr std::size_t max_epochs_explained = 5000;

double seconds_of(const metrics::Epoch& e) {
  const Ticks steps = e.steps;
  return to_seconds(steps * e.first_step + e.step_growth * (steps * (steps - 1) / 2));
}

roofline::Batch middle_step(const metrics::Epoch& e, const roofline::StepModel& steps) {
  roofline::Batch batch;
  batch.sequences = e.sequences;
  if (e.prefill_tokens > 0) batch.prefill.push_back({e.prefill_tokens, e.prefill_context, true});
  if (e.sequences <= 0) return batch;
  batch.context[0] = e.context_tokens + e.sequences * (e.steps - 1) / 2;
  const std::int64_t each = batch.context[0] / e.sequences;
  std::size_t c = 1;
  for (const auto window : steps.windows())
    batch.context.at(c++) = e.sequences * std::min(each, window);
  return batch;
}

// Scales so that the sampled epochs stand for all busy time.
void attribute(const metrics::RunResult& result, const roofline::StepModel& steps, int replicas,
               Load& load) {
  const std::size_t n = result.timeline.size();
  const std::size_t stride = 1 + (n > 0 ? (n - 1) / max_epochs_explained : 0);
  double sampled = 0;
  for (std::size_t i = 0; i < n; i += stride) {
    const auto& epoch = result.timeline[i];
    const double seconds = seconds_of(epoch);
    if (epoch.steps <= 0 || (epoch.sequences <= 0 && epoch.prefill_tokens <= 0)) continue;
    const auto step = steps.explain(middle_step(epoch, steps));
    if (step.seconds <= 0) continue;
    sampled += seconds;
    for (std::size_t b = 0; b < load.seconds_by_bound.size(); ++b)
      load.seconds_by_bound.at(b) += seconds * step.seconds_by_bound.at(b) / step.seconds;
    load.flops += static_cast<double>(epoch.steps) * step.flops;
    load.bytes += static_cast<double>(epoch.steps) * step.bytes;
  }
  if (sampled <= 0) return;
  const double scale = load.busy_seconds / sampled;
  for (auto& seconds : load.seconds_by_bound) seconds *= scale;
  load.flops *= scale / replicas;
  load.bytes *= scale / replicas;
}

}  // namespace

Load load_of(const metrics::RunResult& result, int replicas, const roofline::StepModel& steps) {
  const metrics::TimeAverages averages = metrics::time_averages(result, replicas);
  Load load;
  load.running = averages.running;
  load.waiting = averages.waiting;
  load.kv_use_mean = averages.kv_mean;
  load.kv_use_peak = averages.kv_peak;
  load.busy_seconds = averages.busy_seconds;
  attribute(result, steps, replicas, load);
  return load;
}

metrics::Summary summary_of(const metrics::RunResult& result, const catalog::Scenario& s,
                            const Load& load) {
  metrics::SummaryOptions options;
  options.slo_ttft = s.slo.ttft;
  options.slo_tpot = s.slo.tpot;
  options.slo_e2el = s.slo.e2el;
  options.warmup_fraction = s.workload.warmup_fraction;
  options.replicas = s.replicas;
  metrics::Work work;
  work.flops = load.flops;
  work.bytes = load.bytes;
  // Arithmetic that the GPU has no units for runs in 16 bit.
  const double native = s.gpu.native_peak(s.weights);
  work.peak_flops = native > 0 ? native : s.gpu.native_peak(catalog::Format::bf16);
  work.peak_bandwidth = s.gpu.memory.bandwidth;
  for (std::size_t i = 0; i < bound_names.size(); ++i)
    work.seconds_by_bound.emplace_back(bound_names.at(i), load.seconds_by_bound.at(i));
  options.work = work;
  return metrics::summarize(result, options);
}

std::string binds_of(const metrics::RunResult& result, const catalog::Scenario& scenario,
                     const Load& load) {
  const auto& counters = result.counters;
  if (counters.completed == 0) return "nothing ran";
  const bool queued = load.waiting >= 0.5;
  if (queued && counters.peak_running >= scenario.knobs.max_num_seqs) return "max_num_seqs";
  if (counters.preemptions > 0 || (queued && load.kv_use_peak > 0.9)) return "KV memory";
  const auto most = std::max_element(load.seconds_by_bound.begin(), load.seconds_by_bound.end());
  const std::string name =
      bound_names.at(static_cast<std::size_t>(most - load.seconds_by_bound.begin()));
  return name == "memory" ? "memory bandwidth" : name;
}

}  // namespace servegrid::study
