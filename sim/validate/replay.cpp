#include "validate/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "units/csv.hpp"
#include "units/error.hpp"

namespace servegrid::validate {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::initializer_list<const char*>;

constexpr double latest = 1e9;  // [s]; what the traces allow
constexpr std::int64_t most_tokens = 1'000'000'000;
constexpr std::size_t most_requests = 5'000'000;  // some 300 bytes each in the simulation

std::string column(const units::CsvReader& csv, Names names) {
  for (const char* name : names) {
    if (csv.has(name)) return name;
  }
  throw csv.error(
      fmt::format("lacks the column '{}' (also: {}); a row a request, see "
                  "docs/validation.md",
                  *names.begin(), fmt::join(names.begin() + 1, names.end(), ", ")));
}

std::int64_t tokens(const units::CsvReader& csv, const std::string& name) {
  const double n = csv.number(name, 1, static_cast<double>(most_tokens));
  if (n != std::floor(n)) throw csv.error("column '" + name + "': expected whole tokens");
  return static_cast<std::int64_t>(n);
}

// Latencies of one request [s]; tpot is NaN where there is one token.
struct Latencies {
  double ttft, tpot, e2el;
};

Latencies latencies(double arrival, double first, double last, std::int64_t output) {
  const double gaps = static_cast<double>(output - 1);
  return {first - arrival, output > 1 ? (last - first) / gaps : std::nan(""), last - arrival};
}

Latencies of(const MeasuredRequest& m) {
  return latencies(m.arrival, m.first_token, m.last_token, m.output);
}

Latencies of(const metrics::RequestRecord& r) {
  return latencies(to_seconds(r.arrival), to_seconds(r.first_token), to_seconds(r.finish),
                   r.output_tokens);
}

// Requests are numbered as they arrive: the id is the row.
std::vector<const metrics::RequestRecord*> by_row(const MeasuredRequests& measured,
                                                  const metrics::RunResult& result) {
  std::vector<const metrics::RequestRecord*> rows(measured.requests.size(), nullptr);
  for (const auto& r : result.requests) {
    if (r.outcome == metrics::Outcome::completed) rows.at(static_cast<std::size_t>(r.id)) = &r;
  }
  return rows;
}

class Sum {
 public:
  void add(double measured, double predicted) {
    if (!std::isfinite(measured) || !std::isfinite(predicted)) return;
    measured_ += measured;
    predicted_ += predicted;
    if (measured > 0) errors_.push_back(100 * std::abs(predicted / measured - 1));
    ++n_;
  }
  [[nodiscard]] ReplayedLatency mean() {
    ReplayedLatency out;
    out.n = n_;
    if (n_ == 0) return out;
    out.measured = measured_ / static_cast<double>(n_);
    out.predicted = predicted_ / static_cast<double>(n_);
    std::sort(errors_.begin(), errors_.end());
    if (!errors_.empty()) out.median_ape = errors_[errors_.size() / 2];
    return out;
  }

 private:
  double measured_ = 0, predicted_ = 0;
  std::int64_t n_ = 0;
  std::vector<double> errors_;
};

FinishCurve worst_of(std::vector<double> measured, std::vector<double> predicted) {
  std::sort(measured.begin(), measured.end());
  std::sort(predicted.begin(), predicted.end());
  FinishCurve worst;
  double largest = -1;
  for (std::size_t k = 0; k < measured.size(); ++k) {
    const double off = std::abs(predicted[k] / measured[k] - 1);
    if (!(measured[k] > 0) || off <= largest) continue;
    largest = off;
    worst = {static_cast<std::int64_t>(k) + 1, measured[k], predicted[k]};
  }
  return worst;
}

std::string line(const char* what, const ReplayedLatency& l) {
  if (l.n == 0) return fmt::format("{:<10} no request with more than one token\n", what);
  return fmt::format("{:<10} {:>12.2f} {:>12.2f} {:>+9.1f} {:>16.1f}\n", what, 1e3 * l.measured,
                     1e3 * l.predicted, l.error_percent(), l.median_ape);
}

Json json(const ReplayedLatency& l) {
  Json j = {{"n", l.n}};
  if (l.n == 0) return j;
  j["measured_ms"] = 1e3 * l.measured;
  j["predicted_ms"] = 1e3 * l.predicted;
  j["error_percent"] = l.error_percent();
  j["median_ape"] = l.median_ape;
  return j;
}

}  // namespace

MeasuredRequests read_requests(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + ": cannot be read: does the file exist?", {path, 0, 0});
  return read_requests(in, path);
}

MeasuredRequests read_requests(std::istream& in, const std::string& path) {
  units::CsvReader csv(in, path);
  MeasuredRequests out;
  out.file = path;
  out.arrival = column(csv, {"arrival_s", "arrival"});
  out.prompt = column(csv, {"prompt_tokens", "prompt", "input_tokens", "input_toks"});
  out.output = column(csv, {"output_tokens", "output", "output_toks"});
  const std::string first = column(csv, {"first_token_s", "first_token"});
  const std::string last = column(csv, {"last_token_s", "finish_s", "finish"});
  while (csv.next()) {
    if (out.requests.size() == most_requests)
      throw csv.error(fmt::format("is beyond the {} requests that are replayed", most_requests));
    MeasuredRequest m;
    m.prompt = tokens(csv, out.prompt);
    m.output = tokens(csv, out.output);
    m.arrival = csv.number(out.arrival, 0, latest);
    m.first_token = csv.number(first, 0, latest);
    m.last_token = csv.number(last, 0, latest);
    if (m.first_token <= m.arrival || m.last_token < m.first_token)
      throw csv.error(fmt::format("the times must rise: '{}' {:g} s, '{}' {:g} s, '{}' {:g} s",
                                  out.arrival, m.arrival, first, m.first_token, last,
                                  m.last_token));
    if (!out.requests.empty() && m.arrival < out.requests.back().arrival)
      throw csv.error("arrives before the row above it: sort the requests by '" + out.arrival +
                      "'");
    out.requests.push_back(m);
  }
  if (out.requests.empty()) throw csv.error("has no request");
  return out;
}

void replay(const MeasuredRequests& measured, catalog::Scenario& scenario) {
  scenario.workload = {};
  scenario.workload.kind = catalog::WorkloadSpec::Kind::trace;
  scenario.workload.trace.file = measured.file;
  scenario.workload.trace.format = "csv";
  scenario.workload.trace.arrival = measured.arrival;
  scenario.workload.trace.prompt = measured.prompt;
  scenario.workload.trace.output = measured.output;
}

Replay compare(const MeasuredRequests& measured, const metrics::RunResult& result) {
  const auto rows = by_row(measured, result);
  Replay out;
  out.requests = static_cast<std::int64_t>(rows.size());
  Sum ttft, tpot, e2el;
  std::vector<double> finished, finished_predicted;
  const double start = measured.requests.front().arrival;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == nullptr) continue;
    const Latencies m = of(measured.requests[i]), p = of(*rows[i]);
    ttft.add(m.ttft, p.ttft);
    tpot.add(m.tpot, p.tpot);
    e2el.add(m.e2el, p.e2el);
    finished.push_back(measured.requests[i].last_token - start);
    finished_predicted.push_back(to_seconds(rows[i]->finish) - start);
    ++out.finished;
  }
  if (out.finished == 0) throw RunError("none of the requests finished in the simulation");
  out.ttft = ttft.mean();
  out.tpot = tpot.mean();
  out.e2el = e2el.mean();
  out.worst = worst_of(std::move(finished), std::move(finished_predicted));
  return out;
}

std::string to_table(const Replay& r) {
  std::string out = fmt::format("{} requests replayed", r.requests);
  if (r.finished < r.requests)
    out +=
        fmt::format(", of which the simulation finished {}; the others are left out", r.finished);
  out += fmt::format("\n\n{:<10} {:>12} {:>12} {:>9} {:>16}\n", "mean [ms]", "measured",
                     "predicted", "error %", "of a request %");
  out += line("TTFT", r.ttft) + line("TPOT", r.tpot) + line("E2EL", r.e2el);
  out += fmt::format(
      "\nFinished requests over time: furthest apart at the {} of {}, after {:.2f} s measured, "
      "{:.2f} s predicted ({:+.1f} %)\n",
      r.worst.finished, r.finished, r.worst.measured, r.worst.predicted, r.worst.error_percent());
  return out;
}

std::string to_json(const Replay& r) {
  Json j;
  j["requests"] = r.requests;
  j["finished"] = r.finished;
  j["ttft"] = json(r.ttft);
  j["tpot"] = json(r.tpot);
  j["e2el"] = json(r.e2el);
  j["finish_curve"] = {{"finished", r.worst.finished},
                       {"measured_s", r.worst.measured},
                       {"predicted_s", r.worst.predicted},
                       {"error_percent", r.worst.error_percent()}};
  return j.dump(2);
}

std::string rows_csv(const MeasuredRequests& measured, const metrics::RunResult& result) {
  std::string out =
      "request,prompt_tokens,output_tokens,arrival_s,measured_ttft_ms,predicted_ttft_ms,"
      "measured_tpot_ms,predicted_tpot_ms,measured_e2el_ms,predicted_e2el_ms\n";
  const auto cell = [](double seconds) {
    return std::isfinite(seconds) ? fmt::format(",{:.6g}", 1e3 * seconds) : std::string(",");
  };
  const auto rows = by_row(measured, result);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MeasuredRequest& r = measured.requests[i];
    const double none = std::nan("");
    const Latencies m = of(r), p = rows[i] != nullptr ? of(*rows[i]) : Latencies{none, none, none};
    out += fmt::format("{},{},{},{:.9g}", i, r.prompt, r.output, r.arrival) + cell(m.ttft) +
           cell(p.ttft) + cell(m.tpot) + cell(p.tpot) + cell(m.e2el) + cell(p.e2el) + '\n';
  }
  return out;
}

}  // namespace servegrid::validate
