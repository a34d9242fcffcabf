// What `vllm bench serve --save-result` and SGLang's `bench_serving --output-file` write: how a
// server was driven and how fast it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace servegrid::workload {

struct BenchResult {
  std::string file;
  int line = 1;         // of the object in a file of several (SGLang appends one a line)
  std::string backend;  // as written: "vllm", "sglang", "openai-chat", ...
  std::string model;    // model id; empty when the file does not say (SGLang)
  std::string date;
  std::int64_t num_prompts = 0, completed = 0;
  std::optional<std::int64_t> max_concurrency;
  std::optional<double> request_rate;  // [1/s]; absent = all at once
  double burstiness = 1;               // shape of the Gamma arrivals; 1 = Poisson
  double duration = 0;                 // [s]
  std::int64_t total_input_tokens = 0, total_output_tokens = 0;
  std::optional<double> range_ratio;  // SGLang: lengths uniform in [ratio, 1] of the given ones
  std::optional<double> given_input, given_output;  // SGLang: the lengths that were asked for
  double mean_ttft_ms = 0, mean_tpot_ms = 0;
  std::optional<double> mean_e2el_ms;
  double output_throughput = 0;                       // [tokens/s]
  std::vector<std::int64_t> input_lens, output_lens;  // --save-detailed only; equally long

  [[nodiscard]] double mean_input() const;
  [[nodiscard]] double mean_output() const;
};

/// One result (an object), a list of them, or one a line. At most 192 MB. Throws InputError with
/// file, line and key for anything that is not such a result, or that measured nothing.
std::vector<BenchResult> read_bench_results(const std::string& path);

/// The same of text; `file` names it.
std::vector<BenchResult> parse_bench_results(const std::string& text, const std::string& file);

}  // namespace servegrid::workload
