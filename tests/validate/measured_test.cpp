#include "validate/measured.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

#include "units/error.hpp"
#include "validate/predict.hpp"

using servegrid::InputError;
using servegrid::validate::read_measured;

namespace {

// A file that goes away with the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    static int counter = 0;
    path_ = "measured_test_" + std::to_string(counter++) + ".csv";
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const std::string silicon_header =
    "id,backend,backend_version,model_path,system,precision,mode,isl,osl,gemm_quant_mode,"
    "moe_quant_mode,batch_size,tp_size,attention_dp_size,moe_tp_size,moe_ep_size,silicon_ttft_ms,"
    "silicon_tpot_ms,concurrency,measured_on\n";

}  // namespace

TEST_CASE("rows of the silicon sample: parallelism recovered, unfair ones named") {
  const TemporaryFile file(
      silicon_header +
      "2026_01_a,vllm,0.18.0,org/Some-70B,h200_sxm,fp8,agg,1024,1024,fp8,,32,2,1,2,1,100,10,32,"
      "2026-01-02\n"
      "2026_01_b,vllm,0.18.0,org/Some-70B,h200_sxm,fp8,agg,1024,1024,fp8,,32,2,1,2,1,100.1,10,32,"
      "2026-01-02\n"
      "2026_01_c,sglang,0.5.9,org/Moe,b200_sxm,fp8,agg,1024,1024,fp8,fp8_block,32,16,1,4,4,100,10,"
      "8,\n"
      "2026_01_d,sglang,0.5.9,org/Moe,b200_sxm,fp8,agg,8192,1024,fp8,fp8_block,32,4,4,1,16,100,10,"
      "8,\n"
      "own_run,trtllm,,org/Some-70B,h100_sxm,,agg,1024,1024,,,32,4,,1,1,100,10,8,\n"
      "x,vllm,,org/Some-70B,h100_sxm,,disagg,1024,1024,,,32,4,,1,1,100,10,8,\n"
      "y,vllm,,org/DeepSeek-R1,h100_sxm,,agg,1024,1024,,,32,8,,1,1,100,10,8,\n"
      "z,vllm,,org/Some-70B,h100_sxm,,agg,1024,1024,,,32,16,,1,1,100,10,8,\n");
  const auto rows = read_measured(file.path());
  REQUIRE(rows.size() == 8);
  CHECK(rows[0].skip.empty());
  CHECK(rows[0].protocol.spread == Approx(0.2));
  CHECK(rows[1].skip == "copy");
  // "16 GPUs" with MoE TP 4 x EP 4 are four GPUs with EP 4.
  CHECK(rows[2].gpus == 4);
  CHECK(rows[2].tp == 4);
  CHECK(rows[2].ep == 4);
  // TP 4 x DP 4 with EP 16 are four GPUs with attention data parallelism.
  CHECK(rows[3].gpus == 4);
  CHECK(rows[3].tp == 1);
  CHECK(rows[3].dp == 4);
  CHECK(rows[4].gpus == 4);
  CHECK(rows[4].protocol.client_per_prompt_token == Approx(0.05e-3));
  CHECK(rows[5].skip == "disaggregated");
  CHECK(rows[6].skip == "speculative decoding unknown");
  CHECK(rows[6].only_by_median);
  CHECK(rows[7].skip == "not one server");
}

TEST_CASE("the general form") {
  const TemporaryFile file(
      "# my runs\ngpu,engine,model,weights,tp,isl,osl,concurrency,spread,ttft_ms,tpot_ms\n"
      "h100,vllm,llama-3.1-8b,bf16,1,2000,500,16,0,85.5,9.1\n");
  const auto rows = read_measured(file.path());
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].line == 3);
  CHECK(rows[0].concurrency == 16);
  CHECK(rows[0].protocol.spread == 0);
  CHECK(rows[0].tpot_ms == Approx(9.1));
}

TEST_CASE("bad measured files name the line") {
  const auto message = [](const std::string& text) {
    const TemporaryFile file(text);
    try {
      read_measured(file.path());
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(message(""), Catch::Contains("is empty"));
  CHECK_THAT(message("a,b\n1,2\n"), Catch::Contains("neither the silicon sample"));
  const std::string header = "gpu,engine,model,weights,isl,osl,concurrency,ttft_ms,tpot_ms\n";
  CHECK_THAT(message(header + "h100,vllm,m,bf16,1e308,500,16,1,1\n"),
             Catch::Contains(":2: column 'isl'"));
  CHECK_THAT(message(header + "h100,vllm,m,bf16,nan,500,16,1,1\n"),
             Catch::Contains(":2: column 'isl'"));
  CHECK_THAT(message(header + "h100,vllm,m,bf16,10,500,-3,1,1\n"),
             Catch::Contains("'concurrency'"));
  CHECK_THAT(message(header + "h100,vllm,m\n"), Catch::Contains(":2: has 3 fields"));
  CHECK_THAT(message(header + "\"h100,vllm\n"), Catch::Contains("quoted field"));
  CHECK_THROWS_AS(read_measured("no-such-file.csv"), InputError);
}

TEST_CASE("other metrics of the general form are judged by their own names") {
  const TemporaryFile file(
      "gpu,engine,engine_version,date,model,weights,isl,osl,concurrency,ttft_ms,tpot_ms,"
      "mean_e2el_ms,output_throughput,p99_ttft_ms\n"
      "h100-sxm,vllm,0.19,2026-03-01,llama-3.1-8b,bf16,1000,100,8,50,8,900,,60\n"
      "h100-sxm,vllm,0.19,,llama-3.1-8b,bf16,1000,100,8,,,,900,\n");
  const auto rows = read_measured(file.path());
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].date == "2026-03-01");
  REQUIRE(rows[0].others.size() == 2);
  CHECK(rows[0].others[0] == std::pair<std::string, double>("p99_ttft_ms", 60));
  CHECK(rows[0].others[1] == std::pair<std::string, double>("mean_e2el_ms", 900));
  CHECK(rows[1].skip.empty());  // only a throughput: still a measurement

  servegrid::validate::Preparer preparer;
  const auto prepared = preparer.prepare(rows[0]);
  REQUIRE(prepared.skip.empty());
  const auto p = servegrid::validate::predict(prepared);
  REQUIRE(p.others.size() == 2);
  CHECK(p.others[0] >= p.ttft_ms * (1 - 1e-9));  // a percentile not below the mean
  // Every request has its first token, then 99 gaps.
  CHECK(p.others[1] == Approx(p.ttft_ms + 99 * p.tpot_ms).epsilon(1e-6));
}
