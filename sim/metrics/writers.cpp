#include "metrics/writers.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "metrics/version.hpp"

namespace servegrid::metrics {

namespace {

constexpr std::int64_t per_second = 1'000'000'000;  // nanoseconds: the 9 decimals

// Seconds with 9 decimals, from integers alone: the same text everywhere.
void put_time(fmt::memory_buffer& out, Ticks t) {
  const bool negative = t < 0;
  if (negative) t = -t;
  const Ticks mask = (static_cast<Ticks>(1) << ticks_log2_per_second) - 1;
  auto whole = static_cast<std::int64_t>(t >> ticks_log2_per_second);
  const Ticks half = static_cast<Ticks>(1) << (ticks_log2_per_second - 1);
  auto fraction =
      static_cast<std::int64_t>(((t & mask) * per_second + half) >> ticks_log2_per_second);
  if (fraction == per_second) {
    ++whole;
    fraction = 0;
  }
  if (negative) out.push_back('-');
  fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}.{:09}"), whole, fraction);
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
  return "in_flight";
}

void put_quoted(fmt::memory_buffer& out, const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) {
    out.append(text);
    return;
  }
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c == '\n' || c == '\r' ? ' ' : c);
  }
  out.push_back('"');
}

}  // namespace

std::string requests_csv(const RunResult& result) {
  fmt::memory_buffer out;
  out.append(std::string_view(
      "id,user,turn,replica,outcome,prompt_tokens,output_tokens,cached_tokens,preemptions,"
      "arrival_s,scheduled_s,first_token_s,finish_s,reason\n"));
  for (const RequestRecord& r : result.requests) {
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{},"), r.id);
    if (r.user >= 0) fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), r.user);
    fmt::format_to(std::back_inserter(out), FMT_COMPILE(",{},{},{},{},{},{},{},"), r.turn,
                   r.replica, name(r.outcome), r.prompt_tokens, r.output_tokens, r.cached_tokens,
                   r.preemptions);
    put_time(out, r.arrival);
    const bool served = r.outcome != Outcome::rejected && r.outcome != Outcome::in_flight;
    for (const Ticks t : {r.scheduled, r.first_token, r.finish}) {
      out.push_back(',');
      if (served && t >= 0) put_time(out, t);
    }
    out.push_back(',');
    put_quoted(out, r.reason);
    out.push_back('\n');
  }
  return fmt::to_string(out);
}

std::string timeline_csv(const RunResult& result) {
  fmt::memory_buffer out;
  out.append(std::string_view(
      "replica,start_s,steps,sequences,prefill_tokens,prefill_context,context_tokens,waiting,"
      "blocks_used,first_step_s,step_growth_s,running\n"));
  for (const Epoch& e : result.timeline) {
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{},"), e.replica);
    put_time(out, e.start);
    fmt::format_to(std::back_inserter(out), FMT_COMPILE(",{},{},{},{},{},{},{},"), e.steps,
                   e.sequences, e.prefill_tokens, e.prefill_context, e.context_tokens, e.waiting,
                   e.blocks_used);
    put_time(out, e.first_step);
    // A growth is far below 1 ns: as a number with 6 digits.
    fmt::format_to(std::back_inserter(out), FMT_COMPILE(",{:.6g},{}\n"), to_seconds(e.step_growth),
                   e.running);
  }
  return fmt::to_string(out);
}

std::string summary_json(const Summary& summary) {
  nlohmann::ordered_json json;
  json["format_version"] = format_version;
  json["model_version"] = model_version;
  for (const auto& [key, value] : summary) json[key] = value;
  return json.dump(2) + "\n";
}

}  // namespace servegrid::metrics
