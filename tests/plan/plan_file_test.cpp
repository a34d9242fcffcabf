#include "plan/plan_file.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "plan/demand.hpp"
#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::plan;

namespace {

const std::string people = R"(model: llama-3.1-70b
load: {preset: chat, users: 2000, growth: 50 %}
candidates: {gpu: [b200, mi355x], weights: bf16, engine: vllm, tp: [1, 2]}
prices: [per-gpu-2026-11]
)";

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(read_plan_text(text, "plan.yaml"));
  } catch (const InputError& e) {
    return e.what();
  }
  return {};
}

std::string edited(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("a plan in people's terms") {
  const PlanSpec plan = read_plan_text(people, "plan.yaml");
  REQUIRE(plan.load.preset);
  CHECK(plan.slo_from_preset);
  CHECK(plan.slo.size() == 2);
  CHECK(plan.candidates.gpus == std::vector<std::string>{"b200", "mi355x"});
  CHECK(plan.goal == Goal::cheapest);
  // Its text reads back as the same plan.
  CHECK(read_plan_text(plan.text, "again.yaml").text == plan.text);
}

TEST_CASE("the peak follows from users by hand") {
  const PlanSpec plan = read_plan_text(people, "plan.yaml");
  const Preset& p = *plan.load.preset;
  const Demand d = demand_of(plan);
  double sum = 0, most = 0;
  for (const double v : p.daily_curve) sum += v, most = std::max(most, v);
  const double chats = 2000 * p.chats_per_day * most / sum / 3600 * 1.5 * p.peak_factor;
  CHECK(d.rate == Approx(chats * 4));
  // Think time and an answer as slow as the objectives allow, by Little's law.
  const double answer = 2.0 + p.output * 0.05;
  CHECK(d.counts_users);
  CHECK(d.load == std::ceil(d.rate * (p.think_time + answer)));
  double hours = 0;
  for (const double share : d.hours) {
    CHECK(share <= 1 / p.peak_factor + 1e-12);
    hours += share;
  }
  CHECK(d.peak_seconds() == Approx(hours * 3600 * 22));
  // What the month serves is what the users ask for.
  CHECK(d.rate * d.peak_seconds() == Approx(2000 * 1.5 * p.chats_per_day * 4 * 22));
}

TEST_CASE("a completion preset is an open loop") {
  auto text = edited(people, "preset: chat", "preset: code");
  const Demand d = demand_of(read_plan_text(text, "plan.yaml"));
  CHECK_FALSE(d.counts_users);
  CHECK(d.load == d.rate);
  text = edited(text, "growth: 50 %", "growth: 50 %, working_hours: '09:00-17:00'");
  const Demand flat = demand_of(read_plan_text(text, "plan.yaml"));
  CHECK(flat.rate == Approx(2000 * 250 / 8.0 / 3600 * 1.5 * 1.5));
}

TEST_CASE("errors say file, line and column") {
  CHECK(error_of(edited(people, "users: 2000", "usres: 2000")).find("plan.yaml:2:") == 0);
  CHECK(error_of(people + "colour: red\n").find("plan.yaml:5:") == 0);
  CHECK(error_of(edited(people, "preset: chat", "preset: chatt")).find("did you mean 'chat'") !=
        std::string::npos);
  CHECK(error_of(edited(people, "gpu: [b200", "gpu: [b20")).find("plan.yaml:3:") == 0);
  CHECK(error_of(edited(people, "prices: [per-gpu-2026-11]\n", "")).find("no default sheet") !=
        std::string::npos);
  CHECK(error_of(people + "goal: budget\n").find("budget: 20000 USD/month") != std::string::npos);
  CHECK(error_of(people + "price: {b200: 3.10}\n").find("currency") != std::string::npos);
  CHECK(error_of(people + "slo: [p99 ttft <= 2]\n").find("plan.yaml:5:") == 0);
  CHECK(error_of(people + "slo: {ttft: {p99: 2 s}}\n").find("tpot, itl or e2el") !=
        std::string::npos);
  CHECK(error_of(people + "api: {input: 1 USD/M}\n").find("output") != std::string::npos);
  CHECK(error_of(edited(people, "tp: [1, 2]", "tp: []")).find("at least one") != std::string::npos);
  CHECK(error_of(edited(people, "users: 2000", "users: 2000, daily_curve: [1, 2]"))
            .find("24 values") != std::string::npos);
  CHECK(error_of(edited(people, "users: 2000", "users: -1")) != "");
  CHECK(error_of(edited(people, "users: 2000", "users: 1e308")) != "");
  CHECK(error_of(edited(people, "users: 2000", "users: 2000, working_hours: '9-17'"))
            .find("09:00-18:00") != std::string::npos);
}

TEST_CASE("overrides reach into a plan, relative ones too") {
  CHECK(read_plan_text(people, "p.yaml", {{"load.users", "x2"}}).load.users == 4000);
  CHECK(read_plan_text(people, "p.yaml", {{"price.b200", "3.10 USD/h"}}).own_prices.at("b200") ==
        Approx(3.10 * 730));
}

TEST_CASE("every plan that comes with it is read") {
  int plans = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(SERVEGRID_SOURCE_DIR) + "/plans")) {
    INFO(entry.path());
    CHECK_FALSE(read_plan(entry.path().string()).description.empty());
    ++plans;
  }
  CHECK(plans >= 7);
}

TEST_CASE("every preset and plan of the catalogue is read, with sources") {
  for (const char* name : {"chat", "rag", "code", "agent", "summarise", "reasoning"}) {
    const Preset p = read_preset(name);
    INFO(name);
    CHECK(p.output > 0);
    CHECK(p.turn_input > 0);
    CHECK(p.chats_per_day > 0);
    CHECK_FALSE(p.slo.empty());
    CHECK_FALSE(p.facts.empty());
  }
}
