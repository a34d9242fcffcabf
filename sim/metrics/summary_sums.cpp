#include "metrics/summary_sums.hpp"

namespace servegrid::metrics {

namespace {

double ms(double ticks) {
  return ticks * 0x1p-60 * 1e3;
}

void add_spread(Summary& out, const std::string& name, const QuantileSketch& sketch,
                const Moments& moments) {
  out.emplace_back("median_" + name, ms(sketch.quantile(0.5)));
  out.emplace_back("std_" + name, ms(moments.std));
  out.emplace_back("p90_" + name, ms(sketch.quantile(0.90)));
  out.emplace_back("p95_" + name, ms(sketch.quantile(0.95)));
  out.emplace_back("p99_" + name, ms(sketch.quantile(0.99)));
}

void add_latency(Summary& out, const std::string& name, const Distribution& d) {
  if (d.sketch.count() == 0) return;
  const Moments moments = d.moments.moments();
  out.emplace_back("mean_" + name, ms(moments.mean));
  add_spread(out, name, d.sketch, moments);
}

}  // namespace

void add_throughput(Summary& out, const RequestSums& r, Ticks end, const SummaryOptions& options) {
  const auto number = [&out](const char* name, std::int64_t value) {
    out.emplace_back(name, static_cast<double>(value));
  };
  number("completed", r.completed);
  number("rejected", r.rejected);
  if (r.failed > 0) number("failed", r.failed);
  if (r.cancelled > 0) number("cancelled", r.cancelled);
  if (r.in_flight > 0) number("in_flight", r.in_flight);
  const double seconds = to_seconds(end);
  out.emplace_back("duration", seconds);
  out.emplace_back("total_input_tokens", r.input);
  out.emplace_back("total_output_tokens", r.output);
  if (seconds <= 0) return;
  out.emplace_back("request_throughput", static_cast<double>(r.completed) / seconds);
  if (options.grouping.any_objectives()) {
    out.emplace_back("request_goodput", static_cast<double>(r.good) / seconds);
    out.emplace_back("slo_attainment",
                     static_cast<double>(r.good) / static_cast<double>(r.requests));
  }
  out.emplace_back("output_throughput", r.output / seconds);
  out.emplace_back("total_token_throughput", (r.input + r.output) / seconds);
}

void add_latencies(Summary& out, const RequestSums& r, const EpochSums& epochs) {
  add_latency(out, "ttft_ms", r.ttft);
  add_latency(out, "ttft_queue_ms", r.queue);
  add_latency(out, "ttft_prefill_ms", r.prefill);
  add_latency(out, "tpot_ms", r.tpot);
  if (r.gaps > 0) {
    out.emplace_back("mean_itl_ms",
                     ms(static_cast<double>(r.decode_time)) / static_cast<double>(r.gaps));
  }
  if (epochs.gaps.count() > 0) {
    add_spread(out, "itl_ms", epochs.gaps, epochs.gap_moments.moments());
  }
  add_latency(out, "e2el_ms", r.e2el);
}

}  // namespace servegrid::metrics
