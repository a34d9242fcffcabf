#include <catch2/catch.hpp>

#include "import/import.hpp"
#include "units/error.hpp"

using namespace servegrid;
using importer::Kind;

namespace {

const std::string bench =
    R"({"date": "20261101-101010", "backend": "vllm", "model_id": "meta-llama/Llama-3.1-70B-Instruct",
"num_prompts": 320, "request_rate": "inf", "max_concurrency": 32, "duration": 100.5, "completed": 320,
"total_input_tokens": 640000, "total_output_tokens": 64000, "output_throughput": 636.8, "mean_ttft_ms": 410.5,
"p99_tpot_ms": 33.1, "mean_itl_ms": 30.2})";

const std::string requests =
    "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00.0,1000,100\n2023-11-16 "
    "18:00:01.5,2000,300\n2023-11-16 18:00:03.0,3000,200\n";

const std::string metrics =
    "# HELP vllm:num_requests_running Number of requests\n"
    "vllm:num_requests_running{engine=\"0\",model_name=\"meta-llama/Llama-3.1-70B-Instruct\"} "
    "24.0\n"
    "vllm:num_requests_waiting{engine=\"0\",model_name=\"meta-llama/Llama-3.1-70B-Instruct\"} 8.0\n"
    "vllm:request_prompt_tokens_sum{engine=\"0\"} 150000\n"
    "vllm:request_prompt_tokens_count{engine=\"0\"} 100\n"
    "vllm:request_generation_tokens_sum{engine=\"0\"} 20000\n"
    "vllm:request_generation_tokens_count{engine=\"0\"} 100\n"
    "vllm:time_to_first_token_seconds_sum{engine=\"0\"} 55\n"
    "vllm:time_to_first_token_seconds_count{engine=\"0\"} 100\n"
    "vllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\",num_gpu_blocks=\"20000\","
    "gpu_memory_utilization=\"0.9\"} 1.0\n";

catalog::Scenario scenario_of(const importer::Imported& in) {
  INFO(in.scenario);
  return catalog::read_scenario_text(in.scenario, "imported");
}

importer::Options on(const std::string& gpu, const std::string& model = "") {
  importer::Options options;
  options.gpu = gpu;
  if (!model.empty()) options.set = {{"model", model}};
  return options;
}

}  // namespace

TEST_CASE("kinds are seen from the content") {
  CHECK(importer::kind_of(bench) == Kind::bench_result);
  CHECK(importer::kind_of(requests) == Kind::request_log);
  CHECK(importer::kind_of(metrics) == Kind::prometheus);
  CHECK(importer::kind_of("vllm serve x") == Kind::command_line);
  CHECK(importer::kind_of("INFO GPU KV cache size: 12 tokens") == Kind::startup_log);
  CHECK_FALSE(importer::kind_of("hello"));
  CHECK_FALSE(importer::kind_of(""));
}

TEST_CASE("a bench result is a load and what was observed") {
  const auto in = importer::import_all({{"bench.json", bench}}, on("h100"));
  const auto s = scenario_of(in);
  CHECK(s.workload.concurrent == 32);
  CHECK(s.workload.prompt.mean == 2000);
  CHECK(s.workload.output.mean == 200);
  CHECK(s.workload.requests == 320);
  CHECK(in.observed.size() == 5);
  auto open = bench;
  open.replace(open.find("\"inf\""), 5, "4.5");
  open.replace(open.find("\"max_concurrency\": 32"), 21, "\"max_concurrency\": null");
  CHECK(scenario_of(importer::import_all({{"b", open}}, on("h100"))).workload.rate == 4.5);
}

TEST_CASE("a request log is an open loop, or the trace itself") {
  auto options = on("h100", "llama-3.1-70b");
  const auto s = scenario_of(importer::import_all({{"r.csv", requests}}, options));
  CHECK(s.workload.rate == Approx(2 / 3.0));
  CHECK(s.workload.prompt.mean == 2000);
  options.keep_trace = true;
  const auto in = importer::import_all({{"r.csv", requests}}, options);
  CHECK(in.trace_csv ==
        "arrival_s,prompt,output\n0.000000,1000,100\n1.500000,2000,300\n3.000000,3000,200\n");
}

TEST_CASE("metrics of a running engine") {
  const auto in = importer::import_all({{"metrics.txt", metrics}}, on("h100"));
  const auto s = scenario_of(in);
  CHECK(s.workload.concurrent == 32);
  CHECK(s.workload.prompt.mean == 1500);
  CHECK(s.num_gpu_blocks == 20000);
  CHECK(s.knobs.memory_fraction == 0.9);
  REQUIRE(in.observed.size() == 1);
  CHECK(in.observed[0].second == 550);
}

TEST_CASE("several sources make one scenario; the later ones win") {
  const auto in = importer::import_all(
      {{"launch.sh", "vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 4"}, {"bench.json", bench}},
      on("h100"));
  const auto s = scenario_of(in);
  CHECK(s.parallel.tp == 4);
  CHECK(s.workload.concurrent == 32);
}

TEST_CASE("hostile sources are refused, in bounded time") {
  const auto refused = [](const std::string& text) {
    CHECK_THROWS_AS(importer::import_all({{"x", text}}, on("h100", "llama-3.1-70b")), InputError);
  };
  refused("");
  refused(std::string("vllm serve x\0y", 14));
  refused("{\"total_output_tokens\": " + std::string(100000, '['));
  refused(R"({"total_output_tokens": 1e999, "total_input_tokens": 1, "completed": 1})");
  refused(R"({"total_output_tokens": -5, "total_input_tokens": 1, "completed": 1})");
  refused("arrival_s,prompt_tokens,output_tokens\n1,2\n");
  refused("arrival_s,prompt_tokens,output_tokens\n1,2,3\n1,2,3\n");
  refused("arrival_s,prompt_tokens,output_tokens\n1,nan,3\n2,2,3\n");
  refused("GPU KV cache size: " + std::string(2 << 20, 'x'));
}
