// A recorded trace, replayed: what of it, how fast, and what is left out.
#include <fmt/core.h>

#include <fstream>
#include <map>

#include "units/error.hpp"
#include "workload/hash_streams.hpp"
#include "workload/sources.hpp"
#include "workload/traces/reader.hpp"

namespace servegrid::workload {

namespace {

class Trace final : public Source {
 public:
  explicit Trace(const catalog::WorkloadSpec& spec)
      : spec_(spec.trace), requests_(spec.requests), shared_prefix_(spec.shared_prefix) {
    if (!(spec_.speed > 0)) throw InputError("workload: the speed of a trace must be above 0");
    const TraceFormat& format = trace_format(spec_);
    in_.open(spec_.file);
    if (!in_) throw InputError(spec_.file + ": cannot open the trace", {spec_.file, 0, 0});
    reader_ = format.make(in_, spec_);
    if (reader_->hash_tokens() > 0) {
      if (shared_prefix_ > 0) {
        throw InputError(
            "workload: a trace with hash ids has its own prefixes: shared_prefix does "
            "not go with it");
      }
      streams_ = std::make_unique<HashStreams>(reader_->hash_tokens());
    }
  }

  std::optional<Request> next_arrival() override {
    if (done_) return std::nullopt;
    while ((requests_ == 0 || issued_ < requests_) && reader_->next(row_)) {
      if (row_.arrival < last_) throw error("arrives before the row above it: sort the trace");
      last_ = row_.arrival;
      if (row_.arrival < spec_.from) continue;
      if (spec_.to > 0 && row_.arrival >= spec_.to) break;
      ++rows_;
      if (const char* reason = why_not()) {
        Dropped& d = dropped_[reason];
        if (d.rows++ == 0) d.line = row_.line;
        continue;
      }
      return issue();
    }
    done_ = true;
    if (issued_ == 0) throw error("has no request to replay" + text_of_dropped());
    if (issued_ < requests_) {
      throw error(
          fmt::format("has {} requests, the workload asks for {}; lower `requests` or leave "
                      "it out{}",
                      issued_, requests_, text_of_dropped()));
    }
    return std::nullopt;
  }
  std::optional<Request> on_end(const Request&, Ticks, bool) override { return std::nullopt; }
  [[nodiscard]] std::int64_t total() const override { return issued_; }

  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> out;
    if (!dropped_.empty()) out.push_back("trace: left out" + text_of_dropped());
    if (streams_ && streams_->contradictions() > 0) {
      out.push_back(
          fmt::format("trace: {} requests have a hash id that followed another one before; "
                      "they share what comes before it",
                      streams_->contradictions()));
    }
    return out;
  }

 private:
  struct Dropped {
    std::int64_t rows = 0, line = 0;  // the first one's
  };

  [[nodiscard]] const char* why_not() const {
    if (row_.unusable != nullptr) return row_.unusable;
    const bool longer = spec_.max_tokens > 0 && row_.prompt + row_.output > spec_.max_tokens;
    return longer ? "longer than max_tokens" : nullptr;
  }

  Request issue() {
    Request request;
    request.id = issued_++;
    request.arrival = to_ticks((row_.arrival - spec_.from) / spec_.speed);
    request.prompt_tokens = row_.prompt;
    request.output_tokens = row_.output;
    request.user = row_.user;
    request.turn = row_.turn;
    if (streams_) streams_->place(row_.hashes, request);
    share_prefix(request, shared_prefix_, 0);
    return request;
  }

  [[nodiscard]] std::string text_of_dropped() const {
    std::string out;
    for (const auto& [reason, d] : dropped_) {
      out += fmt::format("{} {} of {} rows: {} (first in line {})", out.empty() ? "" : ";", d.rows,
                         rows_, reason, d.line);
    }
    return out;
  }

  [[nodiscard]] InputError error(const std::string& what) const {
    const int line = static_cast<int>(row_.line);
    return InputError(fmt::format("{}:{}: {}", spec_.file, line, what), {spec_.file, line, 0});
  }

  catalog::TraceSpec spec_;
  std::int64_t requests_, shared_prefix_;
  std::ifstream in_;
  std::unique_ptr<TraceReader> reader_;
  std::unique_ptr<HashStreams> streams_;
  TraceRow row_;
  std::map<std::string, Dropped> dropped_;  // by reason
  double last_ = 0;
  std::int64_t issued_ = 0, rows_ = 0;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<Source> make_trace(const catalog::WorkloadSpec& spec) {
  return std::make_unique<Trace>(spec);
}

}  // namespace servegrid::workload
