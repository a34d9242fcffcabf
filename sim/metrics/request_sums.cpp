#include "metrics/request_sums.hpp"

namespace servegrid::metrics {

bool meets(const RequestRecord& r, const Objectives& o) {
  const double decode = to_seconds(r.finish - r.first_token);
  return (!o.ttft || to_seconds(r.first_token - r.arrival) <= *o.ttft) &&
         (!o.tpot || r.output_tokens < 2 ||
          decode / static_cast<double>(r.output_tokens - 1) <= *o.tpot) &&
         (!o.e2el || to_seconds(r.finish - r.arrival) <= *o.e2el);
}

void RequestSums::add(const RequestRecord& r) {
  check_record(r);
  ++requests;
  preemptions += r.preemptions;
  rejected += r.outcome == Outcome::rejected ? 1 : 0;
  failed += r.outcome == Outcome::failed ? 1 : 0;
  cancelled += r.outcome == Outcome::cancelled ? 1 : 0;
  if (r.outcome == Outcome::failed || r.outcome == Outcome::cancelled) {
    output_tokens += r.generated_tokens;
  }
  if (r.outcome != Outcome::completed) return;
  ++completed;
  output_tokens += r.output_tokens;
  input += static_cast<double>(r.prompt_tokens);
  output += static_cast<double>(r.output_tokens);
  good += meets(r, objectives_) ? 1 : 0;
  if (completed <= warmup_) return;
  ttft.add(r.first_token - r.arrival);
  queue.add(r.scheduled - r.arrival);
  prefill.add(r.first_token - r.scheduled);
  e2el.add(r.finish - r.arrival);
  if (r.output_tokens < 2) return;
  const Ticks decode = r.finish - r.first_token;
  tpot.add(decode / (r.output_tokens - 1));
  decode_time += decode;
  gaps += r.output_tokens - 1;
}

void RequestSums::add_unfinished(const RequestRecord& r) {
  ++requests;
  ++in_flight;
  preemptions += r.preemptions;
}

}  // namespace servegrid::metrics
