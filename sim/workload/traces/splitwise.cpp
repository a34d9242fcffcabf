// The form that Splitwise's and Vidur's processed traces have: arrived_at in seconds,
// num_prefill_tokens, num_decode_tokens.
#include "workload/traces/reader.hpp"

namespace servegrid::workload {

namespace {

class Splitwise final : public TraceReader {
 public:
  Splitwise(std::istream& in, const catalog::TraceSpec& spec)
      : csv_(in, spec.file),
        time_(csv_.place("arrived_at")),
        prompt_(csv_.place("num_prefill_tokens")),
        output_(csv_.place("num_decode_tokens")) {}

  bool next(TraceRow& row) override {
    if (!csv_.next()) return false;
    row.line = csv_.line();
    row.arrival = csv_.number(time_, 0, 1e9);
    row.prompt = tokens_at(csv_, prompt_);
    row.output = tokens_at(csv_, output_);
    row.unusable = unusable(row.prompt, row.output);
    return true;
  }

 private:
  units::CsvReader csv_;
  std::size_t time_, prompt_, output_;
};

}  // namespace

const TraceFormat splitwise_format = {
    "splitwise", "Splitwise, Vidur: arrived_at,num_prefill_tokens,num_decode_tokens; seconds",
    [](const std::string& line) {
      return has_columns(line, {"arrived_at", "num_prefill_tokens", "num_decode_tokens"});
    },
    [](std::istream& in, const catalog::TraceSpec& spec) -> std::unique_ptr<TraceReader> {
      return std::make_unique<Splitwise>(in, spec);
    }};

}  // namespace servegrid::workload
