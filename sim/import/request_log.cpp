// A request log as CSV: arrival, prompt and output tokens, under the names that traces use.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <sstream>
#include <vector>

#include "import/import.hpp"
#include "import/words.hpp"
#include "units/csv.hpp"
#include "units/error.hpp"

namespace servegrid::importer {

namespace {

constexpr std::size_t most_rows = 5'000'000;

std::string column_of(const units::CsvReader& csv, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (csv.has(name)) return name;
  return {};
}

// Days since 1970-01-01 of a Gregorian date (Hinnant, chrono-compatible low-level date algorithms).
std::int64_t days_from_civil(std::int64_t y, unsigned m, unsigned d) {
  y -= m <= 2;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const auto yoe = static_cast<unsigned>(y - era * 400);
  const unsigned doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
  const unsigned doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + static_cast<std::int64_t>(doe) - 719468;
}

// Seconds of "12.5", or of "2023-11-16 18:15:46.6805900" (any zone is ignored: differences count).
double seconds_of(const units::CsvReader& csv, const std::string& column) {
  const std::string& text = csv.text(column);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  char t = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2d%c%2d:%2d:%lf", &year, &month, &day, &t, &hour, &minute,
                  &second) == 7 &&
      month >= 1 && month <= 12 && day >= 1 && day <= 31 && second >= 0 && second < 61)
    return static_cast<double>(
               days_from_civil(year, static_cast<unsigned>(month), static_cast<unsigned>(day))) *
               86400 +
           hour * 3600 + minute * 60 + second;
  return csv.number(column, 0, 1e14);
}

struct Spread {
  double sum = 0, squares = 0, most = 0, n = 0;
  void add(double x) {
    sum += x, squares += x * x, n += 1;
    most = std::max(most, x);
  }
  [[nodiscard]] std::string length() const {
    const double mean = sum / n;
    const double cv = std::sqrt(std::max(0.0, squares / n - mean * mean)) / mean;
    if (cv < 0.02) return fmt::format("{:.0f} tokens", std::max(1.0, std::round(mean)));
    return fmt::format(
        "{{lognormal: {{mean: {:.0f} tokens, sigma: {:.4g}, limit: {:.0f} tokens}}}}",
        std::max(1.0, std::round(mean)), std::sqrt(std::log1p(cv * cv)), most);
  }
};

}  // namespace

void read_request_log(const std::string& text, const std::string& file, bool keep_trace,
                      Draft& draft) {
  std::istringstream in(text);
  units::CsvReader csv(in, file);
  const std::string arrival =
      column_of(csv, {"arrival_s", "arrival", "TIMESTAMP", "timestamp", "time", "start_time"});
  const std::string prompt =
      column_of(csv, {"prompt", "prompt_tokens", "input_tokens", "ContextTokens", "input_length",
                      "num_prefill_tokens"});
  const std::string output =
      column_of(csv, {"output", "output_tokens", "completion_tokens", "generation_tokens",
                      "GeneratedTokens", "output_length", "num_decode_tokens"});
  if (arrival.empty() || prompt.empty() || output.empty())
    throw csv.error(
        "a request log has a time (arrival_s, timestamp), prompt tokens (prompt_tokens, "
        "input_tokens, ContextTokens) and output tokens (output_tokens, completion_tokens, "
        "GeneratedTokens)");
  struct Row {
    double at, prompt, output;
  };
  std::vector<Row> rows;
  std::size_t empty = 0;
  while (csv.next()) {
    const Row row{seconds_of(csv, arrival), std::floor(csv.number(prompt, 0, 1e9)),
                  std::floor(csv.number(output, 0, 1e9))};
    if (row.prompt < 1 || row.output < 1) {
      ++empty;
      continue;
    }
    rows.push_back(row);
    if (rows.size() > most_rows) throw csv.error("has more than 5,000,000 requests");
  }
  if (rows.size() < 2) throw csv.error("has fewer than two requests with prompt and output");
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.at < b.at; });
  const double span = rows.back().at - rows.front().at;
  if (!(span > 0)) throw csv.error("all requests arrive at one time: there is no rate in it");
  if (empty > 0)
    draft.cannot(fmt::format("{} requests without prompt or output were left out", empty));
  Spread prompts, outputs;
  for (const Row& row : rows) {
    prompts.add(row.prompt);
    outputs.add(row.output);
  }
  if (keep_trace) {
    std::string out = "arrival_s,prompt,output\n";
    for (const Row& row : rows)
      out +=
          fmt::format("{:.6f},{:.0f},{:.0f}\n", row.at - rows.front().at, row.prompt, row.output);
    draft.trace_csv = out;
    draft.set("workload.trace.file", "trace.csv", file);
    return;
  }
  draft.set("workload.open.rate",
            fmt::format("{:.6g} /s", static_cast<double>(rows.size() - 1) / span),
            fmt::format("{}: {} requests in {:.0f} s", file, rows.size(), span));
  draft.set("workload.open.prompt", prompts.length(), file + ": " + prompt);
  draft.set("workload.open.output", outputs.length(), file + ": " + output);
  draft.set("workload.requests", std::to_string(std::min<std::size_t>(rows.size(), 20'000)), file);
  draft.assume(
      "arrivals are Poisson at the log's mean rate and lengths are independent lognormals with its "
      "means and spreads; --output DIR keeps the log itself as a trace");
}

}  // namespace servegrid::importer
