// The result that `vllm bench serve --save-result --save-detailed` writes: one JSON object with the
// lists input_lens, output_lens and start_times (seconds of a clock of its own). The lists are held
// in memory, the texts are skipped.
#include <algorithm>
#include <numeric>

#include "units/error.hpp"
#include "workload/traces/json_fields.hpp"
#include "workload/traces/reader.hpp"

namespace servegrid::workload {

namespace {

class VllmBench final : public TraceReader {
 public:
  VllmBench(std::istream& in, const catalog::TraceSpec& spec) : file_(spec.file) {
    if (const std::string problem = fields_.read(in); !problem.empty()) throw error(problem);
    const std::size_t rows = fields_[0].integers.size();
    for (std::size_t i = 0; i < 3; ++i) {
      const JsonField& f = fields_[i];
      const bool whole = i == 2 || f.integers.size() == f.numbers.size();
      if (!f.list || f.numbers.size() != rows || !whole) {
        throw error("needs '" + f.name +
                    "', a list of numbers as long as 'input_lens': "
                    "--save-detailed of vllm bench serve writes it");
      }
    }
    order_.resize(rows);
    std::iota(order_.begin(), order_.end(), 0);
    const std::vector<double>& start = fields_[2].numbers;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return start[a] < start[b]; });
  }

  bool next(TraceRow& row) override {
    if (at_ >= order_.size()) return false;
    const std::size_t i = order_[at_++];
    const std::vector<double>& start = fields_[2].numbers;
    row.line = static_cast<std::int64_t>(i);
    row.arrival = start[i] - start[order_.front()];
    row.prompt = fields_[0].integers[i];
    row.output = fields_[1].integers[i];
    if (row.prompt < 0 || row.prompt > 1'000'000'000 || row.output < 0 ||
        row.output > 1'000'000'000 || !(row.arrival <= 1e9)) {
      throw error("request " + std::to_string(i) +
                  ": lengths go from 0 to 1e9 tokens, times to "
                  "1e9 s");
    }
    const JsonField& errors = fields_[3];
    row.unusable = i < errors.numbers.size() && errors.numbers[i] != 0
                       ? "failed when it was recorded"
                       : unusable(row.prompt, row.output);
    return true;
  }

 private:
  [[nodiscard]] InputError error(const std::string& what) const {
    return InputError(file_ + ": " + what, {file_, 0, 0});
  }

  std::string file_;
  JsonFields fields_{"input_lens", "output_lens", "start_times", "errors"};
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
};

}  // namespace

const TraceFormat vllm_bench_format = {
    "vllm-bench", "vllm bench serve --save-detailed: input_lens, output_lens, start_times; seconds",
    [](const std::string& line) { return line.front() == '{'; },
    [](std::istream& in, const catalog::TraceSpec& spec) -> std::unique_ptr<TraceReader> {
      return std::make_unique<VllmBench>(in, spec);
    }};

}  // namespace servegrid::workload
