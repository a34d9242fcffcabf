#include <catch2/catch.hpp>

#include "import/import.hpp"
#include "plan/launch.hpp"
#include "units/error.hpp"

using namespace servegrid;

namespace {

importer::Imported import_text(const std::string& text, const std::string& gpu) {
  importer::Options options;
  options.gpu = gpu;
  return importer::import_all({{"launch.sh", text}}, options);
}

catalog::Scenario imported(const std::string& text, const std::string& gpu) {
  const auto in = import_text(text, gpu);
  INFO(in.scenario);
  return catalog::read_scenario_text(in.scenario, "imported");
}

// What a launch command can say of a scenario, as text.
std::string essence(const catalog::Scenario& s) {
  const auto& text = s.resolved_yaml;
  const auto from = text.find("model:"), to = text.find("workload:");
  std::string out = text.substr(from, to - from);
  // Graph sizes follow from the rest; the fleet and its router are not in one replica's command.
  std::string kept;
  std::size_t start = 0;
  while (start < out.size()) {
    const auto end = std::min(out.find('\n', start), out.size());
    const std::string line = out.substr(start, end - start);
    if (line.rfind("replicas:", 0) != 0 && line.rfind("router:", 0) != 0) kept += line + '\n';
    start = end + 1;
  }
  return kept;
}

}  // namespace

TEST_CASE("every launch command that a plan writes comes back as the same set-up") {
  struct Case {
    const char *model, *gpu, *weights, *engine, *replica;
  };
  const std::vector<Case> cases = {
      {"llama-3.1-70b", "b200", "bf16", "vllm", "tp: 2"},
      {"llama-3.1-70b", "h200", "fp8", "vllm", "tp: 4, pp: 2"},
      {"llama-3.1-70b", "b200", "nvfp4", "vllm", "tp: 1"},
      {"llama-3.3-70b", "h100-sxm", "fp8", "sglang", "tp: 8"},
      {"llama-3.1-70b", "mi355x", "mxfp4", "sglang", "tp: 2"},
      {"llama-3.1-70b", "b200", "fp8", "trtllm", "tp: 2"},
      {"deepseek-v3", "b300", "fp8-block", "vllm", "tp: 8, ep: 8"},
      {"deepseek-v3", "h200", "fp8-block", "sglang", "tp: 8, ep: 8"},
      {"gpt-oss-120b", "h100-sxm", "mxfp4", "vllm", "tp: 1"},
      {"qwen3-32b", "l40s", "fp8", "vllm", "tp: 4"},
  };
  for (const auto& c : cases)
    for (const char* knobs : {"", ", kv_cache_dtype: fp8"}) {
      const std::string text = std::string("model: ") + c.model + "\nweights: " + c.weights +
                               "\nreplica: {gpu: " + c.gpu + ", " + c.replica +
                               "}\nengine: {profile: " + c.engine + knobs +
                               "}\nworkload: {open: {rate: 3 /s, prompt: 1000 tokens, output: 200 "
                               "tokens, shared_prefix: 100 tokens}, requests: 900}\n";
      const auto s = catalog::read_scenario_text(text, "asked.yaml");
      const std::string launch = plan::launch_command(s);
      INFO(launch);
      const auto in = import_text(launch, c.gpu);
      CHECK(in.not_represented.empty());
      CHECK(essence(imported(launch, c.gpu)) == essence(s));
      // With its bench command, the load comes back too.
      const auto both = launch + "\n\n" + plan::bench_command(s, 3, 3, {});
      const auto again = imported(both, c.gpu);
      CHECK(again.workload.rate == 3);
      CHECK(again.workload.prompt.mean == 1000);
      CHECK(again.workload.shared_prefix == 100);
      CHECK(again.workload.output.mean == 200);
    }
}

TEST_CASE("a command as people type it") {
  const auto in = import_text(
      "docker run --gpus all -e HF_TOKEN=x vllm/vllm-openai:v0.10.0\n"
      "# the server\n"
      "VLLM_USE_V1=1 vllm serve 'meta-llama/Llama-3.1-70B-Instruct' -tp 4 \\\n"
      "  --max_model_len=32K --kv-cache-dtype fp8_e4m3 --port 8000 --enforce-eager \\\n"
      "  --some-new-flag 12 --no-enable-prefix-caching\n",
      "h100");
  const auto s = catalog::read_scenario_text(in.scenario, "imported");
  CHECK(s.parallel.tp == 4);
  CHECK(s.knobs.max_model_len == 32768);
  CHECK(s.knobs.kv_cache == catalog::Format::fp8);
  CHECK_FALSE(s.knobs.enable_prefix_caching);
  const auto has = [](const std::vector<std::string>& list, const std::string& word) {
    for (const auto& line : list)
      if (line.find(word) != std::string::npos) return true;
    return false;
  };
  CHECK(has(in.not_represented, "--enforce-eager"));
  CHECK(has(in.not_represented, "--some-new-flag"));
  CHECK(has(in.without_effect, "--port"));
  CHECK(has(in.assumed, "one request at a time"));
}

TEST_CASE("bad commands are said so") {
  for (const char* text :
       {"vllm serve 'unterminated", "vllm serve meta-llama/Llama-3.1-70B -tp", "ls -l",
        "vllm serve meta-llama/Llama-3.1-70B --max-num-seqs many", "vllm serve no-such/model -tp 2",
        "cat <<END\nno end", "vllm serve \"a\nb\" -tp 1e400"}) {
    INFO(text);
    CHECK_THROWS_AS(import_text(text, "h100"), InputError);
  }
  // No GPU anywhere.
  CHECK_THROWS_AS(import_text("vllm serve meta-llama/Llama-3.1-70B", ""), InputError);
  // Nothing that was read becomes syntax.
  CHECK_THROWS_AS(import_text("vllm serve 'x\nreplicas: 7'", "h100"), InputError);
}
