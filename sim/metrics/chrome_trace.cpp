#include "metrics/chrome_trace.hpp"

#include <fmt/format.h>

#include <iterator>

namespace servegrid::metrics {

namespace {

// Microseconds with three decimals, from integers alone: the same text everywhere.
std::string microseconds(Ticks t) {
  constexpr std::int64_t per_second = 1'000'000'000;
  const auto whole = static_cast<std::int64_t>(t >> ticks_log2_per_second);
  const Ticks mask = (static_cast<Ticks>(1) << ticks_log2_per_second) - 1;
  const auto ns = static_cast<std::int64_t>(((t & mask) * per_second) >> ticks_log2_per_second);
  const std::int64_t us = whole * 1'000'000 + ns / 1000;
  return fmt::format("{}.{:03}", us, ns % 1000);
}

class Events {
 public:
  explicit Events(const std::function<void(std::string_view)>& put) : put_(put) {}

  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(std::string_view(first_ ? "\n" : ",\n"));
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    if (text_.size() > (1u << 16)) flush();
  }
  void flush() {
    put_({text_.data(), text_.size()});
    text_.clear();
  }

 private:
  const std::function<void(std::string_view)>& put_;
  fmt::memory_buffer text_;
  bool first_ = true;
};

void add_epoch(Events& out, const Epoch& e, std::int64_t num_blocks) {
  const Ticks n = e.steps;
  const Ticks length = n * e.first_step + e.step_growth * (n * (n - 1) / 2);
  const std::string at = microseconds(e.start);
  const std::string what = e.prefill_tokens > 0 ? fmt::format("prefill {} tokens", e.prefill_tokens)
                                                : fmt::format("decode {}", e.sequences);
  out.add(
      R"({{"name":"{}","cat":"step","ph":"X","ts":{},"dur":{},"pid":{},"tid":0,"args":)"
      R"({{"steps":{},"decoding":{},"prefill_tokens":{},"prefill_context":{},"context_tokens":{}}}}})",
      what, at, microseconds(length), e.replica, e.steps, e.sequences, e.prefill_tokens,
      e.prefill_context, e.context_tokens);
  out.add(R"({{"name":"requests","ph":"C","ts":{},"pid":{},"args":{{"running":{},"waiting":{}}}}})",
          at, e.replica, e.running, e.waiting);
  if (num_blocks > 0) {
    out.add(R"({{"name":"KV use %","ph":"C","ts":{},"pid":{},"args":{{"used":{:.2f}}}}})", at,
            e.replica, 100 * static_cast<double>(e.blocks_used) / static_cast<double>(num_blocks));
  }
}

const char* name(Outcome outcome) {
  switch (outcome) {
    case Outcome::completed:
      return "completed";
    case Outcome::rejected:
      return "rejected";
    case Outcome::failed:
      return "failed";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::in_flight:
      break;
  }
  return "in flight";
}

void add_request(Events& out, const RequestRecord& r, Ticks end) {
  const Ticks last = r.outcome == Outcome::in_flight || r.finish < 0 ? end : r.finish;
  const auto span = [&](const std::string& what, Ticks from, Ticks to, const std::string& args) {
    out.add(R"({{"name":"{}","cat":"request","ph":"b","id":{},"ts":{},"pid":{},"tid":1{}}})", what,
            r.id, microseconds(from), r.replica, args);
    out.add(R"({{"name":"{}","cat":"request","ph":"e","id":{},"ts":{},"pid":{},"tid":1}})", what,
            r.id, microseconds(to), r.replica);
  };
  // An outer event and, nested in it, what the request waits for.
  const std::string title = fmt::format("request {}", r.id);
  out.add(
      R"({{"name":"{}","cat":"request","ph":"b","id":{},"ts":{},"pid":{},"tid":1,"args":)"
      R"({{"prompt_tokens":{},"output_tokens":{},"cached_tokens":{},"preemptions":{},"user":{},)"
      R"("turn":{},"outcome":"{}"}}}})",
      title, r.id, microseconds(r.arrival), r.replica, r.prompt_tokens, r.output_tokens,
      r.cached_tokens, r.preemptions, r.user, r.turn, name(r.outcome));
  const Ticks scheduled = r.scheduled >= 0 ? r.scheduled : last;
  const Ticks first = r.first_token >= 0 ? r.first_token : last;
  span("queue", r.arrival, scheduled, "");
  if (r.scheduled >= 0) span("prefill", scheduled, first, "");
  if (r.first_token >= 0) span("decode", first, last, "");
  out.add(R"({{"name":"{}","cat":"request","ph":"e","id":{},"ts":{},"pid":{},"tid":1}})", title,
          r.id, microseconds(last), r.replica);
}

}  // namespace

void write_chrome_trace(const RunResult& result, int replicas,
                        const std::function<void(std::string_view)>& put) {
  put(R"({"displayTimeUnit":"ms","traceEvents":[)");
  Events out(put);
  for (int i = 0; i < replicas; ++i) {
    out.add(R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":"replica {}"}}}})", i, i);
    out.add(R"({{"name":"thread_name","ph":"M","pid":{},"tid":0,"args":{{"name":"steps"}}}})", i);
  }
  for (const Epoch& e : result.timeline) add_epoch(out, e, result.num_blocks);
  for (const RequestRecord& r : result.requests) add_request(out, r, result.end);
  out.flush();
  put("\n]}\n");
}

}  // namespace servegrid::metrics
