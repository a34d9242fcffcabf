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

// Whether the run stops here with what it has, for taking too much.
bool Driver::limit_reached() {
  if (!limits_) return false;
  std::string reached = limits_->reached();
  if (reached.empty()) return false;
  result_.partial = std::move(reached);
  stop_at_ = now_;
  cut();
  return true;
}

void Driver::cut() {
  stopped_ = result_.stopped = true;
  precision_ = 0;
  for (std::size_t r = 0; r < fleet_.replicas.size(); ++r) {
    const bool prefill = prefills(static_cast<int>(r));  // its only token reaches nobody
    for (const engine::Left& left : fleet_.replicas[r].cut(stop_at_)) {
      if (!prefill) record(left.id).generated_tokens = left.generated;
    }
  }
  result_.end = std::max(result_.end, stop_at_);
  if (sums_) {
    records_.each([this](const metrics::RequestRecord& r) { sums_->add_unfinished(r); });
    records_ = {};
  }
  drop_those_to_come();
}

// Ids count the requests that arrived.
void Driver::drop_those_to_come() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < result_.requests.size(); ++i) {
    if (result_.requests[i].id < 0) continue;
    if (kept != i) {
      result_.requests[kept] = std::move(result_.requests[i]);
      if (!result_.handovers.empty()) result_.handovers[kept] = result_.handovers[i];
    }
    result_.requests[kept].id = static_cast<std::int64_t>(kept);
    ++kept;
  }
  result_.requests.resize(kept);
  if (!result_.handovers.empty()) result_.handovers.resize(kept);
}

}  // namespace servegrid::cluster
