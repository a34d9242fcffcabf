#include "cluster/router.hpp"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <unordered_map>

#include "units/error.hpp"
#include "workload/random.hpp"

namespace servegrid::cluster {

int least_outstanding(const Fleet& fleet) {
  return *std::min_element(fleet.candidates->begin(), fleet.candidates->end(), [&](int a, int b) {
    return fleet.outstanding[static_cast<std::size_t>(a)] <
           fleet.outstanding[static_cast<std::size_t>(b)];
  });
}

namespace {

int draw(workload::SplitMix64& random, int count) {
  boost::random::uniform_int_distribution<int> uniform(0, count - 1);
  return uniform(random);
}

class RoundRobin final : public Router {
 public:
  explicit RoundRobin(const Fleet& fleet) : fleet_(fleet) {}
  int pick(const workload::Request&, Ticks) override {
    // The first ready one from where it stands on, wherever replicas came and went.
    const std::vector<int>& ready = *fleet_.candidates;
    const auto at = std::lower_bound(ready.begin(), ready.end(), next_);
    const int chosen = at == ready.end() ? ready.front() : *at;
    next_ = chosen + 1;
    return chosen;
  }

 private:
  const Fleet& fleet_;
  int next_ = 0;
};

class Random final : public Router {
 public:
  Random(const Fleet& fleet, std::uint64_t seed) : fleet_(fleet), stream_(seed, "router") {}
  int pick(const workload::Request& request, Ticks) override {
    workload::SplitMix64 random = stream_.at(request.id);
    const std::vector<int>& ready = *fleet_.candidates;
    return ready[static_cast<std::size_t>(draw(random, static_cast<int>(ready.size())))];
  }

 private:
  const Fleet& fleet_;
  workload::Stream stream_;
};

class LeastOutstanding final : public Router {
 public:
  explicit LeastOutstanding(const Fleet& fleet) : fleet_(fleet) {}
  int pick(const workload::Request&, Ticks) override { return least_outstanding(fleet_); }

 private:
  const Fleet& fleet_;
};

// The pool least used; requests that wait hold no blocks yet, so they count first.
class LeastKv final : public Router {
 public:
  explicit LeastKv(const Fleet& fleet) : fleet_(fleet) {}
  int pick(const workload::Request&, Ticks now) override {
    int best = -1;
    std::pair<std::int64_t, double> least;
    for (const int i : *fleet_.candidates) {
      const auto r = static_cast<std::size_t>(i);
      const engine::Observation seen = fleet_.replicas[r].observe(now);
      const std::pair<std::int64_t, double> load{
          seen.waiting,
          static_cast<double>(seen.blocks_used) / static_cast<double>(fleet_.num_blocks[r])};
      if (best < 0 || load < least) {
        best = i;
        least = load;
      }
    }
    return best;
  }

 private:
  const Fleet& fleet_;
};

class SessionAffinity final : public Router {
 public:
  explicit SessionAffinity(const Fleet& fleet) : fleet_(fleet) {}
  int pick(const workload::Request& request, Ticks) override {
    if (request.user < 0) return least_outstanding(fleet_);
    const auto home = home_.try_emplace(request.user, -1).first;
    const std::vector<int>& ready = *fleet_.candidates;
    if (!std::binary_search(ready.begin(), ready.end(), home->second)) {  // new, or it went away
      home->second = least_outstanding(fleet_);
    }
    return home->second;
  }

 private:
  const Fleet& fleet_;
  std::unordered_map<std::int64_t, int> home_;  // looked up only, never iterated
};

class PowerOfTwo final : public Router {
 public:
  PowerOfTwo(const Fleet& fleet, std::uint64_t seed) : fleet_(fleet), stream_(seed, "router") {}
  int pick(const workload::Request& request, Ticks) override {
    const std::vector<int>& ready = *fleet_.candidates;
    const int count = static_cast<int>(ready.size());
    if (count == 1) return ready.front();
    workload::SplitMix64 random = stream_.at(request.id);
    int first = draw(random, count);
    int second = draw(random, count - 1);
    if (second >= first) ++second;  // two different ones
    first = ready[static_cast<std::size_t>(first)];
    second = ready[static_cast<std::size_t>(second)];
    const auto load = [this](int i) { return fleet_.outstanding[static_cast<std::size_t>(i)]; };
    if (load(first) != load(second)) return load(first) < load(second) ? first : second;
    return std::min(first, second);
  }

 private:
  const Fleet& fleet_;
  workload::Stream stream_;
};

}  // namespace

std::unique_ptr<Router> make_router(const std::string& name, const Fleet& fleet,
                                    const catalog::RouterSpec& spec, std::uint64_t seed) {
  if (name == "round-robin") return std::make_unique<RoundRobin>(fleet);
  if (name == "random") return std::make_unique<Random>(fleet, seed);
  if (name == "least-outstanding") return std::make_unique<LeastOutstanding>(fleet);
  if (name == "least-kv") return std::make_unique<LeastKv>(fleet);
  if (name == "session-affinity") return std::make_unique<SessionAffinity>(fleet);
  if (name == "power-of-two") return std::make_unique<PowerOfTwo>(fleet, seed);
  if (name == "prefix-aware") return make_prefix_aware(fleet, spec);
  if (name == "vllm-dp") return make_vllm_dp(fleet, spec);
  throw InputError("router: unknown name '" + name +
                   "'; expected round-robin, random, least-outstanding, least-kv, "
                   "session-affinity, power-of-two, prefix-aware or vllm-dp");
}

}  // namespace servegrid::cluster
