// Any CSV with a column each for arrival, prompt and output; by default the names of our own
// requests.csv and of the files that people write by hand, in seconds.
#include "workload/traces/reader.hpp"

namespace servegrid::workload {

namespace {

constexpr std::initializer_list<const char*> arrivals = {"arrival_s", "arrival"};
constexpr std::initializer_list<const char*> prompts = {"prompt", "prompt_tokens", "input_tokens"};
constexpr std::initializer_list<const char*> outputs = {"output", "output_tokens"};

class Csv final : public TraceReader {
 public:
  Csv(std::istream& in, const catalog::TraceSpec& spec)
      : csv_(in, spec.file),
        unit_(spec.time_unit),
        time_(place(spec.arrival, arrivals)),
        prompt_(place(spec.prompt, prompts)),
        output_(place(spec.output, outputs)) {}

  bool next(TraceRow& row) override {
    if (!csv_.next()) return false;
    row.line = csv_.line();
    row.arrival = csv_.number(time_, 0, 1e18) * unit_;
    if (row.arrival > 1e9) throw csv_.error("arrives after 1e9 s: is the time unit right?");
    row.prompt = tokens_at(csv_, prompt_);
    row.output = tokens_at(csv_, output_);
    row.unusable = unusable(row.prompt, row.output);
    return true;
  }

 private:
  [[nodiscard]] std::size_t place(const std::string& asked,
                                  std::initializer_list<const char*> names) const {
    if (!asked.empty()) return csv_.place(asked);
    for (const char* name : names) {
      if (csv_.has(name)) return csv_.place(name);
    }
    throw csv_.error(std::string("lacks the column '") + *names.begin() +
                     "'; a trace has arrival_s [s], prompt and output [tokens]; `columns` maps "
                     "others");
  }

  units::CsvReader csv_;
  double unit_;
  std::size_t time_, prompt_, output_;
};

bool has_any(const std::string& line, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (has_columns(line, {name})) return true;
  }
  return false;
}

}  // namespace

const TraceFormat csv_format = {
    "csv", "any CSV: arrival_s,prompt,output, or `columns` and `time_unit`; seconds",
    [](const std::string& line) {
      return has_any(line, arrivals) && has_any(line, prompts) && has_any(line, outputs);
    },
    [](std::istream& in, const catalog::TraceSpec& spec) -> std::unique_ptr<TraceReader> {
      return std::make_unique<Csv>(in, spec);
    }};

}  // namespace servegrid::workload
