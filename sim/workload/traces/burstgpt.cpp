// BurstGPT (HPMLL/BurstGPT): Timestamp in seconds from day 0, Request tokens, Response tokens (0: a
// failed request); the third release has Session ID.
#include <unordered_map>

#include "workload/traces/reader.hpp"

namespace servegrid::workload {

namespace {

class BurstGpt final : public TraceReader {
 public:
  BurstGpt(std::istream& in, const catalog::TraceSpec& spec)
      : csv_(in, spec.file),
        time_(csv_.place("Timestamp")),
        prompt_(csv_.place("Request tokens")),
        output_(csv_.place("Response tokens")),
        sessions_(csv_.has("Session ID")),
        session_(sessions_ ? csv_.place("Session ID") : 0) {}

  bool next(TraceRow& row) override {
    if (!csv_.next()) return false;
    row.line = csv_.line();
    row.arrival = csv_.number(time_, 0, 1e9);
    row.prompt = tokens_at(csv_, prompt_);
    row.output = tokens_at(csv_, output_);
    row.unusable = unusable(row.prompt, row.output);
    row.user = -1;
    row.turn = 0;
    if (sessions_ && !csv_.text(session_).empty() && row.unusable == nullptr) {
      Session& s = known_[csv_.text(session_)];
      if (s.turns == 0) s.user = static_cast<std::int64_t>(known_.size()) - 1;
      row.user = s.user;
      row.turn = s.turns++;
    }
    return true;
  }

 private:
  struct Session {
    std::int64_t user = -1;
    int turns = 0;
  };
  units::CsvReader csv_;
  std::size_t time_, prompt_, output_;
  bool sessions_;
  std::size_t session_;
  std::unordered_map<std::string, Session> known_;
};

}  // namespace

const TraceFormat burstgpt_format = {
    "burstgpt", "BurstGPT: Timestamp,Model,Request tokens,Response tokens,...; seconds",
    [](const std::string& line) {
      return has_columns(line, {"Timestamp", "Request tokens", "Response tokens"});
    },
    [](std::istream& in, const catalog::TraceSpec& spec) -> std::unique_ptr<TraceReader> {
      return std::make_unique<BurstGpt>(in, spec);
    }};

}  // namespace servegrid::workload
