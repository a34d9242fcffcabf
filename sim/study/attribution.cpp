#include "study/attribution.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "catalog/cluster.hpp"
#include "metrics/summary.hpp"

namespace servegrid::study {

namespace {

constexpr std::array<const char*, 5> bound_names = {"compute", "memory", "fabric", "latency",
                                                    "host"};

// Decode sequences with `context` tokens together, each with as many.
void add_decodes(std::int64_t sequences, std::int64_t context, const roofline::StepModel& steps,
                 roofline::Batch& batch) {
  batch.sequences = sequences;
  if (sequences <= 0) return;
  batch.context[0] = context;
  const std::int64_t each = context / sequences;
  std::size_t c = 1;
  for (const auto window : steps.windows())
    batch.context.at(c++) = sequences * std::min(each, window);
}

struct Shares {
  std::array<double, 5> seconds_by_bound{};
  double seconds = 0, flops = 0, bytes = 0;
  /// `taken` seconds in `count` steps like this one.
  void add(const roofline::StepTotals& step, double taken, double count) {
    if (step.seconds <= 0) return;
    seconds += taken;
    for (std::size_t b = 0; b < seconds_by_bound.size(); ++b)
      seconds_by_bound.at(b) += taken * step.seconds_by_bound.at(b) / step.seconds;
    flops += count * step.flops;
    bytes += count * step.bytes;
  }
  /// Adds to the load what stands for `whole` seconds; of all GPUs together `share` do this work.
  void add_to(Load& load, double whole, double share) const {
    if (seconds <= 0) return;
    const double scale = whole / seconds;
    for (std::size_t b = 0; b < seconds_by_bound.size(); ++b)
      load.seconds_by_bound.at(b) += scale * seconds_by_bound.at(b);
    load.flops += scale * flops * share;
    load.bytes += scale * bytes * share;
  }
};

// Decode steps by batch size at their mean context (their time is affine in it); steps that hold
// prefill from a sample of them.
void attribute(const metrics::EpochSums& sums, const roofline::StepModel& steps, double share,
               Load& load) {
  Shares decode, prefill;
  for (const auto& work : sums.decode_work()) {
    if (work.steps <= 0) continue;
    roofline::Batch batch;
    add_decodes(work.sequences, std::llround(work.context_steps / work.steps), steps, batch);
    decode.add(steps.totals(batch), work.seconds, work.steps);
  }
  for (const auto& epoch : sums.prefill_sample()) {
    roofline::Batch batch;
    batch.prefill.push_back({epoch.prefill_tokens, epoch.prefill_context, true});
    add_decodes(epoch.sequences, epoch.context_tokens, steps, batch);
    prefill.add(steps.totals(batch), to_seconds(epoch.duration()), 1);
  }
  const double prefill_seconds = to_seconds(sums.prefill_time);
  decode.add_to(load, sums.busy - prefill_seconds, share);
  prefill.add_to(load, prefill_seconds, share);
}

}  // namespace

Load load_of(const metrics::RunResult& result,
             const std::vector<const roofline::StepModel*>& steps) {
  const metrics::TimeAverages averages =
      metrics::time_averages(result, static_cast<int>(result.replicas.size()));
  Load load;
  load.running = averages.running;
  load.waiting = averages.waiting;
  load.kv_use_mean = averages.kv_mean;
  load.kv_use_peak = averages.kv_peak;
  load.busy_seconds = averages.busy_seconds;
  double gpus = 0;
  for (const metrics::ReplicaRecord& replica : result.replicas) gpus += replica.gpus;
  for (std::size_t p = 0; p < steps.size(); ++p) {
    const bool alone = result.pool_sums.empty();
    const auto of_pool = std::find_if(
        result.replicas.begin(), result.replicas.end(),
        [p](const metrics::ReplicaRecord& r) { return r.pool == static_cast<int>(p); });
    attribute(alone ? result.timeline.sums() : result.pool_sums.at(p), *steps[p],
              of_pool->gpus / gpus, load);
  }
  return load;
}

metrics::Summary summary_of(const metrics::RunResult& result, const catalog::Scenario& s,
                            const Load& load, const metrics::Grouping& grouping, bool saturated) {
  metrics::SummaryOptions options;
  options.grouping = grouping;
  options.saturated = saturated;
  options.replicas = static_cast<int>(result.replicas.size());
  if (s.speculation.on()) {
    options.drafting = {s.speculation.verified - 1, s.speculation.acceptance};
  }
  metrics::Work work;
  work.flops = load.flops;
  work.bytes = load.bytes;
  double gpus = 0;
  for (const catalog::PoolSpec& pool : catalog::pools_of(s)) {
    // Arithmetic that the GPU has no units for runs in 16 bit.
    const double native = pool.gpu.native_peak(pool.weights);
    const double count = static_cast<double>(pool.replicas) * pool.parallel.gpus();
    work.peak_flops += count * (native > 0 ? native : pool.gpu.native_peak(catalog::Format::bf16));
    work.peak_bandwidth += count * pool.gpu.memory.bandwidth;
    gpus += count;
  }
  work.peak_flops /= gpus;
  work.peak_bandwidth /= gpus;
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
  // A pool that is full for a moment is not what holds the queue back; one whose blocks are
  // promised to the end of each request is full before they are used.
  using catalog::Policy;
  const Policy policy = scenario.engine.policy;
  const bool promised = policy == Policy::orca || policy == Policy::static_batch ||
                        (policy == Policy::trtllm && scenario.knobs.guaranteed_no_evict);
  const bool full = load.kv_use_mean > 0.6 && (promised || load.kv_use_peak > 0.9);
  if (counters.preemptions > 0 || (queued && full)) return "KV memory";
  const auto most = std::max_element(load.seconds_by_bound.begin(), load.seconds_by_bound.end());
  const std::string name =
      bound_names.at(static_cast<std::size_t>(most - load.seconds_by_bound.begin()));
  return name == "memory" ? "memory bandwidth" : name;
}

}  // namespace servegrid::study
