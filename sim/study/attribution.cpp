#include "study/attribution.hpp"

#include <algorithm>
#include <cmath>

namespace servegrid::study {

namespace {

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

Load load_of(const metrics::RunResult& result, const catalog::Parallelism&, int replicas,
             const roofline::StepModel& steps) {
  Load load;
  const double whole = to_seconds(result.end);
  const auto blocks = static_cast<double>(std::max<std::int64_t>(1, result.num_blocks));
  for (const auto& epoch : result.timeline) {
    const double seconds = seconds_of(epoch);
    const double in_batch =
        static_cast<double>(epoch.sequences) + (epoch.prefill_tokens > 0 ? 1 : 0);
    const double use = static_cast<double>(epoch.blocks_used) / blocks;
    load.busy_seconds += seconds;
    load.running += seconds * in_batch;
    load.waiting += seconds * static_cast<double>(epoch.waiting);
    load.kv_use_mean += seconds * use / replicas;
    load.kv_use_peak = std::max(load.kv_use_peak, use);
  }
  if (whole > 0) {
    load.running /= whole;
    load.waiting /= whole;
    load.kv_use_mean /= whole;
  }
  attribute(result, steps, replicas, load);
  return load;
}

std::string binds_of(const metrics::RunResult& result, const catalog::Scenario& scenario,
                     const Load& load) {
  const auto& counters = result.counters;
  if (counters.completed == 0) return "nothing ran";
  const bool queued = load.waiting >= 0.5;
  if (queued && counters.peak_running >= scenario.knobs.max_num_seqs) return "max_num_seqs";
  if (counters.preemptions > 0 || (queued && load.kv_use_peak > 0.9)) return "KV memory";
  static const std::array<const char*, 5> names = {"compute", "memory bandwidth", "fabric",
                                                   "latency", "host"};
  const auto most = std::max_element(load.seconds_by_bound.begin(), load.seconds_by_bound.end());
  return names.at(static_cast<std::size_t>(most - load.seconds_by_bound.begin()));
}

}  // namespace servegrid::study
