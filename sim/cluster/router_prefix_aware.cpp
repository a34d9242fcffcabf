// Cache-aware routing in the manner of SGLang's router (sgl-router, policies/cache_aware.rs): while
// the load is balanced, the replica that has most of the prompt, if it has enough of it, else the
// least loaded; when it is not, the least loaded. What a cache holds of a stream is known up to a
// staleness: it is asked again only when the last answer is older.
#include <algorithm>
#include <map>
#include <utility>

#include "cluster/router.hpp"

namespace servegrid::cluster {

namespace {

class PrefixAware final : public Router {
 public:
  PrefixAware(const Fleet& fleet, const catalog::RouterSpec& spec)
      : fleet_(fleet), spec_(spec), staleness_(to_ticks(spec.staleness)) {}

  int pick(const workload::Request& request, Ticks now) override {
    if (unbalanced()) return least_outstanding(fleet_);
    int best = -1;
    std::int64_t most = 0;
    for (const int i : *fleet_.candidates) {
      const std::int64_t tokens = std::min(known(i, request, now), request.prompt_tokens);
      if (tokens > most || (tokens == most && best >= 0 && most > 0 && load(i) < load(best))) {
        most = tokens;
        best = i;
      }
    }
    const double share = static_cast<double>(most) / static_cast<double>(request.prompt_tokens);
    if (best < 0 || share < spec_.match_threshold) return least_outstanding(fleet_);
    return best;
  }

 private:
  struct Answer {
    std::int64_t tokens = 0;
    Ticks at = 0;
  };

  [[nodiscard]] std::int64_t load(int i) const {
    return fleet_.outstanding[static_cast<std::size_t>(i)];
  }

  [[nodiscard]] bool unbalanced() const {
    std::int64_t least = load(fleet_.candidates->front()), most = least;
    for (const int i : *fleet_.candidates) {
      least = std::min(least, load(i));
      most = std::max(most, load(i));
    }
    return most - least > spec_.balance_absolute &&
           static_cast<double>(most) > spec_.balance_relative * static_cast<double>(least);
  }

  std::int64_t known(int i, const workload::Request& request, Ticks now) {
    const engine::Replica& replica = fleet_.replicas[static_cast<std::size_t>(i)];
    if (staleness_ == 0 || request.stream < 0) return replica.cached_tokens(request, now);
    const auto [answer, is_new] = answers_.try_emplace({i, request.stream});
    if (is_new || now - answer->second.at >= staleness_) {
      answer->second = {replica.cached_tokens(request, now), now};
    }
    return answer->second.tokens;
  }

  const Fleet& fleet_;
  catalog::RouterSpec spec_;
  Ticks staleness_;
  std::map<std::pair<int, workload::StreamId>, Answer> answers_;
};

}  // namespace

std::unique_ptr<Router> make_prefix_aware(const Fleet& fleet, const catalog::RouterSpec& spec) {
  return std::make_unique<PrefixAware>(fleet, spec);
}

}  // namespace servegrid::cluster
