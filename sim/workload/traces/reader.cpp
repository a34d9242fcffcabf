#include "workload/traces/reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>

#include "units/error.hpp"

namespace servegrid::workload {

const std::vector<TraceFormat>& trace_formats() {
  static const std::vector<TraceFormat> formats = {
      azure_format,     burstgpt_format,   qwen_bailian_format, mooncake_format,
      splitwise_format, vllm_bench_format, csv_format};
  return formats;
}

const TraceFormat& trace_format(const catalog::TraceSpec& spec) {
  std::string known;
  for (const TraceFormat& f : trace_formats()) {
    if (spec.format == f.name) return f;
    known += fmt::format("\n  {:<14} {}", f.name, f.about);
  }
  if (spec.format != "auto") {
    throw InputError("trace: unknown format '" + units::shown(spec.format) + "'; there are" +
                     known);
  }
  std::ifstream in(spec.file);
  if (!in) throw InputError(spec.file + ": cannot open the trace", {spec.file, 0, 0});
  units::LineReader lines(in, spec.file);
  std::string first;
  do {
    if (!lines.next(first)) throw lines.error("is empty: expected a trace");
  } while (first.empty() || first.front() == '#');
  for (const TraceFormat& f : trace_formats()) {
    if (f.is(first)) return f;
  }
  throw lines.error("is of no format that is known by its first line: give 'format', one of" +
                    known);
}

bool has_columns(const std::string& header, std::initializer_list<const char*> names) {
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    for (auto at = header.find(name); at != std::string::npos; at = header.find(name, at + 1)) {
      const auto end = at + name.size();
      if ((at == 0 || header[at - 1] == ',') && (end == header.size() || header[end] == ',')) {
        return true;
      }
    }
    return false;
  });
}

std::int64_t tokens_at(const units::CsvReader& csv, std::size_t place) {
  const double value = csv.number(place, 0, 1e9);
  const auto tokens = static_cast<std::int64_t>(value);
  if (static_cast<double>(tokens) != value) {
    throw csv.error("column '" + csv.header()[place] +
                    "': expected a whole number of tokens, got '" + units::shown(csv.text(place)) +
                    "'");
  }
  return tokens;
}

const char* unusable(std::int64_t prompt, std::int64_t output) {
  if (prompt < 1) return "no prompt tokens";
  return output < 1 ? "no output tokens (a failed request)" : nullptr;
}

namespace {

/// Digits at `at`, exactly `count`; -1 when they are not there.
std::int64_t digits(const std::string& s, std::size_t at, std::size_t count) {
  if (at + count > s.size()) return -1;
  std::int64_t value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (s[i] < '0' || s[i] > '9') return -1;
    value = value * 10 + (s[i] - '0');
  }
  return value;
}

/// Days since 1970-01-01 (Howard Hinnant, chrono-compatible low-level date algorithms).
std::int64_t days_from_civil(std::int64_t y, std::int64_t m, std::int64_t d) {
  y -= m <= 2 ? 1 : 0;
  const std::int64_t era = y / 400, yoe = y - era * 400;
  const std::int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

}  // namespace

std::int64_t wall_clock_ns(const std::string& s) {
  if (s.size() < 19 || s[4] != '-' || s[7] != '-' || (s[10] != ' ' && s[10] != 'T') ||
      s[13] != ':' || s[16] != ':') {
    return -1;
  }
  const std::int64_t y = digits(s, 0, 4), mo = digits(s, 5, 2), d = digits(s, 8, 2),
                     h = digits(s, 11, 2), mi = digits(s, 14, 2), sec = digits(s, 17, 2);
  if (y < 1970 || y > 2200 || mo < 1 || mo > 12 || d < 1 || d > 31 || h < 0 || h > 23 || mi < 0 ||
      mi > 59 || sec < 0 || sec > 60) {
    return -1;
  }
  std::size_t at = 19;
  std::int64_t fraction = 0;
  if (at < s.size() && s[at] == '.') {
    std::int64_t unit = 100'000'000;
    for (++at; at < s.size() && s[at] >= '0' && s[at] <= '9'; ++at, unit /= 10) {
      fraction += (s[at] - '0') * unit;
    }
  }
  const std::string zone = s.substr(at);
  if (!zone.empty() && zone != "Z" && zone != "+00:00") return -1;
  return ((days_from_civil(y, mo, d) * 24 + h) * 60 + mi) * 60'000'000'000 + sec * 1'000'000'000 +
         fraction;
}

}  // namespace servegrid::workload
