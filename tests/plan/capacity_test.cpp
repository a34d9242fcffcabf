#include "plan/capacity.hpp"

#include <catch2/catch.hpp>

#include "catalog/catalog.hpp"
#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::plan;

namespace {

catalog::Scenario scenario(const std::string& load, const std::string& replica = "{gpu: b200}",
                           const std::string& model = "llama-3.1-8b") {
  return catalog::read_scenario_text("model: " + model + "\nreplica: " + replica +
                                         "\nengine: vllm-0.24\nworkload: {" + load +
                                         ", requests: 500}\n",
                                     "test.yaml");
}

const std::string open =
    "open: {rate: 1 /s, prompt: {uniform: [800 tokens, 1200 tokens]}, output: {uniform: [80 "
    "tokens, "
    "120 tokens]}}";
const std::string closed =
    "closed: {concurrent: 1, prompt: {uniform: [800 tokens, 1200 tokens]}, output: {uniform: [80 "
    "tokens, 120 tokens]}}";
const Objectives slo = {{Metric::ttft, 95, 1.0}, {Metric::tpot, 95, 0.02}};

}  // namespace

TEST_CASE("the capacity holds, and a little more does not") {
  for (const auto& load : {open, closed}) {
    const Rig rig(scenario(load));
    CapacityOptions options;
    options.probe.requests = 300;
    const Capacity found = find_capacity(rig, slo, options);
    REQUIRE(found.load > 0);
    REQUIRE(found.above > found.load);
    CHECK(found.above <= found.load * 1.0201 + 1);
    CHECK(found.at.meets(slo));
    CHECK_FALSE(found.beyond.meets(slo));
    CHECK_FALSE(found.missed.empty());
    CHECK(rig.measure(found.load, slo, options.probe).meets(slo));
    CHECK_FALSE(rig.measure(found.above * 1.3 + 1, slo, options.probe).meets(slo));
    // The bound is one.
    CHECK(bound_of(rig, slo).load * 1.15 >= found.load);
    // A text between processes keeps everything.
    CHECK(to_text(capacity_from_text(to_text(found))) == to_text(found));
  }
}

TEST_CASE("tighter objectives and slower steps sustain less") {
  const Rig rig(scenario(open));
  CapacityOptions options;
  options.probe.requests = 300;
  const double base = find_capacity(rig, slo, options).load;
  CHECK(find_capacity(rig, {{Metric::ttft, 95, 1.0}, {Metric::tpot, 95, 0.008}}, options).load <
        base);
  options.probe.step_scale = 1.5;
  CHECK(find_capacity(rig, slo, options).load < base);
  options.probe.step_scale = 1;
  options.ttft_scale = 20;
  CHECK(find_capacity(rig, slo, options).load <= base);
}

TEST_CASE("an objective that nothing meets is a capacity of nothing, with the reason") {
  const Rig rig(scenario(closed));
  CapacityOptions options;
  options.probe.requests = 100;
  const Capacity found = find_capacity(rig, {{Metric::tpot, std::nullopt, 1e-6}}, options);
  CHECK(found.load == 0);
  CHECK(found.missed.find("TPOT") != std::string::npos);
}

TEST_CASE("seeds give an interval around their mean, whatever the workers") {
  const Rig rig(scenario(open));
  CapacityOptions options;
  options.probe.requests = 200;
  const Interval one = capacity_interval(rig, slo, options, 3, 1);
  const Interval two = capacity_interval(rig, slo, options, 3, 2);
  CHECK(one.mean == two.mean);
  CHECK(one.low <= one.mean);
  CHECK(one.mean <= one.high);
  CHECK(one.seeds.size() == 3);
  // Two seeds may end in the same bracket; what they saw there differs.
  CHECK(to_text(one.seeds[0].probes[0]) != to_text(one.seeds[1].probes[0]));
}

TEST_CASE("a set-up that does not fit is infeasible, a trace has no load to raise") {
  CHECK_THROWS_AS(Rig(scenario(open, "{gpu: l4}", "llama-3.1-70b")), InfeasibleError);
}

TEST_CASE("twice the replicas sustain about twice the load") {
  catalog::Scenario s = scenario(open);
  CapacityOptions options;
  options.probe.requests = 300;
  const double one = find_capacity(Rig(s), slo, options).load;
  s.replicas = 2;
  const double two = find_capacity(Rig(s), slo, options).load;
  CHECK(two > 1.9 * one);  // pooling helps a little
  CHECK(two < 2.7 * one);
}

TEST_CASE("the closed-form bound is above what is sustained, whatever the set-up") {
  const std::string talks =
      "conversations: {concurrent: 1, history: 2000 tokens, turn_input: {uniform: [100 tokens, 300 "
      "tokens]}, output: {uniform: [100 tokens, 300 tokens]}, turns: 4, think_time: {exponential: "
      "5 "
      "s}}";
  for (const char* gpu : {"h100-sxm", "b200", "mi355x", "l40s"})
    for (const char* model : {"llama-3.1-8b", "qwen3-30b-a3b", "gpt-oss-20b"})
      for (const auto& load : {open, closed, talks}) {
        const Rig rig(scenario(load, std::string("{gpu: ") + gpu + ", tp: 2}", model));
        CapacityOptions options;
        options.probe.requests = 200;
        options.tolerance = 0.05;
        const Objectives loose = {{Metric::ttft, 95, 3.0}, {Metric::tpot, 95, 0.05}};
        const Capacity found = find_capacity(rig, loose, options);
        INFO(gpu << ' ' << model << ' ' << load);
        CHECK(found.load > 0);
        CHECK(found.load <= 1.15 * bound_of(rig, loose).load);
      }
}
