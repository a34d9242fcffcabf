#include "roofline/fits.hpp"

#include <catch2/catch.hpp>

#include "toy.hpp"

using namespace servegrid;
using namespace servegrid::roofline;

TEST_CASE("a kernel is looked up in its engine, then another, then the data sheet") {
  const auto gpu = toy::gpu();
  const Fits own(gpu, "vllm", toy::fit_file());
  CHECK(own.find("gemm", {"bf16"}).fit.ec == 0.5);
  CHECK(own.find("gemm", {"bf16"}).trust == Trust::measured);
  CHECK(own.find("gemm", {"bf16"}).source == "fit toy/vllm gemm bf16 (5 %, n 100)");
  CHECK(own.find("gemm", {"int4-wo", "bf16"}).fit.dtype == "bf16");
  CHECK(own.find("moe", {"bf16"}).fit.kernel_source == "many");
  CHECK(own.find("mla_decode", {"bf16"}).fit.engine == "sglang");
  CHECK(own.find("gemm", {"nvfp4"}).trust == Trust::data_sheet);
  CHECK(own.find("all_reduce", {""}, {2, true, {}}).trust == Trust::measured);
  CHECK(own.find("all_reduce", {""}, {4, true, {}}).trust == Trust::data_sheet);
  CHECK(own.costs().alpha == 0.5);
}

TEST_CASE("a relative's file gives fractions, not serving costs nor collectives") {
  auto gpu = toy::gpu();
  gpu.name = "cousin";
  gpu.memory.bandwidth = 2e12;
  const Fits fits(gpu, "vllm", toy::fit_file());
  CHECK(fits.inherited());
  CHECK(fits.bandwidth() == 2e12);
  CHECK(fits.find("gemm", {"bf16"}).source == "inherited from toy/vllm gemm bf16 (5 %, n 100)");
  CHECK(fits.costs().origin == "default");
  auto d = toy::deployment();
  d.gpu = gpu;
  CHECK(StepModel(d, toy::fit_file()).trust() == "inherited");
  CHECK(StepModel(toy::deployment(), toy::fit_file()).trust() == "measured");
  CHECK(StepModel(toy::deployment(), "").trust() == "data sheet");
}

TEST_CASE("without fits: achieved fractions and a constant a layer") {
  const StepModel model(toy::deployment(), "");
  const auto step = model.explain({{}, 16, {}});
  // o 1024 -> 1024: 2,162,688 bytes at 0.8 TB/s and 33,554,432 FLOP at 80 TFLOPS by the 3-norm.
  const double memory = 2.70336e-6, math = 33554432 / 80e12;
  CHECK(toy::seconds_of(step, "o_proj") ==
        Approx(2 * std::cbrt(memory * memory * memory + math * math * math)));
  CHECK(toy::seconds_of(step, "layer_fixed") == Approx(80e-6));
}

TEST_CASE("own numbers refer to the file's base unless the profile was overridden") {
  auto gpu = toy::gpu();
  gpu.memory.bandwidth = 1.04e12;  // a newer data sheet than the one fitted against
  CHECK(Fits(gpu, "vllm", toy::fit_file()).bandwidth() == 1e12);
  gpu.overridden = {"memory.bandwidth"};
  CHECK(Fits(gpu, "vllm", toy::fit_file()).bandwidth() == 1.04e12);
}

namespace {

const char* const two_engines = R"(gpu: toy
date: 2026-12-01
model_version: 1
kernels:
  - {engine: vllm, op: gemm, dtype: fp8, rows: 100, t0: 6 us, ec: 0.4, eb: 0.7, p: 1, w: 0}
  - {engine: trtllm, op: gemm, dtype: fp8, rows: 50, t0: 13 us, ec: 0.5, eb: 0.8, p: 1, w: 0}
  - {engine: sglang, op: gemm, dtype: fp8-block, rows: 50, t0: 5 us, ec: 0.6, eb: 1.3, p: 1, w: 0}
  - {engine: trtllm, op: moe, dtype: bf16, kernel_source: nongated, rows: 5, t0: 40 us, eb: 1, ec: 0.1, pad: 0, ea: 0.1}
  - {engine: trtllm, op: moe, dtype: bf16, kernel_source: cutlass, rows: 9, t0: 20 us, eb: 0.8, ec: 0.5, pad: 10, ea: 0.5}
  - {engine: vllm, op: moe, dtype: w4a16-mxfp4, kernel_source: oaitriton, rows: 9, t0: 40 us, eb: 0.8, ec: 0.5, pad: 10, ea: 0.5}
  - {engine: vllm, op: moe, dtype: w4a16-mxfp4, kernel_source: marlin_experts, rows: 8, t0: 20 us, eb: 0.8, ec: 0.2, pad: 10, ea: 0.5}
)";

}  // namespace

TEST_CASE("kernels that do not show what serves are borrowed; floors and fractions are bounded") {
  const toy::TemporaryFile file(two_engines);
  const auto gpu = toy::gpu();
  const Fits vllm(gpu, "vllm", file.path());
  // TensorRT-LLM's floor of 13 us holds eager quantisation: 4.5 us.
  CHECK(vllm.find("gemm", {"fp8"}).fit.engine == "trtllm");
  CHECK(vllm.find("gemm", {"fp8"}).fit.t0 == Approx(4.5e-6));
  CHECK(vllm.find("gemm", {"fp8-block"}).fit.eb == 0.95);
  CHECK(Fits(gpu, "sglang", file.path()).find("gemm", {"fp8"}).fit.engine == "trtllm");
  CHECK(Fits(gpu, "atom", file.path()).find("gemm", {"fp8"}).fit.engine == "vllm");
  CHECK(vllm.find("moe", {"bf16"}).fit.kernel_source == "cutlass");
  const KernelWanted nongated{0, false, {}}, triton{0, true, "triton"}, marlin{0, true, "marlin"};
  CHECK(vllm.find("moe", {"bf16"}, nongated).fit.kernel_source == "nongated");
  // A backend that was measured, for whatever type comes first; one that was not.
  CHECK(vllm.find("moe", {"w4a16-mxfp4"}).fit.kernel_source == "oaitriton");
  CHECK(vllm.find("moe", {"w4a16-mxfp4"}).fit.t0 == Approx(25e-6));
  CHECK(vllm.find("moe", {"w4a16-mxfp4"}, marlin).fit.kernel_source == "marlin_experts");
  CHECK(vllm.find("moe", {"w4a16-mxfp4"}, marlin).trust == Trust::measured);
  CHECK(vllm.find("moe", {"bf16"}, triton).fit.kernel_source == "cutlass");
  CHECK(vllm.find("moe", {"bf16"}, triton).trust == Trust::inherited);
}

TEST_CASE("vLLM's per-tensor FP8 GEMM on Hopper reads slowly between 17 and 48 rows") {
  const toy::TemporaryFile file(two_engines);
  auto d = toy::deployment();
  d.weights = catalog::Format::fp8;
  d.gpu.architecture = "Hopper";
  const StepModel hopper(d, file.path());
  d.gpu.architecture = "Toy";
  const StepModel other(d, file.path());
  for (const auto& [rows, slow] : {std::pair{16, 1.0}, {17, 1.25}, {48, 1.25}, {49, 1.0}}) {
    // 8192 x 1024 bytes of weights, inputs and outputs at 0.8 TB/s, twice; alpha 0.8 x 4.5 us
    // apart.
    const double memory = 2 * (8192.0 * 1024 + rows * 1024 + 2.0 * rows * 8192) / 0.8e12;
    const double a = toy::seconds_of(hopper.explain({{}, rows, {}}), "mlp_up");
    const double b = toy::seconds_of(other.explain({{}, rows, {}}), "mlp_up");
    CHECK(a - b == Approx((slow - 1) * memory).margin(1e-12));
  }
}

TEST_CASE("a fit file with an unknown operator or key is refused with its place") {
  const std::string head = "gpu: toy\ndate: 2026-12-01\nmodel_version: 1\nkernels:\n";
  const toy::TemporaryFile op(head + "  - {engine: vllm, op: gem, t0: 1 us, eb: 0.5}\n");
  CHECK_THROWS_AS(read_fit_file(op.path()), InputError);
  const toy::TemporaryFile key(
      head + "  - {engine: vllm, op: decode_attention, t0: 1 us, t_seq: 1 ns, eb: 0.5, x: 1}\n");
  CHECK_THROWS_AS(read_fit_file(key.path()), InputError);
  const toy::TemporaryFile unit(
      head + "  - {engine: vllm, op: decode_attention, t0: 1, t_seq: 1 ns, eb: 0.5}\n");
  CHECK_THROWS_AS(read_fit_file(unit.path()), InputError);
}

TEST_CASE("the project's fit files can be read, and floors and fractions are bounded") {
  for (const char* name : {"h100-sxm", "h200", "b200", "b300"}) {
    const auto file =
        read_fit_file(std::string(SERVEGRID_SOURCE_DIR) + "/hw_profiles/fits/" + name + ".yaml");
    CHECK(file.gpu == name);
    CHECK(file.serving.size() >= 2);
    CHECK(file.kernels.size() > 30);
    for (const auto& k : file.kernels) {
      if (k.op != "all_reduce") CHECK(k.eb <= 0.95);
      if (k.op == "gemm") CHECK(k.t0 <= 9e-6);
    }
  }
}
