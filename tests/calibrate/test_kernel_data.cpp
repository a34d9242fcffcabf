// Reading measured kernels: names, columns, routing, and what is refused.
#include <catch2/catch.hpp>
#include <sstream>

#include "calibrate/kernel_data.hpp"
#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::calibrate;
using Catch::Matchers::Contains;

namespace {

const std::string gemm_header = "kernel_source,gemm_dtype,m,n,k,latency\n";

std::vector<KernelRow> read(Operator op, const std::string& text) {
  std::istringstream in(text);
  return read_kernel_rows(in, "data.csv", op);
}

std::string refusal(Operator op, const std::string& text) {
  try {
    read(op, text);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("engine, version and operator come from the file name") {
  const auto name = parse_file_name("vllm-0.24.0-gemm_perf.csv");
  REQUIRE(name);
  CHECK(name->engine == "vllm");
  CHECK(name->version == "0.24.0");
  CHECK(name->op == Operator::gemm);
  CHECK(parse_file_name("trtllm-1.3.0rc20-custom_allreduce_perf.csv")->op == Operator::all_reduce);
  CHECK_FALSE(parse_file_name("vllm-0.24.0-mla_bmm_perf.csv"));
  CHECK_FALSE(parse_file_name("gemm_perf.csv"));
  CHECK_FALSE(parse_file_name("vllm-gemm_perf.csv"));
  CHECK_FALSE(parse_file_name("vllm-0.24.0-gemm_perf.txt"));
}

TEST_CASE("a GEMM row is read with its unit") {
  const auto rows = read(
      Operator::gemm, "# source: a test\n" + gemm_header + "cublas,bfloat16,8,4096,2048,0.0125\n");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].dtype == "bf16");
  CHECK(rows[0].kernel_source == "cublas");
  CHECK(rows[0].m == 8);
  CHECK(rows[0].n == 4096);
  CHECK(rows[0].k == 2048);
  CHECK(rows[0].seconds == Approx(12.5e-6));
}

TEST_CASE("attention context is ISL and step, and FP8 arithmetic is a kernel of its own") {
  const std::string header =
      "kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_dtype,"
      "kv_cache_dtype,step,window_size,latency\n";
  const auto decode =
      read(Operator::decode_attention, header + "fa3,4,1,32,8,128,bf16,fp8,1023,0,0.02\n");
  CHECK(decode[0].context == 1024);
  CHECK(decode[0].q == 1);
  CHECK(decode[0].dtype == "fp8");
  const auto prefill =
      read(Operator::prefill_attention, header + "fa3,4,512,32,8,128,fp8,fp8,0,0,0.02\n");
  CHECK(prefill[0].q == 512);
  CHECK(prefill[0].context == 0);
  CHECK(prefill[0].kernel_source == "fa3+fp8-math");
}

TEST_CASE("all-reduce sizes count 16-bit elements") {
  const auto rows = read(Operator::all_reduce,
                         "kernel_source,allreduce_dtype,num_gpus,message_size,latency\n"
                         "graph,bfloat16,8,1024,0.005\n");
  CHECK(rows[0].bytes == 2048);
  CHECK(rows[0].gpus == 8);
}

TEST_CASE("bad rows are refused with file and line") {
  const auto row = [](const std::string& text) {
    return refusal(Operator::gemm, gemm_header + "a,bfloat16,1,1024,1024,0.01\n" + text);
  };
  CHECK_THAT(row("a,bfloat16,1,1024,1024,nan\n"), Contains("data.csv:3") && Contains("latency"));
  CHECK_THAT(row("a,bfloat16,1,1024,1024,-0.01\n"), Contains("data.csv:3") && Contains("latency"));
  CHECK_THAT(row("a,bfloat16,1,1024,1024,0\n"), Contains("latency"));
  CHECK_THAT(row("a,bfloat16,1,1024,1024,1e308\n"), Contains("latency"));
  CHECK_THAT(row("a,bfloat16,1e308,1024,1024,0.01\n"), Contains("'m'"));
  CHECK_THAT(row("a,bfloat16,0,1024,1024,0.01\n"), Contains("'m'"));
  CHECK_THAT(row("a,bfloat16,1,inf,1024,0.01\n"), Contains("'n'"));
  CHECK_THAT(row("a,bfloat16,1,1024,12 apples,0.01\n"), Contains("'k'"));
  CHECK_THAT(row("a,bfloat16,1,1024,,0.01\n"), Contains("'k'"));
  CHECK_THAT(row("a,fp12,1,1024,1024,0.01\n"), Contains("fp12") && Contains("nvfp4"));
  CHECK_THAT(row("a,bfloat16,1,1024,0.01\n"), Contains("data.csv:3"));
  CHECK_THAT(refusal(Operator::gemm, "kernel_source,gemm_dtype,m,n,latency\na,fp8,1,1,0.1\n"),
             Contains("data.csv:2") && Contains("'k'"));
  CHECK_THAT(refusal(Operator::gemm, ""), Contains("data.csv"));
}

TEST_CASE("MoE rows must be possible") {
  const std::string header =
      "kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,"
      "moe_ep_size,distribution,latency\n";
  CHECK_THAT(refusal(Operator::moe, header + "a,fp8,1,64,64,9,8,1,1,balanced,0.1\n"),
             Contains("topk"));
  CHECK_THAT(refusal(Operator::moe, header + "a,fp8,1,64,64,2,8,1,16,balanced,0.1\n"),
             Contains("moe_ep_size"));
  CHECK_THAT(refusal(Operator::moe, header + "a,fp8,1,64,64,2,8,1,1,power_law_x,0.1\n"),
             Contains("power_law_"));
  CHECK_THAT(refusal(Operator::moe, header + "a,fp8,1,64,64,2,8,1,1,zipf,0.1\n"),
             Contains("distribution"));
  const auto rows = read(Operator::moe, header + "x_nongated,fp8,4,64,128,2,8,2,1,balanced,0.1\n");
  CHECK(rows[0].inter == 64);  // on the rank
  CHECK(rows[0].matrices == 2);
  CHECK(rows[0].touched == 8);
}

TEST_CASE("routing conserves tokens and touches no more experts than there are") {
  const Routing balanced = route(3, 2, 8, 2, 0);
  CHECK(balanced.rank_tokens == 3);
  CHECK(balanced.touched == 3);
  for (const double skew : {1.0, 1.01, 1.2}) {
    for (const double tokens : {1.0, 7.0, 64.0, 4096.0}) {
      const Routing all = route(tokens, 8, 128, 1, skew);
      CHECK(all.rank_tokens == Approx(8 * tokens));
      CHECK(all.touched <= 128);
      const Routing worst = route(tokens, 8, 128, 8, skew);
      CHECK(worst.rank_tokens >= tokens - 1e-9);  // the most loaded rank has at least its share
      CHECK(worst.touched <= 16);
    }
  }
}
