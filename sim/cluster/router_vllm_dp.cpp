// vLLM's load balance over data-parallel engines (vllm/v1/engine/core_client.py, since 2026-07-27):
// score = max(requests this client has in flight x clients, waiting + running)
//         + 6 x waiting x max(0, KV use - 0.5),
// least first from a rotating start. Queues and KV use are those last reported.
#include <algorithm>
#include <limits>

#include "cluster/router.hpp"

namespace servegrid::cluster {

namespace {

class VllmDp final : public Router {
 public:
  VllmDp(const Fleet& fleet, const catalog::RouterSpec& spec)
      : fleet_(fleet), interval_(to_ticks(spec.stats_interval)) {}

  int pick(const workload::Request&, Ticks now) override {
    const std::vector<int>& ready = *fleet_.candidates;
    if (reports_.size() < fleet_.replicas.size()) reports_.resize(fleet_.replicas.size());
    if (reported_ < 0 || now - reported_ >= interval_) report(now);
    const std::size_t start = next_++ % ready.size();
    int best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < ready.size(); ++k) {
      const int i = ready[(start + k) % ready.size()];
      const double s = score(static_cast<std::size_t>(i));
      if (s < least) {
        least = s;
        best = i;
      }
    }
    return best;
  }

 private:
  struct Report {
    std::int64_t waiting = 0, running = 0;
    double kv_use = 0;
  };

  void report(Ticks now) {
    reported_ = now;
    for (const int i : *fleet_.candidates) {
      const auto r = static_cast<std::size_t>(i);
      const engine::Observation seen = fleet_.replicas[r].observe(now);
      const auto blocks = static_cast<double>(std::max<std::int64_t>(1, fleet_.num_blocks[r]));
      reports_[r] = {seen.waiting, seen.running, static_cast<double>(seen.blocks_used) / blocks};
    }
  }

  [[nodiscard]] double score(std::size_t r) const {
    const Report& seen = reports_[r];
    const std::int64_t load = std::max(fleet_.outstanding[r], seen.waiting + seen.running);
    return static_cast<double>(load) +
           6.0 * static_cast<double>(seen.waiting) * std::max(0.0, seen.kv_use - 0.5);
  }

  const Fleet& fleet_;
  Ticks interval_, reported_ = -1;
  std::vector<Report> reports_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Router> make_vllm_dp(const Fleet& fleet, const catalog::RouterSpec& spec) {
  return std::make_unique<VllmDp>(fleet, spec);
}

}  // namespace servegrid::cluster
