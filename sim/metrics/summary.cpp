#include "metrics/summary.hpp"

#include <algorithm>
#include <cmath>

#include "metrics/quantile.hpp"
#include "metrics/request_sums.hpp"
#include "metrics/steady.hpp"
#include "metrics/summary_sums.hpp"
#include "metrics/survival.hpp"

namespace servegrid::metrics {

namespace {

const std::vector<double> quantiles_told = {0.5, 0.90, 0.95, 0.99};

// mean_NAME and what belongs to it; `q`: median, p90, p95, p99.
void add_spread(Summary& out, const std::string& name, double std, const std::vector<double>& q) {
  out.emplace_back("median_" + name, q[0]);
  out.emplace_back("std_" + name, std);
  out.emplace_back("p90_" + name, q[1]);
  out.emplace_back("p95_" + name, q[2]);
  out.emplace_back("p99_" + name, q[3]);
}

void add_latency(Summary& out, const std::string& name, const std::vector<double>& seconds) {
  if (seconds.empty()) return;
  std::vector<double> ms(seconds);
  for (double& v : ms) v *= 1e3;
  const Moments m = moments(ms);
  out.emplace_back("mean_" + name, m.mean);
  add_spread(out, name, m.std, quantiles(ms, quantiles_told));
}

// The same where some were cut off.
void add_latency(Summary& out, const std::string& name, const Durations& durations) {
  if (durations.at_least.empty()) return add_latency(out, name, durations.seen);
  const Moments m = moments(durations.bounds());
  const auto q = durations.quantiles(quantiles_told);
  const auto put = [&](const char* what, const std::optional<double>& seconds) {
    if (seconds) out.emplace_back(what + name, 1e3 * *seconds);
  };
  put("mean_", m.mean);
  put("median_", q[0]);
  put("std_", m.std);
  put("p90_", q[1]);
  put("p95_", q[2]);
  put("p99_", q[3]);
}

struct Latencies {
  Durations ttft, e2el;                      // [s]
  std::vector<double> tpot, queue, prefill;  // [s]; the parts of TTFT
  std::vector<double> ttft_by_id;            // [s], of completed requests
  double decode_seconds = 0;                 // of completed requests after their first token
  std::int64_t gaps = 0;                     // between their tokens
};

// Waited in vain: has no first token (end) because the run stopped, a timeout or a fault came.
bool cut_off(const RequestRecord& r) {
  return r.outcome == Outcome::in_flight || r.outcome == Outcome::failed;
}

void add_request(Latencies& l, const RequestRecord& r, Ticks end) {
  if (r.outcome != Outcome::completed && !cut_off(r)) return;
  const Ticks last = r.outcome == Outcome::in_flight ? end : r.finish;
  const bool started = r.first_token >= 0 && r.first_token <= last;
  const double waited = to_seconds((started ? r.first_token : last) - r.arrival);
  (started ? l.ttft.seen : l.ttft.at_least).push_back(waited);
  if (started) {
    l.queue.push_back(to_seconds(r.scheduled - r.arrival));
    l.prefill.push_back(to_seconds(r.first_token - r.scheduled));
  }
  (cut_off(r) ? l.e2el.at_least : l.e2el.seen).push_back(to_seconds(last - r.arrival));
  if (r.outcome != Outcome::completed) return;
  l.ttft_by_id.push_back(waited);
  if (r.output_tokens < 2) return;
  const double decode = to_seconds(r.finish - r.first_token);
  l.tpot.push_back(decode / static_cast<double>(r.output_tokens - 1));
  l.decode_seconds += decode;
  l.gaps += r.output_tokens - 1;
}

Latencies latencies_of(const RunResult& result, const std::vector<bool>& measured) {
  Latencies l;
  for (const RequestRecord& r : result.requests) {
    const auto id = static_cast<std::size_t>(r.id);
    if (id >= measured.size() || measured[id]) add_request(l, r, result.end);
  }
  return l;
}

void add_certainty(Summary& out, const RunResult& result, const Latencies& latencies,
                   const SummaryOptions& options) {
  const auto& measured = options.grouping.measured;
  const auto count = std::count(measured.begin(), measured.end(), true);
  if (!measured.empty() && static_cast<std::size_t>(count) < result.requests.size()) {
    out.emplace_back("measured", static_cast<double>(count));
  }
  const auto half = [&](const char* name, const std::vector<double>& values) {
    if (const auto width = half_width(values)) out.emplace_back(name, 1e3 * *width);
  };
  half("mean_ttft_ms_ci95", latencies.ttft_by_id);
  half("mean_tpot_ms_ci95", latencies.tpot);
  const auto at_least = [&](const char* name, const Durations& d) {
    if (!d.at_least.empty()) out.emplace_back(name, static_cast<double>(d.at_least.size()));
  };
  at_least("ttft_at_least", latencies.ttft);
  at_least("e2el_at_least", latencies.e2el);
  if (options.saturated) out.emplace_back("saturated", 1);
}

void add_itl(Summary& out, const Latencies& latencies, const Timeline& timeline) {
  if (latencies.gaps > 0) {
    out.emplace_back("mean_itl_ms",
                     latencies.decode_seconds / static_cast<double>(latencies.gaps) * 1e3);
  }
  const EpochSums& sums = timeline.sums();
  if (sums.gaps.count() == 0 || timeline.empty()) return;
  RangeQuantiles exact(sums.gaps, quantiles_told);
  TokenGaps gaps;
  for (const Epoch& e : timeline) {
    for (const Range& gap : gaps.next(e)) {
      if (gap.steps > 0 && gap.weight > 0) exact.add(gap);
    }
  }
  std::vector<double> values = exact.values();
  const auto ms = [](double ticks) { return std::ldexp(ticks, -ticks_log2_per_second) * 1e3; };
  for (double& v : values) v = ms(v);
  add_spread(out, "itl_ms", ms(sums.gap_moments.moments().std), values);
}

void add_throughput(Summary& out, const RunResult& result, const SummaryOptions& options) {
  double input = 0, output = 0;
  const auto& classes = options.grouping.classes;
  const auto objectives = [&](const RequestRecord& r) {
    return classes.empty() ? Objectives{}
                           : classes[static_cast<std::size_t>(r.class_index)].objectives;
  };
  std::int64_t completed = 0, good = 0, failed = 0, cancelled = 0, in_flight = 0;
  for (const RequestRecord& r : result.requests) {
    failed += r.outcome == Outcome::failed ? 1 : 0;
    cancelled += r.outcome == Outcome::cancelled ? 1 : 0;
    in_flight += r.outcome == Outcome::in_flight ? 1 : 0;
    if (r.outcome != Outcome::completed) continue;
    ++completed;
    input += static_cast<double>(r.prompt_tokens);
    output += static_cast<double>(r.output_tokens);
    good += meets(r, objectives(r)) ? 1 : 0;
  }
  const double seconds = to_seconds(result.end);
  const auto requests = static_cast<double>(completed);
  out.emplace_back("completed", requests);
  out.emplace_back("rejected", static_cast<double>(result.counters.rejected));
  if (failed > 0) out.emplace_back("failed", static_cast<double>(failed));
  if (cancelled > 0) out.emplace_back("cancelled", static_cast<double>(cancelled));
  if (in_flight > 0) out.emplace_back("in_flight", static_cast<double>(in_flight));
  out.emplace_back("duration", seconds);
  out.emplace_back("total_input_tokens", input);
  out.emplace_back("total_output_tokens", output);
  if (seconds <= 0) return;
  out.emplace_back("request_throughput", requests / seconds);
  if (options.grouping.any_objectives()) {
    out.emplace_back("request_goodput", static_cast<double>(good) / seconds);
    out.emplace_back("slo_attainment",
                     static_cast<double>(good) / static_cast<double>(result.requests.size()));
  }
  out.emplace_back("output_throughput", output / seconds);
  out.emplace_back("total_token_throughput", (input + output) / seconds);
}

void add_load(Summary& out, const RunResult& result, const SummaryOptions& options) {
  const Counters& c = result.counters;
  out.emplace_back("preemptions", static_cast<double>(c.preemptions));
  if (c.prefix_queries > 0) {
    out.emplace_back("prefix_cache_hit_rate",
                     static_cast<double>(c.prefix_hits) / static_cast<double>(c.prefix_queries));
  }
  if (c.prefix_queries > 0 && c.host_hits + c.disk_hits > 0) {
    const auto queries = static_cast<double>(c.prefix_queries);
    out.emplace_back("host_cache_hit_rate", static_cast<double>(c.host_hits) / queries);
    out.emplace_back("disk_cache_hit_rate", static_cast<double>(c.disk_hits) / queries);
  }
  if (result.timeline.sums().epochs == 0 || result.end <= 0) return;
  const TimeAverages load = time_averages(result, options.replicas);
  out.emplace_back("mean_running", load.running);
  out.emplace_back("mean_waiting", load.waiting);
  if (result.num_blocks > 0) {
    out.emplace_back("mean_kv_cache_usage", load.kv_mean);
    out.emplace_back("peak_kv_cache_usage", load.kv_peak);
  }
  out.emplace_back("busy_fraction",
                   load.busy_seconds / to_seconds(result.end) / std::max(1, options.replicas));
}

// Names of vllm bench serve. Tokens past the end of an output are not counted as accepted.
void add_drafting(Summary& out, const Counters& c, const Drafting& drafting) {
  const auto drafts = static_cast<double>(c.drafts);
  const double tokens = drafts * static_cast<double>(drafting.tokens);
  const auto accepted = static_cast<double>(c.decoded_tokens - c.drafts);
  out.emplace_back("spec_decode_num_drafts", drafts);
  out.emplace_back("spec_decode_draft_tokens", tokens);
  out.emplace_back("spec_decode_accepted_tokens", accepted);
  if (drafts <= 0) return;
  out.emplace_back("spec_decode_acceptance_rate", 100 * accepted / tokens);
  out.emplace_back("spec_decode_acceptance_length", 1 + accepted / drafts);
  for (std::size_t i = 0; i < drafting.acceptance.size(); ++i) {
    const double share = c.accepted_at.empty() ? drafting.acceptance[i]
                                               : static_cast<double>(c.accepted_at.at(i)) / drafts;
    out.emplace_back("spec_decode_acceptance_rate_at_" + std::to_string(i), share);
  }
}

/// TTFT of a disaggregated request by cause; the parts add up to it. The transfer holds the wait
/// for room on the decode replica.
void add_handover(Summary& out, const RunResult& result, const std::vector<bool>& measured) {
  std::vector<double> queue, prefill, transfer, decode;
  for (const RequestRecord& r : result.requests) {
    const auto id = static_cast<std::size_t>(r.id);
    const Handover& h = result.handovers[id];
    const bool counts = id >= measured.size() || measured[id];
    if (!counts || r.outcome != Outcome::completed || h.transferred < 0) continue;
    queue.push_back(to_seconds(r.scheduled - r.arrival));
    prefill.push_back(to_seconds(h.prefilled - r.scheduled));
    transfer.push_back(to_seconds(h.transferred - h.prefilled));
    decode.push_back(to_seconds(r.first_token - h.transferred));
  }
  add_latency(out, "ttft_queue_ms", queue);
  add_latency(out, "ttft_prefill_ms", prefill);
  add_latency(out, "ttft_transfer_ms", transfer);
  add_latency(out, "ttft_first_decode_ms", decode);
}

void add_operations(Summary& out, const RunResult& result) {
  const Counters& c = result.counters;
  double held = 0, gpus = 0;
  for (const ReplicaRecord& r : result.replicas) {
    held += to_seconds(r.held) * r.gpus;
    gpus += r.gpus;
  }
  const bool all = held >= gpus * to_seconds(result.end) * (1 - 1e-12);
  if (c.faults > 0 || c.retries > 0) {
    out.emplace_back("faults", static_cast<double>(c.faults));
    out.emplace_back("retries", static_cast<double>(c.retries));
    out.emplace_back("tokens_lost", static_cast<double>(c.tokens_lost));
  }
  if (!all) out.emplace_back("gpu_seconds", held);
}

void add_work(Summary& out, const RunResult& result, const Work& work) {
  const double seconds = to_seconds(result.end);
  if (seconds > 0 && work.peak_flops > 0) {
    out.emplace_back("mfu", work.flops / seconds / work.peak_flops);
  }
  if (seconds > 0 && work.peak_bandwidth > 0) {
    out.emplace_back("mbu", work.bytes / seconds / work.peak_bandwidth);
  }
  for (const auto& [bound, bound_seconds] : work.seconds_by_bound) {
    out.emplace_back("seconds_" + bound, bound_seconds);
  }
}

}  // namespace

Summary summarize(const RunResult& result, const SummaryOptions& options) {
  Summary out;
  if (result.request_sums != nullptr) {
    add_throughput(out, *result.request_sums, result.end, options);
    add_latencies(out, *result.request_sums, result.timeline.sums());
  } else {
    add_throughput(out, result, options);
    const Latencies latencies = latencies_of(result, options.grouping.measured);
    add_latency(out, "ttft_ms", latencies.ttft);
    if (result.handovers.empty()) {
      add_latency(out, "ttft_queue_ms", latencies.queue);
      add_latency(out, "ttft_prefill_ms", latencies.prefill);
    } else {
      add_handover(out, result, options.grouping.measured);
    }
    add_latency(out, "tpot_ms", latencies.tpot);
    add_itl(out, latencies, result.timeline);
    add_latency(out, "e2el_ms", latencies.e2el);
    add_certainty(out, result, latencies, options);
  }
  add_operations(out, result);
  add_load(out, result, options);
  if (options.drafting) add_drafting(out, result.counters, *options.drafting);
  if (options.work) add_work(out, result, *options.work);
  return out;
}

TimeAverages time_averages(const RunResult& result, int replicas) {
  TimeAverages out;
  const EpochSums& sums = result.timeline.sums();
  const double whole = to_seconds(result.end);
  out.busy_seconds = sums.busy;
  double use = 0;  // of the pool, integrated over time and added up over replicas [s]
  const auto add = [&](const EpochSums& of, std::int64_t num_blocks) {
    if (num_blocks <= 0) return;
    const auto blocks = static_cast<double>(num_blocks);
    use += of.blocks / blocks;
    out.kv_peak = std::max(out.kv_peak, static_cast<double>(of.peak_blocks) / blocks);
  };
  if (result.pool_sums.empty()) add(sums, result.num_blocks);
  for (std::size_t p = 0; p < result.pool_sums.size(); ++p) {
    for (const ReplicaRecord& replica : result.replicas) {
      if (replica.pool != static_cast<int>(p)) continue;
      add(result.pool_sums[p], replica.num_blocks);
      break;
    }
  }
  if (whole <= 0) return out;
  out.running = sums.running / whole;
  out.waiting = sums.waiting / whole;
  out.kv_mean = use / (whole * std::max(1, replicas));
  return out;
}

}  // namespace servegrid::metrics
