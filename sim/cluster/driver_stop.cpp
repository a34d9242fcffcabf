// Runs that end before their requests do: at a time, or when the means are known well enough.
#include <algorithm>

#include "cluster/driver.hpp"
#include "metrics/steady.hpp"
#include "units/error.hpp"

namespace servegrid::cluster {

void Driver::need_no_records(const catalog::WorkloadSpec& w) {
  if (w.duration > 0 || w.precision > 0 || w.warmup_time > 0 || w.warmup_auto ||
      !w.classes.empty()) {
    throw InputError(
        "workload: duration, precision, classes and a warm-up by time or found need the record of "
        "each request: leave --no-requests-table out");
  }
}

void Driver::stop_when(const catalog::WorkloadSpec& w) {
  if (w.duration <= 0 && w.precision <= 0) return;
  if (disaggregated_ || operations_) {
    throw InputError(
        "workload: 'duration' and 'precision' stop runs of whole replicas: not with prefill and "
        "decode pools, faults or operations; say how many 'requests' instead");
  }
  if (w.duration > 0) stop_at_ = to_ticks(w.duration);
  precision_ = w.precision;
}

// At ever longer distances: looking costs as much as there are requests.
void Driver::look_at_precision() {
  if (stopped_ || ++ends_ < next_look_) return;
  next_look_ = ends_ + ends_ / 4;
  std::vector<metrics::RequestRecord> arrived;
  for (const metrics::RequestRecord& r : result_.requests) {
    if (r.id >= 0) arrived.push_back(r);
  }
  if (!metrics::precise(arrived, precision_)) return;
  precision_ = 0;
  stop_at_ = now_;
}

void Driver::cut() {
  stopped_ = true;
  precision_ = 0;
  for (engine::Replica& replica : fleet_.replicas) {
    for (const engine::Left& left : replica.cut(stop_at_)) {
      record(left.id).generated_tokens = left.generated;
    }
  }
  result_.end = std::max(result_.end, stop_at_);
  // Requests that were still to come: ids count those that arrived.
  std::erase_if(result_.requests, [](const metrics::RequestRecord& r) { return r.id < 0; });
  for (std::size_t i = 0; i < result_.requests.size(); ++i) {
    result_.requests[i].id = static_cast<std::int64_t>(i);
  }
}

}  // namespace servegrid::cluster
