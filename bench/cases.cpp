#include "cases.hpp"

#include <fmt/format.h>

#include "catalog/catalog.hpp"
#include "cluster/simulate.hpp"
#include "run_case.hpp"

namespace servegrid::bench {

namespace {

// Lengths of a chat service: log-normal, about 900 tokens in and 280 out on average.
constexpr const char* chat_lengths =
    "prompt: {lognormal: {mean: 900 tokens, sigma: 1.0}}, output: {lognormal: {mean: 280 tokens, "
    "sigma: 0.8}}";

std::string one_replica(const std::string& workload) {
  return "model: llama-3.1-8b\nweights: bf16\nreplica: {gpu: h100-sxm, tp: 1}\n"
         "engine: vllm-0.24\n" +
         workload;
}

std::string saturated(int requests) {
  return fmt::format("workload:\n  closed: {{concurrent: 512, {}}}\n  requests: {}\n", chat_lengths,
                     requests);
}

std::string open_loop(int requests) {
  return fmt::format("workload:\n  open: {{rate: RATE, {}}}\n  requests: {}\n", chat_lengths,
                     requests);
}

// Requests a second of one replica that always has some waiting.
double capacity() {
  const catalog::Scenario s =
      catalog::read_scenario_text(one_replica(saturated(5000)), "capacity.yaml");
  const auto result = cluster::simulate(s, prepare(s).pools);
  return static_cast<double>(result.counters.completed) / to_seconds(result.end);
}

std::string disaggregated(const std::string& model, int prefill_tp, int decode_tp,
                          const std::string& rate) {
  return fmt::format(
      "model: {}\nweights: fp8\nengine: {{profile: vllm-0.24, kv_cache_dtype: fp8}}\n"
      "pools:\n"
      "  prefill: {{role: prefill, gpu: h200, tp: {}, replicas: 2}}\n"
      "  decode: {{role: decode, gpu: h200, tp: {}, replicas: 1}}\n"
      "router: {{policy: least-outstanding, decode: least-kv}}\n"
      "transfer: {{mode: whole}}\n"
      "workload:\n"
      "  open: {{rate: {}, prompt: {{uniform: [3072 tokens, 4096 tokens]}},\n"
      "         output: {{uniform: [200 tokens, 400 tokens]}}}}\n"
      "  requests: 20000\n",
      model, prefill_tp, decode_tp, rate);
}

}  // namespace

std::vector<Case> all_cases() {
  return {
      {"a", "one replica at 70 % load, log-normal lengths", 0.5, one_replica(open_loop(200'000)),
       0.7},
      {"b", "the same saturated", 0.5, one_replica(saturated(200'000)), 0},
      {"c", "64 replicas behind a least-outstanding router, 70 % load", 0.3,
       one_replica("replicas: 64\nrouter: least-outstanding\n" + open_loop(400'000)), 0.7 * 64},
      {"d", "8K conversations under KV pressure, with preemption", 0.1,
       "model: llama-3.1-70b\nweights: bf16\nreplica: {gpu: b200, tp: 1}\nengine: vllm-0.24\n"
       "workload:\n"
       "  conversations: {concurrent: 15, history: 5632 tokens, turn_input: 128 tokens,\n"
       "                  output: 512 tokens, turns: 4, think_time: 10 s}\n"
       "  requests: 20000\n",
       0},
      {"e", "long chats over a shared prompt, most of it found in the prefix cache", 0.1,
       "model: llama-3.1-8b\nweights: bf16\nreplica: {gpu: h200, tp: 1}\nengine: vllm-0.24\n"
       "workload:\n"
       "  conversations: {concurrent: 96, history: 2048 tokens, turns: 12, think_time: 20 s,\n"
       "                  shared_prefix: 2048 tokens,\n"
       "                  turn_input: {lognormal: {mean: 900 tokens, sigma: 1.0}},\n"
       "                  output: {lognormal: {mean: 200 tokens, sigma: 0.8}}}\n"
       "  requests: 50000\n",
       0},
      {"f", "prefill and decode apart, one contending KV transfer a request", 0.03,
       disaggregated("llama-3.1-8b", 1, 1, "24 /s"), 0},
      {"g", "the same between servers of 4 and 8 GPUs: eight transfers a request", 0,
       disaggregated("llama-3.3-70b", 4, 8, "8 /s"), 0},
  };
}

catalog::Scenario scenario_of(const Case& one) {
  std::string text = one.yaml;
  if (one.load > 0) {
    const std::string word = "RATE";
    text.replace(text.find(word), word.size(), fmt::format("{:.6g} /s", one.load * capacity()));
  }
  return catalog::read_scenario_text(text, "bench-" + one.name + ".yaml");
}

}  // namespace servegrid::bench
