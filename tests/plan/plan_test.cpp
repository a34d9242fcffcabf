// Whole plans: the articles' questions pinned, and an answer that holds with other random numbers.
#include "plan/plan.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "plan/report.hpp"

using namespace servegrid;
using namespace servegrid::plan;

namespace {

PlanOptions fast() {
  PlanOptions options;
  options.requests = 150;
  options.draws = 200;
  options.finalists = 2;
  options.sensitivity = false;
  return options;
}

struct Found {
  int gpus = 0;
  double month = 0;
  const Row* row = nullptr;
};

// The cheapest plan on one kind of GPU under a price source.
Found cheapest_on(const PlanResult& result, const std::string& gpu, std::size_t source) {
  Found best;
  for (const auto& row : result.rows) {
    const auto& o = row.options.at(source);
    if (result.of(row).gpu != gpu || !o.rental) continue;
    if (best.row == nullptr || o.rental->total() < best.month)
      best = {result.of(row).gpus() * o.replicas, o.rental->total(), &row};
  }
  return best;
}

}  // namespace

TEST_CASE("405B in FP8: GPUs and cost ratios as the articles have them", "[golden]") {
  auto options = fast();
  options.keep = 100;  // all of them, not only those near the best
  const PlanResult result = make_plan(read_plan("article_405b_fp8"), options);
  const auto mi355x = cheapest_on(result, "mi355x", 0), b300 = cheapest_on(result, "b300", 0),
             h200 = cheapest_on(result, "h200", 0), h100 = cheapest_on(result, "h100-sxm", 0);
  CHECK(mi355x.gpus == 2);
  CHECK(b300.gpus == 2);
  CHECK(h200.gpus == 4);
  CHECK(h100.gpus == 8);
  CHECK(mi355x.month / b300.month == Approx(0.3506).margin(1e-4));
  CHECK(mi355x.month / h200.month == Approx(0.3091).margin(1e-4));
  CHECK(mi355x.month / h100.month == Approx(0.1980).margin(1e-4));
  // Under whole servers the order is another one: the server costs the same for two GPUs.
  CHECK(cheapest_on(result, "mi355x", 1).month == 19900);
  CHECK(cheapest_on(result, "b200", 1).month == 34900);
  CHECK(cheapest_on(result, "h200", 1).row == nullptr);
}

TEST_CASE("DeepSeek-V3 in FP8: 4 MI355X, 4 B300, 8 H200", "[golden]") {
  auto options = fast();
  options.keep = 100;
  const PlanResult result = make_plan(read_plan("article_deepseek_v3_fp8"), options);
  CHECK(cheapest_on(result, "mi355x", 0).gpus == 4);
  CHECK(cheapest_on(result, "mi355x", 0).month == 5636);
  CHECK(cheapest_on(result, "b300", 0).gpus == 4);
  CHECK(cheapest_on(result, "b300", 0).month == 16076);
  CHECK(cheapest_on(result, "h200", 0).gpus == 8);
  CHECK(cheapest_on(result, "h200", 0).month == 18232);
}

TEST_CASE("an answer holds with other random numbers, and one replica fewer does not", "[golden]") {
  const PlanSpec plan = read_plan_text(R"(model: llama-3.1-8b
load: {workload: {open: {rate: 60 /s, prompt: {uniform: [800 tokens, 1600 tokens]}, output: {uniform: [150 tokens, 350 tokens]}}}}
slo: [p95 ttft <= 1 s, p95 tpot <= 20 ms]
candidates: {gpu: [h100, b200], weights: bf16, engine: vllm, tp: [1]}
prices: [per-gpu-2026-11]
)",
                                       "test.yaml");
  const PlanResult result = make_plan(plan, fast());
  REQUIRE(result.chosen);
  const Row& row = result.rows[*result.chosen];
  REQUIRE(row.replicas > 1);
  CHECK_FALSE(row.fewer.empty());
  catalog::Scenario s = result.of(row).scenario;
  ProbeOptions probe;
  probe.seed = 4711;
  probe.requests = 1500;
  s.replicas = row.replicas;
  CHECK(Rig(s).measure(60, plan.slo, probe).meets(plan.slo));
  s.replicas = row.replicas - 1;
  CHECK_FALSE(Rig(s).measure(60, plan.slo, probe).meets(plan.slo));

  // The interval holds the answer; the costs add up; the same bytes whatever the workers.
  CHECK(row.low <= row.replicas);
  CHECK(row.high >= row.replicas);
  const auto& o = row.options.at(0);
  CHECK(o.daily.input_month + o.daily.cached_month + o.daily.output_month ==
        Approx(o.rental->total()));
  double wins = 0;
  for (const auto& other : result.rows) wins += other.options.at(0).wins;
  CHECK(wins <= 1 + 1e-9);
  auto options = fast();
  options.jobs = 1;
  const auto again = make_plan(plan, options);
  CHECK(plan_json(plan, again) == plan_json(plan, result));
}

TEST_CASE("every candidate is either ranked or rejected with a reason") {
  const PlanSpec plan = read_plan_text(R"(model: llama-3.1-70b
load: {workload: {open: {rate: 2 /s, prompt: 1000 tokens, output: 100 tokens}}}
slo: [p95 ttft <= 5 s, p95 tpot <= 100 ms]
candidates: {gpu: [mi355x, h100, b300], weights: [bf16, fp8], engine: [vllm, trtllm], tp: [1, 2, 3]}
constraints: {min_fp64: 30 TFLOPS, max_gpus: 8}
prices: [per-gpu-2026-11]
)",
                                       "test.yaml");
  const PlanResult result = make_plan(plan, fast());
  CHECK(result.rows.size() + result.rejected.size() == result.candidates.size());
  const auto reason = [&](const std::string& label) {
    for (const auto& r : result.rejected)
      if (r.label.find(label) == 0) return r.stage + ": " + r.reason;
    return std::string();
  };
  CHECK(reason("mi355x TP 1, bf16, trtllm").find("software: ") == 0);
  CHECK(reason("h100-sxm TP 1, bf16, vllm").find("memory: ") == 0);
  CHECK(reason("h100-sxm TP 3, bf16, vllm").find("heads") != std::string::npos);
  CHECK(reason("b300 TP 1, bf16, vllm").find("constraint: FP64 1.25") == 0);
  for (const auto& r : result.rejected) CHECK_FALSE(r.reason.empty());
  const auto json = nlohmann::json::parse(plan_json(plan, result));
  CHECK(json.at("rejected").size() == result.rejected.size());
  // Precisions are ranked apart.
  for (const auto i : result.ranked(0, "8-bit"))
    CHECK(result.of(result.rows[i]).precision() == "8-bit");
}

TEST_CASE("goals") {
  const auto plan_for = [](const std::string& more) {
    return read_plan_text(R"(model: llama-3.1-8b
load: {workload: {open: {rate: 20 /s, prompt: {uniform: [800 tokens, 1600 tokens]}, output: {uniform: [150 tokens, 350 tokens]}}}}
slo: [p95 ttft <= 1 s, p95 tpot <= 30 ms]
candidates: {gpu: [h100, mi355x], weights: bf16, engine: vllm, tp: [1, 2]}
)" + more,
                          "test.yaml");
  };
  const PlanResult goodput = make_plan(plan_for("goal: goodput\ngpus: 4\n"), fast());
  REQUIRE(goodput.chosen);
  const auto& most = goodput.rows[*goodput.chosen].options.at(0);
  CHECK(most.rental->gpus() <= 4);
  for (const auto& row : goodput.rows) CHECK(row.options.at(0).served <= most.served * (1 + 1e-9));
  const PlanResult budget = make_plan(
      plan_for("goal: budget\nbudget: 4000 USD/month\nprices: [per-gpu-2026-11]\n"), fast());
  REQUIRE(budget.chosen);
  for (const auto& row : budget.rows)
    if (row.options.at(0).rental) CHECK(row.options.at(0).rental->total() <= 4000);
  const PlanResult fewest = make_plan(plan_for("goal: fewest-gpus\n"), fast());
  REQUIRE(fewest.chosen);
  const int gpus = fewest.rows[*fewest.chosen].options.at(0).rental->gpus();
  for (const auto& row : fewest.rows) CHECK(row.options.at(0).rental->gpus() >= gpus);
  const PlanResult latency =
      make_plan(plan_for("goal: latency\nconstraints: {max_gpus: 8}\n"), fast());
  REQUIRE(latency.chosen);
  CHECK(latency.of(latency.rows[*latency.chosen]).parallel.tp == 2);  // the faster answer
}
