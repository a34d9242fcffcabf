// Fits recover the parameters that made synthetic measurements.
#include <catch2/catch.hpp>
#include <cmath>

#include "calibrate/kernel_fits.hpp"
#include "calibrate/least_squares.hpp"
#include "roofline/kernel_forms.hpp"

using namespace servegrid;
using namespace servegrid::calibrate;
using namespace servegrid::roofline;

namespace {

const GpuBase gpu{"test", 4e12, {{"bf16", 1e15}, {"fp8", 2e15}}, 100};
const KernelBase base{4e12, 1e15, 100};

double number(const KernelFit& fit, const std::string& name) {
  for (const FittedNumber& n : fit.numbers) {
    if (n.name == name) return n.value;
  }
  FAIL("no number " << name);
  return 0;
}

KernelRow gemm_row(double m, double n, double k, double seconds) {
  KernelRow row;
  row.dtype = "bf16";
  row.kernel_source = "test";
  row.m = m;
  row.n = n;
  row.k = k;
  row.seconds = seconds;
  return row;
}

KernelFile gemm_file(const GemmFit& truth) {
  KernelFile file{"vllm", "1", Operator::gemm, {}};
  for (double m = 1; m <= 16384; m *= 2) {
    for (const double n : {1024.0, 3072.0, 4096.0, 14336.0}) {
      for (const double k : {1024.0, 4096.0, 8192.0}) {
        const double t = truth.t0 + gemm_streaming_seconds(truth, base, m, n, k, 2, 2);
        file.rows.push_back(gemm_row(m, n, k, t));
      }
    }
  }
  return file;
}

}  // namespace

TEST_CASE("GEMM parameters are recovered, also beside outliers") {
  const GemmFit truth{4e-6, 0.7, 0.8, 3.5, 0.25, 0};
  KernelFile file = gemm_file(truth);
  for (std::size_t i = 0; i < file.rows.size(); i += 25) file.rows[i].seconds *= 5;
  const auto fits = fit_file(gpu, file);
  REQUIRE(fits.size() == 1);
  CHECK(number(fits[0], "t0") == Approx(truth.t0).epsilon(0.05));
  CHECK(number(fits[0], "ec") == Approx(truth.ec).epsilon(0.03));
  CHECK(number(fits[0], "eb") == Approx(truth.eb).epsilon(0.03));
  CHECK(number(fits[0], "w") == Approx(truth.w).margin(0.05));
  CHECK(fits[0].error.median < 0.01);
  CHECK(fits[0].error.mean > 0.02);  // the outliers are not hidden
  CHECK(fits[0].kernel_source == "all");
  CHECK(fits[0].numbers.size() == 6);
  CHECK(fitted_numbers(fits[0]) == 5);
}

TEST_CASE("decode attention, all-reduce and MoE parameters are recovered") {
  SECTION("decode attention") {
    const DecodeAttentionFit truth{9e-6, 20e-9, 0.85};
    KernelFile file{"vllm", "1", Operator::decode_attention, {}};
    for (double batch = 1; batch <= 512; batch *= 2) {
      for (double context = 64; context <= 65536; context *= 4) {
        KernelRow row;
        row.dtype = "bf16";
        row.kernel_source = "test";
        row.batch = batch;
        row.q = 1;
        row.context = context;
        row.heads = 32;
        row.kv_heads = 8;
        row.head_dim = 128;
        row.seconds = truth.t0 + truth.t_seq * batch * 8 +
                      batch * context * decode_attention_seconds_per_token(truth, base, 8, 256, 2);
        file.rows.push_back(row);
      }
    }
    const auto fits = fit_file(gpu, file);
    REQUIRE(fits.size() == 1);
    CHECK(number(fits[0], "t0") == Approx(truth.t0).epsilon(0.01));
    CHECK(number(fits[0], "t_seq") == Approx(truth.t_seq).epsilon(0.01));
    CHECK(number(fits[0], "eb") == Approx(truth.eb).epsilon(0.01));
  }
  SECTION("all-reduce") {
    const AllReduceFit truth{5e-6, 50e9, 10e-6, 300e9};
    KernelFile file{"trtllm", "1", Operator::all_reduce, {}};
    for (double bytes = 2048; bytes <= 1e9; bytes *= 2) {
      KernelRow row;
      row.kernel_source = "test";
      row.gpus = 8;
      row.bytes = bytes;
      row.seconds = all_reduce_seconds(truth, bytes);
      file.rows.push_back(row);
      row.kernel_source = "test_eager";  // outside a graph: not used
      row.seconds *= 10;
      file.rows.push_back(row);
    }
    const auto fits = fit_file(gpu, file);
    REQUIRE(fits.size() == 1);
    CHECK(fits[0].gpus == 8);
    CHECK(fits[0].rows == 19);
    CHECK(fits[0].rows_total == 38);
    CHECK(number(fits[0], "a") == Approx(truth.a).epsilon(0.02));
    CHECK(number(fits[0], "b1") == Approx(truth.b1).epsilon(0.02));
    CHECK(number(fits[0], "b2") == Approx(truth.b2).epsilon(0.02));
  }
  SECTION("MoE at FP8") {
    const MoeFit truth{20e-6, 0.8, 0.5, 60, 0.3};
    const KernelBase fp8{4e12, 2e15, 100};
    KernelFile file{"sglang", "1", Operator::moe, {}};
    for (double tokens = 1; tokens <= 16384; tokens *= 2) {
      for (const double ep : {1.0, 2.0, 4.0, 8.0}) {
        KernelRow row;
        row.dtype = "fp8";
        row.kernel_source = "test";
        row.tokens = tokens;
        row.hidden = 4096;
        row.inter = 1536;
        row.top_k = 8;
        row.experts = 128;
        row.moe_ep = ep;
        const Routing routing = route(tokens, 8, 128, ep, 0);
        row.rank_tokens = routing.rank_tokens;
        row.touched = routing.touched;
        row.seconds =
            truth.t0 + moe_seconds(truth, fp8, row.rank_tokens, row.touched, 4096, 1536, 1);
        file.rows.push_back(row);
      }
    }
    const auto fits = fit_file(gpu, file);
    REQUIRE(fits.size() == 1);
    CHECK(number(fits[0], "t0") == Approx(truth.t0).epsilon(0.02));
    CHECK(number(fits[0], "eb") == Approx(truth.eb).epsilon(0.02));
    CHECK(number(fits[0], "ec") == Approx(truth.ec).epsilon(0.02));
    CHECK(number(fits[0], "pad") == Approx(truth.pad).epsilon(0.05));
    CHECK(number(fits[0], "ea") == Approx(truth.ea).epsilon(0.05));
  }
}

TEST_CASE(
    "each kernel of a type has its own fit, the most frequent first; rare ones are left out") {
  KernelFile file = gemm_file({4e-6, 0.7, 0.8, 3.5, 0.25, 0});
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    if (i % 3 == 0) {
      file.rows[i].kernel_source = "second";
      file.rows[i].seconds *= 2;
    }
    if (i < 10) file.rows[i].kernel_source = "rare";
  }
  const auto fits = fit_file(gpu, file);
  REQUIRE(fits.size() == 2);
  CHECK(fits[0].kernel_source == "test");
  CHECK(fits[1].kernel_source == "second");
  CHECK(fits[0].rows > fits[1].rows);
  CHECK(fits[0].error.median < 0.01);
  for (const KernelRow& row : file.rows) {
    CHECK(belongs(fits[1], row) == (row.kernel_source == "second"));
  }
}

TEST_CASE("parameters stay physical whatever the data say") {
  KernelFile file = gemm_file({4e-6, 0.7, 0.8, 3.5, 0.25, 0});
  for (KernelRow& row : file.rows) row.seconds /= 10;  // faster than the hardware can be
  const auto fits = fit_file(gpu, file);
  REQUIRE(fits.size() == 1);
  CHECK(number(fits[0], "ec") <= 1);
  CHECK(number(fits[0], "eb") <= 0.95);
  CHECK(number(fits[0], "p") >= 1);
  CHECK(number(fits[0], "p") <= 8);
  CHECK(number(fits[0], "t0") > 0);
  CHECK(fits[0].error.median > 0.1);
}

TEST_CASE("the same data give the same numbers") {
  const KernelFile file = gemm_file({4e-6, 0.6, 0.7, 2.5, 0.5, 0});
  const auto one = fit_file(gpu, file), two = fit_file(gpu, file);
  REQUIRE(one.size() == two.size());
  for (std::size_t i = 0; i < one[0].numbers.size(); ++i) {
    CHECK(one[0].numbers[i].text == two[0].numbers[i].text);
  }
}

TEST_CASE("bounded least squares finds a minimum at a bound") {
  // y = 3 with x <= 2: the bound is best.
  const auto x = least_squares({{0, 2, false}}, {1}, 5, [](const double* p, double* out) {
    for (int i = 0; i < 5; ++i) out[i] = p[0] - 3;
  });
  CHECK(x[0] == Approx(2).epsilon(0.01));
}

TEST_CASE("error statistics follow NumPy's linear rule") {
  const auto s = statistics({0.4, 0.1, 0.2, 0.3});
  CHECK(s.median == Approx(0.25));
  CHECK(s.mean == Approx(0.25));
  CHECK(s.p90 == Approx(0.37));
}
