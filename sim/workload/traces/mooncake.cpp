// Mooncake's traces (kvcache-ai/Mooncake, FAST'25): timestamp in milliseconds, one hash id a block
// of 512 tokens.
#include "workload/traces/json_lines.hpp"

namespace servegrid::workload {

namespace {

class Mooncake final : public JsonLines {
 public:
  Mooncake(std::istream& in, const catalog::TraceSpec& spec) : JsonLines(in, spec, 1e-3, 512) {}

 private:
  void more(TraceRow&, double, double, double) override {}
};

}  // namespace

const TraceFormat mooncake_format = {
    "mooncake",
    "Mooncake JSONL: timestamp, input_length, output_length, hash_ids of 512 tokens; ms",
    [](const std::string& line) {
      return line.front() == '{' && line.find("\"hash_ids\"") != std::string::npos &&
             line.find("\"chat_id\"") == std::string::npos;
    },
    [](std::istream& in, const catalog::TraceSpec& spec) -> std::unique_ptr<TraceReader> {
      return std::make_unique<Mooncake>(in, spec);
    }};

}  // namespace servegrid::workload
