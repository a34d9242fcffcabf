#include "cluster/router.hpp"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <unordered_map>

#include "units/error.hpp"
#include "workload/random.hpp"

namespace servegrid::cluster {

namespace {

int least_outstanding(const Fleet& fleet) {
  const auto least = std::min_element(fleet.outstanding.begin(), fleet.outstanding.end());
  return static_cast<int>(least - fleet.outstanding.begin());
}

int draw(workload::SplitMix64& random, int count) {
  boost::random::uniform_int_distribution<int> uniform(0, count - 1);
  return uniform(random);
}

class RoundRobin final : public Router {
 public:
  explicit RoundRobin(const Fleet& fleet) : fleet_(fleet) {}
  int pick(const workload::Request&, Ticks) override {
    const std::size_t chosen = next_;
    next_ = (next_ + 1) % fleet_.replicas.size();
    return static_cast<int>(chosen);
  }

 private:
  const Fleet& fleet_;
  std::size_t next_ = 0;
};

class Random final : public Router {
 public:
  Random(const Fleet& fleet, std::uint64_t seed) : fleet_(fleet), stream_(seed, "router") {}
  int pick(const workload::Request& request, Ticks) override {
    workload::SplitMix64 random = stream_.at(request.id);
    return draw(random, static_cast<int>(fleet_.replicas.size()));
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
    std::size_t best = 0;
    std::pair<std::int64_t, std::int64_t> least;
    for (std::size_t i = 0; i < fleet_.replicas.size(); ++i) {
      const engine::Observation seen = fleet_.replicas[i].observe(now);
      const std::pair<std::int64_t, std::int64_t> load{seen.waiting, seen.blocks_used};
      if (i == 0 || load < least) {
        best = i;
        least = load;
      }
    }
    return static_cast<int>(best);
  }

 private:
  const Fleet& fleet_;
};

class SessionAffinity final : public Router {
 public:
  explicit SessionAffinity(const Fleet& fleet) : fleet_(fleet) {}
  int pick(const workload::Request& request, Ticks) override {
    if (request.user < 0) return least_outstanding(fleet_);
    const auto [home, is_new] = home_.try_emplace(request.user, 0);
    if (is_new) home->second = least_outstanding(fleet_);
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
    const int count = static_cast<int>(fleet_.replicas.size());
    if (count == 1) return 0;
    workload::SplitMix64 random = stream_.at(request.id);
    const int first = draw(random, count);
    int second = draw(random, count - 1);
    if (second >= first) ++second;  // two different ones
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
                                    std::uint64_t seed) {
  if (name == "round-robin") return std::make_unique<RoundRobin>(fleet);
  if (name == "random") return std::make_unique<Random>(fleet, seed);
  if (name == "least-outstanding") return std::make_unique<LeastOutstanding>(fleet);
  if (name == "least-kv") return std::make_unique<LeastKv>(fleet);
  if (name == "session-affinity") return std::make_unique<SessionAffinity>(fleet);
  if (name == "power-of-two") return std::make_unique<PowerOfTwo>(fleet, seed);
  if (name == "vllm-dp") return make_vllm_dp(fleet);
  throw InputError("router: unknown name '" + name +
                   "'; expected round-robin, random, least-outstanding, least-kv, "
                   "session-affinity, power-of-two or vllm-dp");
}

}  // namespace servegrid::cluster
