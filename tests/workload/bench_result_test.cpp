// Benchmark result files as the engines' own tools write them.
#include "workload/bench_result.hpp"

#include <catch2/catch.hpp>

#include "units/error.hpp"

using namespace servegrid;
using workload::parse_bench_results;

namespace {

const char* vllm =
    R"({"date": "20261130-101500", "backend": "vllm", "label": null, "model_id": "org/model",
        "num_prompts": 320, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 32,
        "duration": 100.5, "completed": 320, "failed": 0, "total_input_tokens": 320000,
        "total_output_tokens": 96000, "request_throughput": 3.18, "request_goodput": null,
        "output_throughput": 955.2, "mean_ttft_ms": 210.0, "mean_tpot_ms": 31.5,
        "input_lens": [900, 1100], "output_lens": [290, 310], "itls": [[0.03, 0.04], []]})";

const char* sglang_line =
    R"({"backend": "sglang", "dataset_name": "random", "request_rate": 4.0, "max_concurrency": null, )"
    R"("random_input_len": 1024, "random_output_len": 256, "random_range_ratio": 0.5, )"
    R"("duration": 60.0, "completed": 240, "total_input_tokens": 184320, )"
    R"("total_output_tokens": 46080, "output_throughput": 768.0, "mean_e2e_latency_ms": 4000.0, )"
    R"("mean_ttft_ms": 150.0, "mean_tpot_ms": 20.0})";

std::string without(const std::string& text, const std::string& what, const std::string& with) {
  std::string out = text;
  return out.replace(out.find(what), what.size(), with);
}

std::string refusal(const std::string& text) {
  try {
    parse_bench_results(text, "result.json");
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a result of vllm bench serve") {
  const auto results = parse_bench_results(vllm, "result.json");
  REQUIRE(results.size() == 1);
  const auto& r = results[0];
  CHECK(r.backend == "vllm");
  CHECK(r.model == "org/model");
  CHECK(r.max_concurrency == 32);
  CHECK_FALSE(r.request_rate);
  CHECK(r.mean_input() == Approx(1000));
  CHECK(r.mean_output() == Approx(300));
  CHECK(r.mean_ttft_ms == Approx(210));
  CHECK(r.input_lens == std::vector<std::int64_t>{900, 1100});
}

TEST_CASE("SGLang appends one result a line") {
  const std::string two = std::string(sglang_line) + "\n\n" + sglang_line + "\n";
  const auto results = parse_bench_results(two, "result.jsonl");
  REQUIRE(results.size() == 2);
  CHECK(results[1].line == 3);
  CHECK(results[0].request_rate == Approx(4));
  CHECK_FALSE(results[0].max_concurrency);
  CHECK(results[0].range_ratio == Approx(0.5));
  CHECK(results[0].given_input == Approx(1024));
  CHECK(results[0].mean_e2el_ms == Approx(4000));
}

TEST_CASE("a list of results, and an infinite rate as Python writes it") {
  const std::string rate = without(vllm, "\"inf\"", "Infinity");
  const auto results = parse_bench_results("[" + rate + ",\n" + vllm + "]", "all.json");
  REQUIRE(results.size() == 2);
  CHECK_FALSE(results[0].request_rate);
}

TEST_CASE("what is no result is refused with file and key") {
  CHECK(refusal("") == "result.json: is empty");
  CHECK(refusal("[]") == "result.json: holds no result");
  CHECK(refusal("{}").find("result.json:1: has no 'completed'") == 0);
  CHECK(refusal("[1]").find("expected a benchmark result") != std::string::npos);
  CHECK(refusal("{\"completed\": ").find("not JSON") != std::string::npos);
  CHECK(refusal(without(vllm, "\"completed\": 320", "\"completed\": 0"))
            .find("nothing was measured") != std::string::npos);
  CHECK(refusal(without(vllm, "210.0", "-1")).find("'mean_ttft_ms' is -1") != std::string::npos);
  CHECK(refusal(without(vllm, "210.0", "1e308")).find("outside") != std::string::npos);
  CHECK(refusal(without(vllm, "210.0", "\"fast\"")).find("must be a number") != std::string::npos);
  CHECK(refusal(without(vllm, "\"inf\"", "\"many\"")).find("request_rate") != std::string::npos);
  CHECK(refusal(without(vllm, "[290, 310]", "[290]")).find("2 entries") != std::string::npos);
  CHECK(refusal(without(vllm, "[290, 310]", "[290, -3]")).find("token counts") !=
        std::string::npos);
  CHECK(refusal(std::string(100000, '[')).find("nested deeper") != std::string::npos);
  const std::string second = std::string(sglang_line) + "\n{\"completed\": 3}\n";
  CHECK(refusal(second).find("result.json:2: has no") == 0);
}
