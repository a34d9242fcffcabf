// Scenarios: knobs, overrides, sweeps, and the resolved text.
#include <catch2/catch.hpp>
#include <set>

#include "catalog/catalog.hpp"
#include "temporary.hpp"
#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::catalog;
using namespace servegrid::test;
using Catch::Matchers::Contains;

TEST_CASE("A scenario with the engine's defaults resolved", "[catalog][scenario]") {
  const DataFolder data;
  const Scenario s = read_scenario(data.path("scenario.yaml"));
  CHECK(s.name == "scenario");
  CHECK(s.parallel.gpus() == 2);
  CHECK(s.knobs.max_num_seqs == 256);
  CHECK(s.knobs.max_num_batched_tokens == 16384);
  CHECK(s.knobs.max_model_len == 131072);
  CHECK(s.knobs.kv_cache == Format::bf16);
  CHECK(s.knobs.graph_sizes.front() == 1);
  CHECK(s.knobs.graph_sizes.back() == 512);  // 2 x max_num_seqs
  CHECK(s.workload.kind == WorkloadSpec::Kind::closed);
  CHECK(s.workload.prompt.mean == 7680);
  CHECK(s.workload.requests == 600);
  CHECK(*s.slo.tpot == 0.05);
  CHECK_FALSE(s.slo.e2el);
  CHECK(s.seed == 7);
}

TEST_CASE("--set reaches the scenario and the profiles", "[catalog][scenario]") {
  const DataFolder data;
  const std::string path = data.path("scenario.yaml");
  const Scenario s = read_scenario(path, {{"replica.tp", "4"},
                                          {"workload.closed.concurrent", "55"},
                                          {"gpu.memory.bandwidth", "+10%"},
                                          {"model.max_context", "8192"},
                                          {"engine.memory.sampler_bytes_per_logit", "22"},
                                          {"engine.kv_cache_dtype", "fp8_e4m3"},
                                          {"memory", "{kv_bytes: 30 GB}"}});
  CHECK(s.parallel.tp == 4);
  CHECK(s.workload.concurrent == 55);
  CHECK(s.gpu.memory.bandwidth == 8.8e12);
  CHECK(s.gpu.overridden == std::vector<std::string>{"memory.bandwidth"});
  CHECK(s.knobs.max_model_len == 8192);
  CHECK(s.engine.memory.sampler_bytes_per_logit == 22);
  CHECK(s.knobs.kv_cache == Format::fp8);
  CHECK(*s.kv_bytes == 30e9);
  CHECK(read_scenario(path, {{"gpu.memory.bandwidth", "x1.5"}}).gpu.memory.bandwidth == 12e12);
  data.write("scenario.yaml",
             edited(scenario_yaml, "{profile: toyllm-1.0, max_num_seqs: 256}", "toyllm"));
  CHECK(read_scenario(path, {{"engine.max_num_seqs", "5"}}).knobs.max_num_seqs == 5);
}

TEST_CASE("The resolved scenario reads back as the same one", "[catalog][scenario]") {
  const DataFolder data;
  const char* const workloads[] = {
      "closed: {concurrent: 15, prompt: {uniform: [10 tokens, 20 tokens]}, output: 3 tokens, "
      "shared_prefix: 7 tokens}",
      "open: {rate: 7 req/min, prompt: {lognormal: {mean: 900.5 tokens, sigma: 1.1, limit: 8K "
      "tokens}}, output: 5 tokens}",
      "conversations: {concurrent: 3, history: 7168 tokens, turn_input: 300 tokens, output: 212 "
      "tokens, turns: 8, think_time: {exponential: 10.1 s}, shared_prefix: 100 tokens}",
  };
  std::set<std::string> seen;
  for (const std::string workload : workloads) {
    std::string text =
        edited(scenario_yaml, "closed: {concurrent: 15, prompt: 7680 tokens, output: 512 tokens}",
               workload);
    text = edited(text, "description: How many?", "description: \"a: #b, \\\"c\\\" \xC3\xA4\"");
    text += "warmup: 0\n";
    text = edited(text, "warmup: 0\n",
                  "memory: {num_gpu_blocks: 12000, weights: 70.1 GiB}\n"
                  "sweep: {replica.gpu: [toy, Toy GPU], replica: [{gpu: toy, tp: 8}]}\n");
    text = edited(text, "  requests: 600", "  requests: 600\n  warmup: 3 %");
    const std::string path = data.write("s.yaml", text);
    const Scenario first =
        read_scenario(path, {{"gpu.memory.bandwidth", "+10%"}, {"engine.watermark", "0.013"}});
    INFO(first.resolved_yaml);
    const Scenario again = read_scenario_text(first.resolved_yaml, path);
    CHECK(again.resolved_yaml == first.resolved_yaml);
    CHECK(again.description == first.description);
    CHECK(again.gpu.memory.bandwidth == first.gpu.memory.bandwidth);
    CHECK(again.gpu.overridden == first.gpu.overridden);
    CHECK(again.knobs.watermark == first.knobs.watermark);
    CHECK(again.knobs.graph_sizes == first.knobs.graph_sizes);
    CHECK(again.workload.rate == first.workload.rate);
    CHECK(again.workload.think_time == first.workload.think_time);
    CHECK(again.workload.think_exponential == first.workload.think_exponential);
    CHECK(again.workload.prompt.mean == first.workload.prompt.mean);
    CHECK(again.workload.prompt.limit == first.workload.prompt.limit);
    CHECK(again.workload.warmup_fraction == 0.03);
    CHECK(again.weights_bytes == first.weights_bytes);
    CHECK(again.num_gpu_blocks == first.num_gpu_blocks);
    CHECK(again.sweep == first.sweep);
    CHECK(again.seed == first.seed);
    CHECK(seen.insert(first.resolved_yaml).second);
  }
}

TEST_CASE("A sweep gives a scenario a point, the last axis fastest", "[catalog][scenario]") {
  const DataFolder data;
  data.write("hw_profiles/toy2.yaml", "extends: toy\ntitle: Two\n");
  const std::string path = data.write(
      "s.yaml", std::string(scenario_yaml) +
                    "sweep:\n  replica.gpu: [toy, toy2]\n  workload.closed.concurrent: [1, 8]\n"
                    "  gpu.memory.bandwidth: [+0%, x2]\n");
  const auto points = expand_sweep(path, {{"seed", "3"}});
  REQUIRE(points.size() == 8);
  CHECK(points[0].first ==
        "replica.gpu=toy, workload.closed.concurrent=1, gpu.memory.bandwidth=+0%");
  CHECK(points[1].second.gpu.memory.bandwidth == 16e12);
  CHECK(points[2].second.workload.concurrent == 8);
  CHECK(points[4].second.gpu.name == "toy2");
  CHECK(points[7].second.seed == 3);
  CHECK(points[7].second.sweep.empty());
  // What --set fixes is not swept.
  CHECK(expand_sweep(path, {{"replica.gpu", "toy"}}).size() == 4);
  const auto single = expand_sweep(data.path("scenario.yaml"), {});
  REQUIRE(single.size() == 1);
  CHECK(single[0].first.empty());
  data.write("s.yaml", std::string(scenario_yaml) + "sweep:\n  replica.tp: [1, 3]\n");
  CHECK_THROWS_WITH(expand_sweep(path, {}), Contains("s.yaml: sweep replica.tp=3: tp 3 does not"));
}

TEST_CASE("A scenario extends another, and traces start at its folder", "[catalog][scenario]") {
  const DataFolder data;
  data.write("traces/t.csv", "arrival_s,prompt,output\n0,1,1\n");
  const std::string path = data.write(
      "s.yaml", "extends: scenario.yaml\nreplica: {tp: 8}\nseed: 9\nworkload: {requests: 3}\n");
  const Scenario s = read_scenario(path);
  CHECK(s.parallel.tp == 8);
  CHECK(s.seed == 9);
  CHECK(s.workload.requests == 3);
  CHECK(s.workload.prompt.mean == 7680);
  data.write("t.yaml", edited(scenario_yaml,
                              "closed: {concurrent: 15, prompt: 7680 tokens, output: 512 tokens}\n"
                              "  requests: 600",
                              "trace: {file: traces/t.csv}"));
  CHECK(read_scenario(data.path("t.yaml")).workload.trace.file == data.path("traces/t.csv"));
  data.write("t.yaml", edited(scenario_yaml,
                              "closed: {concurrent: 15, prompt: 7680 tokens, output: 512 tokens}",
                              "trace: {file: traces/u.csv}"));
  CHECK_THROWS_WITH(read_scenario(data.path("t.yaml")), Contains("t.yaml:7:17: there is no file"));
}

TEST_CASE("Knobs of each policy go by the engine's own names", "[catalog][scenario]") {
  const DataFolder data;
  std::string sglang = edited(engine_yaml, "policy: vllm_v1", "policy: sglang");
  sglang = sglang.substr(0, sglang.find("defaults:")) +
           "defaults:\n  - {chunked_prefill_size: 4096, mem_fraction_static: 0.85, page_size: 1}\n";
  data.write("engines/sg-1.yaml", edited(sglang, "aliases: [toyllm]", "aliases: [sg]"));
  std::string trt = edited(engine_yaml, "policy: vllm_v1", "policy: trtllm");
  trt = trt.substr(0, trt.find("defaults:")) + "defaults:\n  - {max_batch_size: 64}\n";
  data.write("engines/trt-1.yaml", edited(trt, "aliases: [toyllm]", "aliases: [trt]"));
  const auto with = [&](const std::string& engine) {
    data.write("s.yaml", edited(scenario_yaml, "{profile: toyllm-1.0, max_num_seqs: 256}", engine));
    return read_scenario(data.path("s.yaml"));
  };
  const Scenario sg = with("{profile: sg, chunked_prefill_size: -1, context_length: 4096}");
  CHECK_FALSE(sg.knobs.enable_chunked_prefill);
  CHECK(sg.knobs.memory_fraction == 0.85);
  CHECK(sg.knobs.max_model_len == 4096);
  CHECK(read_scenario_text(sg.resolved_yaml, data.path("s.yaml")).resolved_yaml ==
        sg.resolved_yaml);
  const Scenario tr = with("{profile: trt, capacity_scheduler_policy: MAX_UTILIZATION}");
  CHECK(tr.knobs.max_num_seqs == 64);
  CHECK_FALSE(tr.knobs.guaranteed_no_evict);
  CHECK_THROWS_WITH(with("{profile: trt, max_num_seqs: 3}"), Contains("max_batch_size"));
}

TEST_CASE("a relative knob counts from the file's value, or from the engine's default") {
  const DataFolder data;
  const auto with = [&](const std::string& engine, const Overrides& set) {
    const auto text = edited(scenario_yaml, "engine: {profile: toyllm-1.0, max_num_seqs: 256}",
                             "engine: " + engine);
    return read_scenario(data.write("relative.yaml", text), set);
  };
  CHECK(with("{profile: toyllm-1.0, max_num_seqs: 256}", {{"engine.max_num_seqs", "x2"}})
            .knobs.max_num_seqs == 512);
  CHECK(with("toyllm-1.0", {{"engine.max_num_batched_tokens", "x0.5"}})
            .knobs.max_num_batched_tokens == 8192);
  CHECK(with("{profile: toyllm-1.0, max_num_batched_tokens: +50%}", {})
            .knobs.max_num_batched_tokens == 24576);
  CHECK(with("toyllm-1.0", {{"workload.requests", "-10%"}}).workload.requests == 540);
  CHECK(with("toyllm-1.0", {{"workload.closed.prompt", "+10%"}}).workload.prompt.mean == 8448);
  CHECK_THROWS_WITH(with("toyllm-1.0", {{"engine.enable_prefix_caching", "x2"}}),
                    Contains("no number to change"));
  CHECK_THROWS_AS(with("toyllm-1.0", {{"engine.max_model_len", "x2"}}), InputError);
}
