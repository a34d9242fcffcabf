// Ten start-up logs in the engines' formats (written by us, lines shortened) import as the
// deployment they show.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "import/import.hpp"

using namespace servegrid;

namespace {

struct Case {
  const char* file;
  const char* gpu;
  const char* engine;
  const char* model;
  const char* weights;
  int tp;
  std::int64_t blocks;  // 0: bytes instead
};

std::string content(const std::string& file) {
  std::ifstream in(std::string(SERVEGRID_SOURCE_DIR) + "/tests/import/logs/" + file);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("ten start-up logs") {
  const std::vector<Case> cases = {
      {"vllm_0.10_llama70b_h100.log", "h100", "vllm-0.10", "llama-3.1-70b", "bf16", 4, 27360},
      {"vllm_0.11_qwen32b_fp8.log", "h200", "vllm-0.11", "qwen3-32b", "fp8", 1, 24576},
      {"vllm_0.19_gptoss.log", "h100", "vllm-0.19", "gpt-oss-120b", "mxfp4", 2, 0},
      {"vllm_0.24_deepseek.log", "b300", "vllm-0.24", "deepseek-v3", "fp8-block", 8, 31250},
      {"vllm_0.6_v0_llama8b.log", "a100-80g", "vllm-0.6.5", "llama-3.1-8b", "bf16", 1, 27900},
      {"vllm_0.21_unknown_version.log", "b200", "vllm-0.19", "llama-3.3-70b", "bf16", 2, 30000},
      {"sglang_0.5_llama70b.log", "h100", "sglang-0.5.9", "llama-3.1-70b", "bf16", 4, 480000},
      {"sglang_0.5_deepseek_dp.log", "h200", "sglang-0.5.14", "deepseek-v3", "fp8-block", 1,
       600000},
      {"trtllm_1.0_llama70b.log", "b200", "trtllm-1.0", "llama-3.1-70b", "fp8", 2, 6865},
      {"trtllm_1.3_qwen.log", "h200", "trtllm-1.3", "qwen3-32b", "bf16", 1, 5000},
  };
  for (const auto& c : cases) {
    importer::Options options;
    options.gpu = c.gpu;
    // TensorRT-LLM does not print the model's name or the layout.
    std::vector<importer::Source> sources = {{c.file, content(c.file)}};
    if (std::string(c.file).rfind("trtllm", 0) == 0)
      sources.push_back(
          {"launch.sh", std::string("trtllm-serve ") +
                            (c.tp == 2 ? "nvidia/Llama-3.1-70B-Instruct-FP8" : "Qwen/Qwen3-32B") +
                            " --tp_size " + std::to_string(c.tp)});
    const auto in = importer::import_all(sources, options);
    INFO(c.file << "\n" << in.scenario);
    const auto s = catalog::read_scenario_text(in.scenario, "imported");
    CHECK(s.engine.name == c.engine);
    CHECK(s.model.name == c.model);
    CHECK(catalog::name(s.weights) == c.weights);
    CHECK(s.parallel.tp == c.tp);
    if (c.blocks > 0)
      CHECK(s.num_gpu_blocks == c.blocks);
    else
      CHECK(s.kv_bytes.has_value());
    CHECK_FALSE(in.read.empty());
  }
}

TEST_CASE("an unknown version says which profile stands in, and how it differs") {
  importer::Options options;
  options.gpu = "b200";
  const auto in =
      importer::import_all({{"log", content("vllm_0.21_unknown_version.log")}}, options);
  bool said = false;
  for (const auto& line : in.assumed)
    said = said || line.find("has no profile") != std::string::npos;
  CHECK(said);
  bool concurrency = false;
  for (const auto& line : in.assumed)
    concurrency = concurrency || line.find("Maximum concurrency") != std::string::npos;
  CHECK(concurrency);
}
