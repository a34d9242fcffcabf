#include "plan/money.hpp"

#include <catch2/catch.hpp>

#include "plan/equal.hpp"
#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::plan;

namespace {

PlanSpec spec(const std::string& more = "") {
  return read_plan_text(R"(model: llama-3.1-70b
load: {workload: {open: {rate: 1 /s, prompt: 1000 tokens, output: 100 tokens}}}
slo: [p99 ttft <= 2 s]
candidates: {gpu: [b200], weights: bf16, engine: vllm}
prices: [per-gpu-2026-11, servers-2026-11]
)" + more,
                        "plan.yaml");
}

std::optional<Rental> price(const PlanSpec& plan, const std::string& source, const char* gpu,
                            int gpus, int replicas) {
  std::string reason;
  const auto rental = rent(plan, source, catalog::Catalog().gpu(gpu), gpus, 1, replicas, reason);
  CHECK(rental.has_value() == reason.empty());
  return rental;
}

}  // namespace

TEST_CASE("a sheet sells what it sells") {
  const PlanSpec plan = spec();
  CHECK(price(plan, "per-gpu-2026-11", "mi355x", 2, 1)->month == 2 * 1409);
  CHECK(price(plan, "per-gpu-2026-11", "b300", 2, 1)->month == 2 * 4019);
  CHECK(price(plan, "per-gpu-2026-11", "h200", 4, 1)->month == 4 * 2279);
  CHECK(price(plan, "per-gpu-2026-11", "h100-sxm", 8, 1)->month == 8 * 1779);
  // Whole servers only: two GPUs cost as much as eight, and so do four replicas of two.
  CHECK(price(plan, "servers-2026-11", "mi355x", 2, 1)->month == 19900);
  CHECK(price(plan, "servers-2026-11", "mi355x", 2, 4)->month == 19900);
  CHECK(price(plan, "servers-2026-11", "mi355x", 2, 5)->month == 2 * 19900);
  // Four single B200 are not one server: one replica of TP 4 needs the server.
  CHECK(price(plan, "servers-2026-11", "b200", 1, 4)->month == 4 * 4590);
  CHECK(price(plan, "servers-2026-11", "b200", 4, 1)->month == 34900);
  CHECK_FALSE(price(plan, "servers-2026-11", "h200", 1, 1));
  CHECK_FALSE(price(plan, "per-gpu-2026-11", "b200", 16, 1));
}

TEST_CASE("a node may fail; whole servers; an own price; ownership") {
  const PlanSpec spare = spec("constraints: {spare_nodes: 1}\n");
  CHECK(price(spare, "servers-2026-11", "b200", 4, 2)->month == 2 * 34900);
  const PlanSpec whole = spec("constraints: {whole_servers: true}\n");
  CHECK(price(whole, "per-gpu-2026-11", "mi355x", 2, 1)->month == 8 * 1409);
  const PlanSpec own = spec(
      "price: {b200: 2 USD/h}\nownership: {gpu_price: {b200: 48000 USD}, depreciation_months: 48, "
      "staff: 500 USD/month}\n");
  CHECK(price(own, "own price", "b200", 2, 3)->month == Approx(6 * 2 * 730));
  CHECK_FALSE(price(own, "own price", "h200", 2, 3));
  CHECK(price(own, "ownership", "b200", 2, 3)->month == Approx(6 * 1000 + 500));
  CHECK(affordable(own, "own price", catalog::Catalog().gpu("b200"), 2, 1, 10000) == 3);
  CHECK(affordable(own, "own price", catalog::Catalog().gpu("b200"), 8, 1, 10000) == 0);
}

TEST_CASE("token costs add up to the month, whatever the split") {
  const TokenVolume v{3e9, 2e9, 1e9};
  for (const double weight : {0.0, 0.1, 1.0}) {
    const TokenCosts c = token_costs(10000, v, 30, 70, weight);
    CHECK(c.input * 3000 + c.cached * 2000 + c.output * 1000 == Approx(10000));
    CHECK(c.total * 6000 == Approx(10000));
    CHECK(c.output_month == Approx(7000));
    CHECK(c.input_month + c.cached_month == Approx(3000));
    CHECK(c.cached == Approx(c.input * weight));
  }
  // Nothing to put it on: no cost, not a division by zero.
  CHECK(token_costs(10000, {}, 30, 70, 0.1).total == 0);
  const TokenCosts only = token_costs(10000, {0, 0, 1e9}, 30, 70, 0.1);
  CHECK(only.output * 1000 == Approx(10000));
}

TEST_CASE("break-even is where the API costs the same") {
  const ApiPrice api{"", 1, 0.5, 4};
  const TokenVolume v{3e6, 2e6, 1e6};
  CHECK(api_month(api, v) == Approx(3 + 1 + 4));
}

TEST_CASE("equal shares: as many replicas as take the same") {
  const auto scenario = [](const char* gpu, int tp) {
    return catalog::read_scenario_text(
        std::string("model: llama-3.1-70b\nweights: fp8\nreplica: {gpu: ") + gpu +
            ", tp: " + std::to_string(tp) +
            "}\nengine: vllm\nworkload: {closed: {concurrent: 1, prompt: 10 tokens, output: 10 "
            "tokens}, requests: 1}\n",
        "test.yaml");
  };
  const auto b200 = scenario("b200", 4), mi355x = scenario("mi355x", 2), h200 = scenario("h200", 1);
  const std::vector<const catalog::Scenario*> all = {&b200, &mi355x, &h200};
  const catalog::PriceSheet sheet = catalog::Catalog().prices("per-gpu-2026-11");
  const auto cost = equal_shares(all, Equal::cost, 0, &sheet);  // 4 x 3439 = 13756
  CHECK(cost[0].replicas == 1);
  CHECK(cost[1].replicas == 4);  // 2 x 1409 each: 11272; a fifth would be above
  CHECK(cost[2].replicas == 6);
  for (const auto& share : cost) CHECK(share.total <= 13756);
  const auto gpus = equal_shares(all, Equal::gpus, 8, nullptr);
  CHECK(gpus[0].replicas == 2);
  CHECK(gpus[1].replicas == 4);
  CHECK(gpus[2].replicas == 8);
  const auto memory = equal_shares(all, Equal::memory, 0, nullptr);  // 720 GB of four B200
  CHECK(memory[1].replicas == 1);
  CHECK(memory[2].replicas == 5);
  const auto power = equal_shares(all, Equal::power, 2000, nullptr);
  CHECK(power[0].replicas == 0);
  CHECK_FALSE(power[0].reason.empty());
  CHECK_THROWS_AS(equal_shares(all, Equal::cost, 0, nullptr), InputError);
  CHECK_THROWS_AS(parse_equal("beauty"), InputError);
}
