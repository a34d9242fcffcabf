#include "plan/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "catalog/cluster.hpp"
#include "cluster/simulate.hpp"
#include "metrics/quantile.hpp"
#include "metrics/summary.hpp"
#include "metrics/token_gaps.hpp"
#include "plan/scaled_steps.hpp"
#include "study/attribution.hpp"
#include "study/resources.hpp"
#include "study/run.hpp"
#include "units/error.hpp"

namespace servegrid::plan {

namespace {

using Kind = catalog::WorkloadSpec::Kind;

// The steady part: requests (by arrival) without the first fifth, which meet an empty system, and
// the last tenth, which leave one. A run must be long against a request: five times as many
// requests as are in the system at once.
constexpr double ramp_share = 0.20, drain_share = 0.10;
constexpr double requests_per_in_system = 6;
constexpr std::int64_t rounds_per_user = 8;  // closed loops: requests of each user
constexpr std::int64_t most_requests = 200'000;
// An open loop whose waiting requests at the last arrival are more than this share of all has no
// steady state.
constexpr double backlog_share = 0.05, backlog_least = 10;

struct Window {
  Ticks begin = 0, end = 0;  // of arrivals, half open
};

// By arrival, not by number: users who think long are issued early and arrive late.
Window window_of(const metrics::RunResult& result) {
  std::vector<Ticks> arrivals;
  arrivals.reserve(result.requests.size());
  for (const auto& r : result.requests) arrivals.push_back(r.arrival);
  std::sort(arrivals.begin(), arrivals.end());
  const auto n = static_cast<double>(arrivals.size());
  const auto first = static_cast<std::size_t>(ramp_share * n);
  const auto last = arrivals.size() - 1 - static_cast<std::size_t>(drain_share * n);
  if (arrivals.empty() || arrivals[first] >= arrivals[last]) return {0, result.end + 1};
  return {arrivals[first], arrivals[last]};
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

struct Samples {
  std::vector<double> ttft, tpot, e2el;
  std::vector<metrics::Range> gaps;  // in ticks
};

double value_of(const Objective& objective, Samples& samples) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (objective.metric == Metric::itl) {
    if (metrics::count(samples.gaps) == 0) return none;
    const double ticks = objective.percentile
                             ? metrics::quantile(samples.gaps, *objective.percentile / 100)
                             : metrics::moments(samples.gaps).mean;
    return std::ldexp(ticks, -ticks_log2_per_second);
  }
  auto& values = objective.metric == Metric::ttft   ? samples.ttft
                 : objective.metric == Metric::tpot ? samples.tpot
                                                    : samples.e2el;
  if (values.empty()) return none;
  return objective.percentile ? metrics::quantile(values, *objective.percentile / 100)
                              : mean(values);
}

bool request_meets(const metrics::RequestRecord& r, const Objectives& objectives) {
  for (const auto& objective : objectives) {
    double value = 0;
    switch (objective.metric) {
      case Metric::ttft:
        value = to_seconds(r.first_token - r.arrival);
        break;
      case Metric::e2el:
        value = to_seconds(r.finish - r.arrival);
        break;
      case Metric::tpot:
      case Metric::itl:  // of a request, its mean gap
        if (r.output_tokens < 2) continue;
        value = to_seconds(r.finish - r.first_token) / static_cast<double>(r.output_tokens - 1);
        break;
    }
    if (value > objective.limit) return false;
  }
  return true;
}

// Busy time of steps that prefill over what they would take for decoding alone, and the rest.
void split_time(const metrics::RunResult& result, const roofline::StepTimes& steps, Measured& m) {
  for (const auto& e : result.timeline) {
    if (e.steps <= 0) continue;
    const double seconds = to_seconds(e.duration());
    double decode = seconds;
    if (e.prefill_tokens > 0) {
      decode = 0;
      if (e.sequences > 0) {
        const auto cost = steps.decode(e.sequences);
        const Ticks alone = cost.base + cost.per_token[0] * e.context_tokens;
        decode = std::min(seconds, to_seconds(alone));
      }
    }
    m.decode_seconds += decode;
    m.prefill_seconds += seconds - decode;
  }
}

void count(const metrics::RunResult& result, const Window& w, Samples& samples, Measured& m,
           const Objectives& objectives) {
  std::int64_t good = 0;
  double cached = 0, prompt = 0, output = 0;
  for (const auto& r : result.requests) {
    if (r.arrival < w.begin || r.arrival >= w.end) continue;
    if (r.outcome != metrics::Outcome::completed) {
      // A client that went away missed nothing; a timeout did, and so did what can never run.
      m.rejected = m.rejected || r.outcome != metrics::Outcome::cancelled;
      continue;
    }
    ++m.counted;
    samples.ttft.push_back(to_seconds(r.first_token - r.arrival));
    samples.e2el.push_back(to_seconds(r.finish - r.arrival));
    if (r.output_tokens > 1)
      samples.tpot.push_back(to_seconds(r.finish - r.first_token) /
                             static_cast<double>(r.output_tokens - 1));
    good += request_meets(r, objectives) ? 1 : 0;
    prompt += static_cast<double>(r.prompt_tokens);
    cached += static_cast<double>(r.cached_tokens);
    output += static_cast<double>(r.output_tokens);
  }
  metrics::TokenGaps gaps;
  for (const auto& e : result.timeline)
    for (const auto& gap : gaps.next(e))
      if (gap.steps > 0 && gap.weight > 0 && e.start >= w.begin && e.start <= w.end)
        samples.gaps.push_back(gap);
  const double seconds = to_seconds(w.end - w.begin);
  const auto n = static_cast<double>(m.counted);
  if (n <= 0 || seconds <= 0) return;
  m.attainment = static_cast<double>(good) / n;
  m.request_rate = n / seconds;
  m.input_rate = (prompt - cached) / seconds;
  m.cached_rate = cached / seconds;
  m.output_rate = output / seconds;
}

bool piles_up(const metrics::RunResult& result) {
  if (result.requests.empty()) return false;
  const Ticks last = result.requests.back().arrival;
  double waiting = 0;
  for (const auto& r : result.requests) waiting += r.scheduled > last ? 1 : 0;
  return waiting >
         std::max(backlog_least, backlog_share * static_cast<double>(result.requests.size()));
}

}  // namespace

bool Measured::meets(const Objectives& objectives, double ttft_scale) const {
  if (backlog || rejected || counted == 0) return false;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const double scale = objectives[i].metric == Metric::ttft ? ttft_scale : 1;
    // A run of one-token outputs has no TPOT: nothing to miss.
    if (!std::isnan(latencies.at(i)) && latencies.at(i) * scale > objectives[i].limit) return false;
  }
  return true;
}

namespace {

// What a search for a load does not cover: an answer would pass over it in silence.
void refuse_unsearched(const catalog::Scenario& s) {
  if (s.workload.kind == Kind::trace)
    throw InputError(
        "a trace has its own arrivals: there is no rate to raise (use an open loop, a closed loop "
        "or conversations)");
  if (catalog::pools_of(s).size() > 1)
    throw InputError(
        "a load is searched for one kind of replica, and this scenario has several pools (run and "
        "compare take them: try loads with --set)");
  for (const catalog::ClassSpec& c : s.workload.classes) {
    if (c.slo.ttft || c.slo.tpot || c.slo.e2el)
      throw InputError(fmt::format(
          "the class '{}' has objectives of its own, and a load is searched for objectives of all "
          "requests (leave the class's slo out; run shows the goodput of each class)",
          c.name));
  }
}

}  // namespace

Rig::Rig(catalog::Scenario scenario) : scenario_(std::move(scenario)) {
  refuse_unsearched(scenario_);
  const study::Point point = study::describe(scenario_, scenario_.name);
  if (!point.feasible)
    throw InfeasibleError(point.reason + (point.nearest.empty() ? "" : "; " + point.nearest));
  memory::Options options;
  options.context_tokens = point.context_tokens;
  ledger_ = memory::size(scenario_, options);
  steps_ = study::step_model_of(scenario_);
  scenario_.knobs.block_size = ledger_.block_tokens;
}

bool Rig::counts_users() const {
  return scenario_.workload.kind != Kind::open;
}

Measured Rig::measure(double load, const Objectives& objectives,
                      const ProbeOptions& options) const {
  catalog::Scenario s = scenario_;
  s.seed = options.seed;
  auto& w = s.workload;
  w.requests = options.requests;
  if (counts_users()) {
    w.concurrent = std::max<std::int64_t>(1, std::llround(load));
    w.requests =
        std::min(most_requests, std::max(options.requests, rounds_per_user * w.concurrent));
  } else {
    w.rate = load;
  }
  const ScaledSteps steps(*steps_, options.step_scale);
  cluster::PoolModel pool;
  pool.steps = &steps;
  pool.num_blocks = ledger_.num_blocks;
  pool.blocks_fixed = ledger_.blocks_per_request_fixed;
  pool.block_tokens = ledger_.block_tokens;
  pool.block_bytes = ledger_.kv_bytes_per_gpu * s.parallel.dp /
                     static_cast<double>(std::max<std::int64_t>(1, ledger_.num_blocks));
  metrics::RunResult result;
  Measured m;
  for (int attempt = 0; attempt < 2; ++attempt) {
    study::check_resources(s, ledger_.context_tokens, true);
    result = cluster::simulate(s, {pool});
    if (counts_users()) break;
    // Long enough? Little's law says how many are in the system at once.
    double seconds = 0;
    for (const auto& r : result.requests) seconds += to_seconds(r.finish - r.arrival);
    const double in_system = load * seconds / static_cast<double>(result.requests.size());
    const auto needed = static_cast<std::int64_t>(requests_per_in_system * in_system);
    if (needed <= w.requests || w.requests >= most_requests) break;
    if (piles_up(result)) break;  // longer, it only queues longer
    w.requests = std::min(most_requests, needed);
  }
  m.load = load;
  m.requests = w.requests;
  const Window window = window_of(result);
  Samples samples;
  count(result, window, samples, m, objectives);
  m.backlog = !counts_users() && piles_up(result);
  m.ttft_mean = mean(samples.ttft);
  m.tpot_mean = mean(samples.tpot);
  m.e2el_mean = mean(samples.e2el);
  for (const auto& objective : objectives) m.latencies.push_back(value_of(objective, samples));
  const auto averages = metrics::time_averages(result, s.replicas);
  m.running = averages.running;
  m.waiting = averages.waiting;
  m.kv_mean = averages.kv_mean;
  m.kv_peak = averages.kv_peak;
  m.duration = to_seconds(result.end);
  m.preemptions = result.counters.preemptions;
  split_time(result, steps, m);
  if (options.attribution)
    m.seconds_by_bound = study::load_of(result, {steps_.get()}).seconds_by_bound;
  return m;
}

}  // namespace servegrid::plan
