#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "cluster/simulate.hpp"
#include "toy.hpp"
#include "units/error.hpp"

using namespace servegrid;
using Kind = catalog::WorkloadSpec::Kind;

namespace {

const toy::Steps steps(0.01, 1e-6);

}  // namespace

TEST_CASE("the same scenario and seed give the same bytes, with leaps and without", "[cluster]") {
  for (const Kind kind : {Kind::closed, Kind::open, Kind::conversations}) {
    for (const char* router : {"round-robin", "random", "least-outstanding", "least-kv",
                               "session-affinity", "power-of-two", "vllm-dp"}) {
      catalog::Scenario s = toy::scenario(kind);
      s.replicas = 3;
      s.router = router;
      INFO(router);
      const std::string once = toy::text(cluster::simulate(s, steps, 90, 0));
      CHECK(toy::text(cluster::simulate(s, steps, 90, 0)) == once);
      cluster::RunOptions one_by_one;
      one_by_one.leap = false;
      CHECK(toy::text(cluster::simulate(s, steps, 90, 0, one_by_one)) == once);
      s.seed = 2;
      CHECK(toy::text(cluster::simulate(s, steps, 90, 0)) != once);
    }
  }
}

TEST_CASE("a replica more does not change what arrives", "[cluster]") {
  catalog::Scenario s = toy::scenario(Kind::open);
  const auto one = cluster::simulate(s, steps, 1000, 0);
  s.replicas = 4;
  const auto four = cluster::simulate(s, steps, 1000, 0);
  REQUIRE(one.requests.size() == four.requests.size());
  for (std::size_t i = 0; i < one.requests.size(); ++i) {
    REQUIRE(one.requests[i].arrival == four.requests[i].arrival);
    REQUIRE(one.requests[i].prompt_tokens == four.requests[i].prompt_tokens);
    REQUIRE(one.requests[i].output_tokens == four.requests[i].output_tokens);
  }
  CHECK(four.end < one.end);
}

TEST_CASE("routers send where their names say", "[cluster]") {
  catalog::Scenario s = toy::scenario(Kind::conversations);
  s.replicas = 4;
  s.router = "round-robin";
  auto result = cluster::simulate(s, steps, 1000, 0);
  std::vector<std::pair<std::pair<Ticks, std::int64_t>, int>> order;
  for (const auto& r : result.requests) order.push_back({{r.arrival, r.id}, r.replica});
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    REQUIRE(order[i].second == static_cast<int>(i % 4));
  }
  s.router = "session-affinity";
  result = cluster::simulate(s, steps, 1000, 0);
  std::set<std::pair<std::int64_t, int>> homes;
  for (const auto& r : result.requests) homes.insert({r.user, r.replica});
  CHECK(homes.size() == 12);
  s.router = "least-outstanding";
  result = cluster::simulate(s, steps, 1000, 0);
  std::vector<int> first(4, 0);
  for (std::size_t i = 0; i < 12; ++i)
    ++first[static_cast<std::size_t>(result.requests[i].replica)];
  CHECK(first == std::vector<int>{3, 3, 3, 3});
  s.router = "nearest";
  CHECK_THROWS_AS(cluster::simulate(s, steps, 1000, 0), InputError);
}

TEST_CASE("vLLM's balance spreads what arrives at once over all engines", "[cluster]") {
  catalog::Scenario s = toy::scenario(Kind::closed);
  s.replicas = 4;
  s.router = "vllm-dp";
  const auto result = cluster::simulate(s, steps, 1000, 0);
  std::vector<int> first(4, 0);
  for (std::size_t i = 0; i < 12; ++i)
    ++first[static_cast<std::size_t>(result.requests[i].replica)];
  CHECK(first == std::vector<int>{3, 3, 3, 3});
}

TEST_CASE("a request that can never run is rejected, and the rest goes on", "[cluster]") {
  catalog::Scenario s = toy::scenario(Kind::closed);
  s.knobs.max_model_len = 300;
  const auto result = cluster::simulate(s, steps, 1000, 0);
  CHECK(result.counters.rejected > 0);
  CHECK(result.counters.completed > 0);
  CHECK(result.counters.rejected + result.counters.completed == 300);
}

TEST_CASE("policies from outside take the place of the scenario's", "[cluster]") {
  struct Last final : cluster::Router {
    explicit Last(std::size_t count) : count(count) {}
    int pick(const workload::Request&, Ticks) override { return static_cast<int>(count) - 1; }
    std::size_t count;
  };
  struct Halved final : workload::Source {
    explicit Halved(std::unique_ptr<workload::Source> base) : base(std::move(base)) {}
    static std::optional<workload::Request> halve(std::optional<workload::Request> request) {
      if (request) request->output_tokens = (request->output_tokens + 1) / 2;
      return request;
    }
    std::optional<workload::Request> next_arrival() override { return halve(base->next_arrival()); }
    std::optional<workload::Request> on_end(const workload::Request& r, Ticks now,
                                            bool done) override {
      return halve(base->on_end(r, now, done));
    }
    [[nodiscard]] std::int64_t total() const override { return base->total(); }
    std::unique_ptr<workload::Source> base;
  };
  catalog::Scenario s = toy::scenario(Kind::closed);
  s.replicas = 3;
  const auto plain = cluster::simulate(s, steps, 1000, 0);
  cluster::RunOptions options;
  options.custom.router = [](const cluster::Fleet& fleet) {
    return std::make_unique<Last>(fleet.replicas.size());
  };
  options.custom.source = [](std::unique_ptr<workload::Source> base) {
    return std::make_unique<Halved>(std::move(base));
  };
  options.custom.admission = [](const workload::Request& request, Ticks, const cluster::Fleet&) {
    return std::string(request.id % 10 == 3 ? "every tenth" : "");
  };
  const auto result = cluster::simulate(s, steps, 1000, 0, options);
  REQUIRE(result.requests.size() == plain.requests.size());
  CHECK(result.counters.rejected == 30);
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    const auto& r = result.requests[i];
    const bool turned_away = r.id % 10 == 3;
    CHECK(r.replica == (turned_away ? -1 : 2));
    CHECK(r.reason == (turned_away ? "every tenth" : ""));
    CHECK(r.output_tokens == (plain.requests[i].output_tokens + 1) / 2);
  }
}
