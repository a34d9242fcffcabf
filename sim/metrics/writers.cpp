#include "metrics/writers.hpp"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "metrics/version.hpp"

namespace servegrid::metrics {

namespace {

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

void put_quoted(TextOut& out, const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) {
    out.put(text);
    return;
  }
  out.put('"');
  for (const char c : text) {
    if (c == '"') out.put('"');
    out.put(c == '\n' || c == '\r' ? ' ' : c);
  }
  out.put('"');
}

// Growths as text: they are multiples of what a token costs, so that few differ and each is
// formatted once while it stays in its place.
class GrowthTexts {
 public:
  void put(TextOut& out, Ticks growth) {
    Entry& e = entries_[static_cast<std::size_t>(
        (static_cast<std::uint64_t>(growth) * 0x9e3779b97f4a7c15U) >> 56)];
    if (e.text.empty() || e.growth != growth) {
      e.growth = growth;
      e.text.clear();
      // Far below 1 ns: as a number with 6 digits.
      std::array<char, 32> digits;
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(),
                                     to_seconds(growth), std::chars_format::general, 6);
      e.text.assign(digits.data(), end.ptr);
    }
    out.put(e.text);
  }

 private:
  struct Entry {
    Ticks growth = 0;
    std::string text;
  };
  std::array<Entry, 256> entries_;
};

template <class Write>
std::string as_string(Write&& write) {
  std::string text;
  TextOut out([&text](std::string_view piece) { text += piece; });
  write(out);
  out.finish();
  return text;
}

void put_handover(TextOut& out, const Handover& h) {
  out.put(',');
  if (h.replica >= 0) out.put(std::int64_t{h.replica});
  for (const Ticks t : {h.prefilled, h.started, h.transferred}) {
    out.put(',');
    if (t >= 0) out.put_time(t);
  }
}

}  // namespace

void write_requests(const RunResult& result, TextOut& out) {
  out.put(std::string_view(
      "id,user,turn,replica,outcome,prompt_tokens,output_tokens,cached_tokens,preemptions,"
      "arrival_s,scheduled_s,first_token_s,finish_s,reason"));
  const bool handed = !result.handovers.empty();
  const bool retried = result.counters.retries > 0;
  if (handed) {
    out.put(std::string_view(",prefill_replica,prefilled_s,transfer_start_s,transferred_s"));
  }
  if (retried) out.put(std::string_view(",attempts"));
  out.put('\n');
  for (const RequestRecord& r : result.requests) {
    out.put(r.id);
    out.put(',');
    if (r.user >= 0) out.put(r.user);
    out.put(',');
    out.put_fields(r.turn, r.replica);
    out.put(std::string_view(name(r.outcome)));
    out.put(',');
    out.put_fields(r.prompt_tokens, r.output_tokens, r.cached_tokens, r.preemptions);
    out.put_time(r.arrival);
    const bool served = r.outcome != Outcome::rejected && r.outcome != Outcome::in_flight;
    for (const Ticks t : {r.scheduled, r.first_token, r.finish}) {
      out.put(',');
      if (served && t >= 0) out.put_time(t);
    }
    out.put(',');
    put_quoted(out, r.reason);
    if (handed) put_handover(out, result.handovers[static_cast<std::size_t>(r.id)]);
    if (retried) {
      out.put(',');
      out.put(std::int64_t{r.attempts});
    }
    out.put('\n');
  }
}

void write_timeline(const RunResult& result, TextOut& out) {
  out.put(std::string_view(
      "replica,start_s,steps,sequences,prefill_tokens,prefill_context,context_tokens,waiting,"
      "blocks_used,first_step_s,step_growth_s,running\n"));
  GrowthTexts growths;
  for (const Epoch& e : result.timeline) {
    out.put_fields(e.replica);
    out.put_time(e.start);
    out.put(',');
    out.put_fields(e.steps, e.sequences, e.prefill_tokens, e.prefill_context, e.context_tokens,
                   e.waiting, e.blocks_used);
    out.put_time(e.first_step);
    out.put(',');
    growths.put(out, e.step_growth);
    out.put(',');
    out.put(e.running);
    out.put('\n');
  }
}

std::string requests_csv(const RunResult& result) {
  return as_string([&](TextOut& out) { write_requests(result, out); });
}

std::string timeline_csv(const RunResult& result) {
  return as_string([&](TextOut& out) { write_timeline(result, out); });
}

std::string summary_json(const Summary& summary) {
  nlohmann::ordered_json json;
  json["format_version"] = format_version;
  json["model_version"] = model_version;
  for (const auto& [key, value] : summary) json[key] = value;
  return json.dump(2) + "\n";
}

}  // namespace servegrid::metrics
