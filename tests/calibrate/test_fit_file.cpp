// Fit files: what is written can be read, and serving costs survive a calibration.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "calibrate/calibrate.hpp"
#include "calibrate/files.hpp"
#include "calibrate/serving.hpp"
#include "roofline/fits.hpp"
#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::calibrate;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

const GpuBase gpu{"test", 4e12, {{"bf16", 1e15}, {"fp8", 2e15}}, 100};

KernelFit gemm_fit() {
  KernelFit fit;
  fit.engine = "vllm";
  fit.version = "0.24.0";
  fit.dtype = "bf16";
  fit.kernel_source = "a kernel: {odd}, name";
  fit.rows = 100;
  fit.numbers = {{"t0", 3.6e-6, "3.6 us"},
                 {"ec", 0.8, "0.8"},
                 {"eb", 0.7, "0.7"},
                 {"p", 3, "3"},
                 {"w", 0.2, "0.2"}};
  fit.error = {0.05, 0.06, 0.12};
  return fit;
}

struct Folder {
  fs::path path;
  explicit Folder(const std::string& name) : path(fs::temp_directory_path() / name) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
};

}  // namespace

TEST_CASE("the step model reads what calibration writes") {
  const Folder folder("servegrid-test-fit-file");
  const fs::path path = folder.path / "test.yaml";
  const std::string serving =
      "serving:\n  - {engine: vllm, rows: 3, alpha: 0.7, a_n: 2 us, h0: 700 us, hs: 3 us, tlp: 80 "
      "us, "
      "pf: 1.05, ttft0: 15 ms, s: 0.66, r: 3}\n";
  std::ofstream(path) << fit_file_text(gpu, {gemm_fit()}, "2026-12-01", serving);
  const auto file = roofline::read_fit_file(path.string());
  CHECK(file.gpu == "test");
  CHECK(file.date == "2026-12-01");
  CHECK(file.bandwidth == Approx(4e12));
  CHECK(file.bf16 == Approx(1e15));
  REQUIRE(file.kernels.size() == 1);
  CHECK(file.kernels[0].t0 == Approx(3.6e-6));
  CHECK(file.kernels[0].kernel_source == "a kernel: {odd}, name");
  CHECK(file.kernels[0].median_error == Approx(0.05));
  REQUIRE(file.serving.size() == 1);
  CHECK(file.serving[0].costs.alpha == 0.7);
}

TEST_CASE("the serving section is kept as it is") {
  const std::string serving = "serving:\n  - {engine: vllm}\n# a note\n  - {engine: sglang}\n";
  CHECK(serving_section("gpu: b200\nkernels:\n  - {}\n" + serving) == serving);
  CHECK(serving_section(serving + "kernels:\n  - {}\n") == serving);
  CHECK(serving_section("gpu: b200\nkernels:\n  - {serving: no}\n").empty());
  CHECK(serving_section("serving: []") == "serving: []\n");
  CHECK(serving_section("").empty());
}

TEST_CASE("a folder of measurements: known operators are read, the others named") {
  const Folder folder("servegrid-test-kernel-folder");
  std::ofstream(folder.path / "vllm-1.0-gemm_perf.csv")
      << "kernel_source,gemm_dtype,m,n,k,latency\na,bfloat16,1,1024,1024,0.01\n";
  std::ofstream(folder.path / "vllm-1.0-mla_bmm_perf.csv") << "x\n1\n";
  std::vector<std::string> skipped;
  const auto files = read_kernel_folder(folder.path.string(), &skipped);
  REQUIRE(files.size() == 1);
  CHECK(files[0].rows.size() == 1);
  CHECK(skipped == std::vector<std::string>{"vllm-1.0-mla_bmm_perf.csv"});
  std::ofstream(folder.path / "vllm-1.0-moe_perf.csv") << "nonsense\n1\n";
  CHECK_THROWS_WITH(read_kernel_folder(folder.path.string()), Contains("vllm-1.0-moe_perf.csv:2"));
  CHECK_THROWS_AS(read_kernel_folder((folder.path / "absent").string()), InputError);
}

TEST_CASE("serving lines replace those of their engine and no others") {
  ServingLine line;
  line.engine = "vllm";
  line.rows = 12;
  line.models = {"a", "b"};
  line.costs.alpha = 0.5;
  line.costs.tpot_band = 0.1;
  const std::string head = "gpu: test\nkernels:\n  - {engine: vllm, op: gemm}\n";
  const std::string old = "serving:\n  - {engine: sglang, rows: 1}\n  - {engine: vllm, rows: 2}\n";
  const std::string text = with_serving(head + old, {line}, "2026-12-01");
  CHECK(text ==
        head + "serving:\n  - {engine: sglang, rows: 1}\n" + serving_line_text(line, "2026-12-01"));
  CHECK(with_serving(head, {line}, "2026-12-01") ==
        head + "serving:\n" + serving_line_text(line, "2026-12-01"));
}

TEST_CASE("a serving line is read back as it was written") {
  const Folder folder("servegrid-test-serving-line");
  ServingLine line;
  line.engine = "trtllm";
  line.rows = 7;
  line.models = {"llama-3.1-70b"};
  line.costs.alpha = 0.545;
  line.costs.group_per_layer = 2.27e-6;
  line.costs.per_step = 757e-6;
  line.costs.per_sequence = 1.7e-6;
  line.costs.prefill_per_layer = 40.9e-6;
  line.costs.prefill_factor = 0.95;
  line.costs.first_token = 27.6e-3;
  line.costs.routing_skew = 0.582;
  line.costs.first_token_steps = 1.46;
  line.costs.tpot_band = 0.115;
  line.costs.ttft_band = 0.314;
  const fs::path path = folder.path / "test.yaml";
  write_text(path.string(), with_serving(fit_file_text(gpu, {gemm_fit()}, "2026-12-01", ""), {line},
                                         "2026-12-01"));
  const auto file = roofline::read_fit_file(path.string());
  REQUIRE(file.serving.size() == 1);
  const auto& c = file.serving[0].costs;
  CHECK(file.serving[0].rows == 7);
  CHECK(c.alpha == Approx(line.costs.alpha));
  CHECK(c.group_per_layer == Approx(line.costs.group_per_layer));
  CHECK(c.per_step == Approx(line.costs.per_step));
  CHECK(c.per_sequence == Approx(line.costs.per_sequence));
  CHECK(c.prefill_per_layer == Approx(line.costs.prefill_per_layer));
  CHECK(c.prefill_factor == Approx(line.costs.prefill_factor));
  CHECK(c.first_token == Approx(line.costs.first_token));
  CHECK(c.routing_skew == Approx(line.costs.routing_skew));
  CHECK(c.first_token_steps == Approx(line.costs.first_token_steps));
  CHECK(c.tpot_band == Approx(line.costs.tpot_band));
  CHECK(c.ttft_band == Approx(line.costs.ttft_band));
  CHECK(read_text(path.string()).size() > 0);
  CHECK_THROWS_AS(write_text(folder.path.string() + "/" + std::string(5000, 'a'), ""), RunError);
}
