// Speculative decoding by the engines' own names.
#include <catch2/catch.hpp>

#include "catalog/catalog.hpp"
#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::catalog;
using Catch::Matchers::Contains;
using Method = Speculation::Method;

namespace {

std::string scenario(const std::string& model, const std::string& engine,
                     const std::string& more = "speculation: {acceptance: 0.5}\n") {
  return "model: " + model + "\nreplica: {gpu: h200, tp: 8}\nengine: " + engine +
         "\nworkload: {closed: {concurrent: 1, prompt: 10 tokens, output: 10 tokens}, requests: "
         "1}\n" +
         more;
}

Scenario read(const std::string& text) {
  return read_scenario_text(text, "test.yaml");
}

}  // namespace

TEST_CASE("vLLM: a speculative_config, and acceptance as one probability", "[catalog]") {
  const Scenario s = read(scenario(
      "deepseek-v3.1",
      "{profile: vllm, speculative_config: {method: deepseek_mtp, num_speculative_tokens: 3}}"));
  CHECK(s.speculation.method == Method::mtp);
  CHECK(s.speculation.passes == 3);
  CHECK(s.speculation.verified == 4);
  // Each is accepted in half of the cases in which the one before it was.
  CHECK(s.speculation.acceptance == std::vector<double>{0.5, 0.25, 0.125});
  CHECK(s.speculation.tokens_per_step() == 1.875);
  CHECK_FALSE(s.speculation.sampled);
  // The resolved scenario says the same.
  const Scenario again = read(s.resolved_yaml);
  CHECK(again.speculation.acceptance == s.speculation.acceptance);
  CHECK(again.resolved_yaml == s.resolved_yaml);
}

TEST_CASE("A draft model, by position and drawn", "[catalog]") {
  const Scenario s = read(scenario("llama-3.1-70b",
                                   "{profile: vllm, speculative_config: {model: llama-3.2-1b, "
                                   "num_speculative_tokens: 2, draft_tensor_parallel_size: 8}}",
                                   "speculation: {acceptance: [0.8, 60 %], mode: sampled}\n"));
  CHECK(s.speculation.method == Method::draft_model);
  CHECK(s.speculation.draft->name == "llama-3.2-1b");
  CHECK(s.speculation.acceptance == std::vector<double>{0.8, 0.6});
  CHECK(s.speculation.sampled);
  CHECK(read(s.resolved_yaml).resolved_yaml == s.resolved_yaml);
}

TEST_CASE("SGLang: a chain and a tree; TensorRT-LLM: MTP", "[catalog]") {
  const Scenario chain =
      read(scenario("deepseek-v3.1",
                    "{profile: sglang, speculative_algorithm: NEXTN, speculative_num_steps: 2}"));
  CHECK(chain.speculation.method == Method::mtp);
  CHECK(chain.speculation.verified == 3);
  const Scenario tree =
      read(scenario("deepseek-v3.1",
                    "{profile: sglang, speculative_algorithm: EAGLE, speculative_num_steps: 3, "
                    "speculative_eagle_topk: 4, speculative_num_draft_tokens: 8}"));
  CHECK(tree.speculation.passes == 3);
  CHECK(tree.speculation.rows == 4);
  CHECK(tree.speculation.verified == 8);
  CHECK(read(tree.resolved_yaml).resolved_yaml == tree.resolved_yaml);
  const Scenario trt = read(scenario(
      "deepseek-v3.1",
      "{profile: trtllm, speculative_config: {decoding_type: MTP, num_nextn_predict_layers: 1}}"));
  CHECK(trt.speculation.passes == 1);
}

TEST_CASE("--set reaches the drafts", "[catalog]") {
  const Scenario s = read_scenario_text(
      scenario("deepseek-v3.1",
               "{profile: vllm, speculative_config: {method: mtp, num_speculative_tokens: 1}}"),
      "test.yaml",
      {{"engine.speculative_config.num_speculative_tokens", "2"},
       {"speculation.acceptance", "[0.9, 0.5]"}});
  CHECK(s.speculation.acceptance == std::vector<double>{0.9, 0.5});
}

TEST_CASE("Drafts that cannot be are errors that say what would be right", "[catalog]") {
  const auto vllm = [](const std::string& config, const std::string& model = "deepseek-v3.1",
                       const std::string& more = "speculation: {acceptance: 0.5}\n") {
    return scenario(model, "{profile: vllm, speculative_config: " + config + "}", more);
  };
  const std::string mtp = "{method: mtp, num_speculative_tokens: 2}";
  CHECK_THROWS_WITH(read(vllm(mtp, "llama-3.1-70b")), Contains("no multi-token-prediction layer"));
  CHECK_THROWS_WITH(read(vllm(mtp, "deepseek-v3.1", "")), Contains("acceptance"));
  CHECK_THROWS_WITH(read(vllm(mtp, "deepseek-v3.1", "speculation: {acceptance: [0.5]}\n")),
                    Contains("1 positions for 2 drafts"));
  CHECK_THROWS_WITH(read(vllm(mtp, "deepseek-v3.1", "speculation: {acceptance: [0.5, 0.6]}\n")),
                    Contains("never rise"));
  CHECK_THROWS_WITH(read(vllm(mtp, "deepseek-v3.1", "speculation: {acceptance: 1.5}\n")),
                    Contains("test.yaml:5"));
  CHECK_THROWS_WITH(read(vllm("{method: medusa, num_speculative_tokens: 2}")),
                    Contains("is one of"));
  CHECK_THROWS_WITH(read(vllm("{method: mtp}")), Contains("num_speculative_tokens"));
  CHECK_THROWS_WITH(read(vllm("{method: mtp, num_speculative_tokens: 1000000}")), Contains("32"));
  CHECK_THROWS_WITH(read(vllm("{method: mtp, num_speculative_tokens: 2, foo: 1}")),
                    Contains("foo"));
  CHECK_THROWS_WITH(read(vllm("{method: draft_model, num_speculative_tokens: 2}")),
                    Contains("needs the draft"));
  CHECK_THROWS_WITH(read(vllm("{model: qwen3-0.6b, num_speculative_tokens: 2}")),
                    Contains("vocabulary"));
  CHECK_THROWS_WITH(
      read(vllm("{model: llama-3.2-1b, num_speculative_tokens: 2, draft_tensor_parallel_size: 1}",
                "llama-3.1-70b")),
      Contains("1 is not tp 8"));
  CHECK_THROWS_WITH(read(scenario("llama-3.1-70b", "vllm")), Contains("speculative_config"));
  CHECK_THROWS_WITH(read(scenario("llama-3.1-70b", "orca")), Contains("no speculative decoding"));
  // Switched off by name, the assumption may stay: sweeps compare with none.
  CHECK_FALSE(read(vllm("null", "llama-3.1-70b")).speculation.on());
  // Another engine's knobs are unknown.
  CHECK_THROWS_WITH(
      read(scenario("deepseek-v3.1", "{profile: sglang, speculative_config: " + mtp + "}")),
      Contains("speculative_config"));
  CHECK_THROWS_WITH(read(scenario("deepseek-v3.1", "{profile: sglang, speculative_num_steps: 2}")),
                    Contains("speculative_algorithm"));
  CHECK_THROWS_WITH(read(scenario("deepseek-v3.1",
                                  "{profile: sglang, speculative_algorithm: NEXTN, "
                                  "speculative_num_steps: 2, speculative_num_draft_tokens: 5}")),
                    Contains("verifies 3 tokens"));
}

TEST_CASE("Expert ranks: imbalance and all-to-all backends", "[catalog]") {
  const auto text = [](const std::string& replica, const std::string& engine) {
    return "model: deepseek-v3.1\nreplica: " + replica + "\nengine: " + engine +
           "\nworkload: {closed: {concurrent: 1, prompt: 10 tokens, output: 10 tokens}, requests: "
           "1}\n";
  };
  const Scenario s =
      read(text("{gpu: h200, tp: 1, dp: 8, ep: 8, expert_imbalance: 1.5}",
                "{profile: sglang, moe_a2a_backend: deepep, deepep_mode: low_latency}"));
  CHECK(s.parallel.expert_imbalance == 1.5);
  CHECK(s.knobs.all_to_all == AllToAll::deepep_low_latency);
  CHECK(s.knobs.rank_balance == RankBalance::round_robin);
  CHECK(read(s.resolved_yaml).resolved_yaml == s.resolved_yaml);
  CHECK(read(text("{gpu: h200, dp: 8, ep: 8}", "vllm")).knobs.rank_balance ==
        RankBalance::least_loaded);
  CHECK_THROWS_WITH(read(text("{gpu: h200, tp: 8, expert_imbalance: 1.5}", "vllm")),
                    Contains("only under ep"));
  CHECK_THROWS_WITH(read(text("{gpu: h200, tp: 8, ep: 8, expert_imbalance: 9}", "vllm")),
                    Contains("at most 8 times"));
  CHECK_THROWS_WITH(read(text("{gpu: h200, tp: 8}", "{profile: sglang, deepep_mode: low_latency}")),
                    Contains("moe_a2a_backend"));
}
