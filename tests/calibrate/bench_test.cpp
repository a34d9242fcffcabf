// A machine whose costs are known: its benchmark results give them back.
#include "calibrate/bench.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catalog/catalog.hpp"
#include "roofline/fits.hpp"
#include "units/error.hpp"
#include "validate/predict.hpp"

using namespace servegrid;
namespace fs = std::filesystem;

namespace {

const char* scenario_text = R"(
model: llama-3.1-8b
replica: {gpu: h100-sxm, tp: 1}
engine: {profile: vllm-0.19}
workload:
  closed: {concurrent: 1, prompt: 1 token, output: 1 token}
  requests: 1
)";

struct Folder {
  fs::path path = fs::temp_directory_path() / ("servegrid-bench-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

std::string result_json(int concurrency, double isl, double osl, double ttft, double tpot) {
  const int prompts = 10 * concurrency;
  return fmt::format(
      R"({{"backend": "vllm", "model_id": "meta-llama/Llama-3.1-8B", "num_prompts": {0},)"
      R"( "request_rate": "inf", "max_concurrency": {1}, "duration": 60, "completed": {0},)"
      R"( "total_input_tokens": {2:.0f}, "total_output_tokens": {3:.0f}, "output_throughput": 1,)"
      R"( "mean_ttft_ms": {4:.9g}, "mean_tpot_ms": {5:.9g}}})",
      prompts, concurrency, prompts * isl, prompts * osl, ttft, tpot);
}

// What a machine with these costs would have measured.
std::string measured(const catalog::Scenario& s, const catalog::ServingCosts& truth,
                     int concurrency, double isl, double osl) {
  validate::PreparedRow row;
  row.scenario = s;
  row.scenario.workload = calibrate::workload_of(
      workload::parse_bench_results(result_json(concurrency, isl, osl, 1, 1), "x").front());
  validate::compile(row, catalog::Catalog());
  row.steps->set_costs(truth);
  const auto p = validate::predict(row);
  return result_json(concurrency, isl, osl, p.ttft_ms, p.tpot_ms);
}

}  // namespace

TEST_CASE("own results give the machine's costs back, and a file that is used") {
  const auto scenario = catalog::read_scenario_text(scenario_text, "mine");
  catalog::ServingCosts truth;
  {
    validate::PreparedRow row;
    row.scenario = scenario;
    validate::compile(row, catalog::Catalog());
    truth = row.steps->costs();
  }
  truth.per_step = 3e-3;
  truth.first_token = 80e-3;
  truth.per_sequence = 30e-6;

  const Folder folder;
  calibrate::BenchOptions options;
  options.output = folder.path.string();
  options.date = "2026-12-01";
  int n = 0;
  for (const auto& [concurrency, isl, osl] :
       {std::tuple{1, 512.0, 64.0}, std::tuple{8, 1024.0, 128.0}, std::tuple{48, 700.0, 100.0}}) {
    const auto file = folder.path / fmt::format("r{}.json", n++);
    std::ofstream(file) << measured(scenario, truth, concurrency, isl, osl);
    options.files.push_back(file.string());
  }
  std::ostringstream out;
  REQUIRE(calibrate::run_calibrate_bench(options, scenario, out) == 0);
  CHECK(out.str().find("each predicted from the others") != std::string::npos);

  const auto fits =
      roofline::read_fit_file((folder.path / "hw_profiles/fits/h100-sxm.yaml").string());
  const catalog::ServingCosts* found = nullptr;
  for (const auto& row : fits.serving)
    if (row.engine == "vllm") found = &row.costs;
  REQUIRE(found != nullptr);
  CHECK(found->per_step == Approx(truth.per_step).epsilon(0.05));
  CHECK(found->first_token == Approx(truth.first_token).epsilon(0.05));
  CHECK(found->per_sequence == Approx(truth.per_sequence).epsilon(0.15));
  CHECK(found->tpot_band < 0.1);
  CHECK(!fits.kernels.empty());    // the rest of the file is kept
  CHECK(fits.serving.size() > 1);  // other engines' lines too
}

TEST_CASE("a GPU whose kernels are inherited gets a line of its own") {
  const auto scenario = catalog::read_scenario_text(
      R"(
model: llama-3.1-8b
replica: {gpu: rtx-4090, tp: 1}
engine: {profile: vllm-0.19, max_model_len: 8192}
workload:
  closed: {concurrent: 1, prompt: 1 token, output: 1 token}
  requests: 1
)",
      "mine");
  const Folder folder;
  calibrate::BenchOptions options;
  options.output = folder.path.string();
  const auto file = folder.path / "r.json";
  std::ofstream(file) << result_json(2, 256, 32, 90, 25);
  options.files = {file.string()};
  std::ostringstream out;
  REQUIRE(calibrate::run_calibrate_bench(options, scenario, out) == 0);
  CHECK(out.str().find("Fewer than three results") != std::string::npos);
  const std::string path = (folder.path / "hw_profiles/fits/l40s.yaml").string();
  const roofline::Fits fits(scenario.gpu, "vllm", path);
  CHECK(fits.costs().origin == "fitted");
  CHECK(roofline::Fits(catalog::Catalog().gpu("l40s"), "vllm", path).costs().origin == "default");
}

TEST_CASE("results of something else are refused") {
  const auto scenario = catalog::read_scenario_text(scenario_text, "mine");
  const Folder folder;
  const auto refusal = [&](const std::string& json) {
    const auto file = folder.path / "r.json";
    std::ofstream(file) << json;
    calibrate::BenchOptions options;
    options.files = {file.string()};
    std::ostringstream out;
    try {
      calibrate::run_calibrate_bench(options, scenario, out);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  std::string other = result_json(2, 100, 10, 50, 10);
  other.replace(other.find("Llama-3.1-8B"), 12, "Llama-3.1-70B");
  CHECK(refusal(other).find("measured llama-3.1-70b, the scenario has llama-3.1-8b") !=
        std::string::npos);
  std::string both = result_json(2, 100, 10, 50, 10);
  both.replace(both.find("\"inf\""), 5, "3.0");
  CHECK(refusal(both).find("request rate and a concurrency limit") != std::string::npos);
  CHECK(refusal(result_json(4, 2e6, 10, 50, 10)).find("r.json") != std::string::npos);
}

TEST_CASE("a result that no host time explains is not written") {
  const auto scenario = catalog::read_scenario_text(scenario_text, "mine");
  const Folder folder;
  const auto file = folder.path / "r.json";
  std::ofstream(file) << result_json(8, 500, 100, 40, 0.001);
  calibrate::BenchOptions options;
  options.files = {file.string()};
  options.output = folder.path.string();
  std::ostringstream out;
  CHECK(calibrate::run_calibrate_bench(options, scenario, out) == 2);
  CHECK(out.str().find("is not this deployment") != std::string::npos);
  CHECK_FALSE(fs::exists(folder.path / "hw_profiles"));
}
