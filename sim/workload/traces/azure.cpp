// Azure LLM inference traces of 2023 and 2024 (Azure/AzurePublicDataset): TIMESTAMP (wall clock),
// ContextTokens, GeneratedTokens. The one of 2025 has NumImages beside them, which is not modelled.
#include "workload/traces/reader.hpp"

namespace servegrid::workload {

namespace {

class Azure final : public TraceReader {
 public:
  Azure(std::istream& in, const catalog::TraceSpec& spec)
      : csv_(in, spec.file),
        time_(csv_.place("TIMESTAMP")),
        prompt_(csv_.place("ContextTokens")),
        output_(csv_.place("GeneratedTokens")) {}

  bool next(TraceRow& row) override {
    if (!csv_.next()) return false;
    const std::int64_t ns = wall_clock_ns(csv_.text(time_));
    if (ns < 0) {
      throw csv_.error(
          "column 'TIMESTAMP': expected a time like 2023-11-16 18:17:03.9799600, got '" +
          units::shown(csv_.text(time_)) + "'");
    }
    if (first_ < 0) first_ = ns;
    row.line = csv_.line();
    row.arrival = static_cast<double>(ns - first_) * 1e-9;
    row.prompt = tokens_at(csv_, prompt_);
    row.output = tokens_at(csv_, output_);
    row.unusable = unusable(row.prompt, row.output);
    return true;
  }

 private:
  units::CsvReader csv_;
  std::size_t time_, prompt_, output_;
  std::int64_t first_ = -1;
};

}  // namespace

const TraceFormat azure_format = {
    "azure", "Azure LLM inference traces: TIMESTAMP,ContextTokens,GeneratedTokens; wall clock",
    [](const std::string& line) {
      return has_columns(line, {"TIMESTAMP", "ContextTokens", "GeneratedTokens"});
    },
    [](std::istream& in, const catalog::TraceSpec& spec) -> std::unique_ptr<TraceReader> {
      return std::make_unique<Azure>(in, spec);
    }};

}  // namespace servegrid::workload
