// vLLM's load balance over data-parallel engines (vllm/v1/engine/core_client.py, since 2026-07-27):
// score = max(requests this client has in flight x clients, waiting + running)
//         + 6 x waiting x max(0, KV use - 0.5),
// least first from a rotating start. Queues and KV use are those last reported.
#include <algorithm>
#include <limits>

#include "cluster/router.hpp"

namespace servegrid::cluster {

namespace {

// Engines report this often.
const Ticks interval = to_ticks(0.1);

class VllmDp final : public Router {
 public:
  explicit VllmDp(const Fleet& fleet) : fleet_(fleet), reports_(fleet.replicas.size()) {}

  int pick(const workload::Request&, Ticks now) override {
    const std::size_t count = fleet_.replicas.size();
    if (reported_ < 0 || now - reported_ >= interval) report(now);
    const std::size_t start = next_++ % count;
    std::size_t best = start;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = (start + k) % count;
      const double s = score(i);
      if (s < least) {
        least = s;
        best = i;
      }
    }
    return static_cast<int>(best);
  }

 private:
  struct Report {
    std::int64_t waiting = 0, running = 0;
    double kv_use = 0;
  };

  void report(Ticks now) {
    reported_ = now;
    for (std::size_t r = 0; r < fleet_.replicas.size(); ++r) {
      const engine::Observation seen = fleet_.replicas[r].observe(now);
      const auto blocks = static_cast<double>(std::max<std::int64_t>(1, fleet_.num_blocks));
      reports_[r] =
          Report{seen.waiting, seen.running, static_cast<double>(seen.blocks_used) / blocks};
    }
  }

  [[nodiscard]] double score(std::size_t r) const {
    const Report& seen = reports_[r];
    const std::int64_t load = std::max(fleet_.outstanding[r], seen.waiting + seen.running);
    return static_cast<double>(load) +
           6.0 * static_cast<double>(seen.waiting) * std::max(0.0, seen.kv_use - 0.5);
  }

  const Fleet& fleet_;
  std::vector<Report> reports_;
  Ticks reported_ = -1;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Router> make_vllm_dp(const Fleet& fleet) {
  return std::make_unique<VllmDp>(fleet);
}

}  // namespace servegrid::cluster
