#include "workload/bench_result.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "units/error.hpp"
#include "units/json.hpp"

namespace servegrid::workload {

namespace {

using nlohmann::json;

constexpr std::size_t max_bytes = std::size_t{192} << 20;
constexpr double max_count = 1e9, max_tokens = 1e15, max_ms = 1e12;

/// One result's keys, checked.
class Fields {
 public:
  Fields(const json& object, const BenchResult& of) : object_(object), of_(of) {}

  [[nodiscard]] InputError error(const std::string& message) const {
    return InputError(fmt::format("{}:{}: {}", of_.file, of_.line, message),
                      {of_.file, of_.line, 0});
  }
  [[nodiscard]] const json* find(const char* key) const {
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  [[nodiscard]] std::optional<double> number(const char* key, double low, double high) const {
    const json* v = find(key);
    if (v == nullptr) return std::nullopt;
    if (!v->is_number()) throw error(fmt::format("'{}' must be a number", key));
    const double x = v->get<double>();
    if (!(x >= low && x <= high))
      throw error(fmt::format("'{}' is {:.6g}, outside {:g} to {:g}", key, x, low, high));
    return x;
  }
  [[nodiscard]] double required(const char* key, double low, double high) const {
    const auto x = number(key, low, high);
    if (!x)
      throw error(
          fmt::format("has no '{}': is this a result of `vllm bench serve --save-result` or "
                      "of SGLang's bench_serving?",
                      key));
    return *x;
  }
  [[nodiscard]] std::int64_t count(const char* key, double high = max_count) const {
    return std::llround(required(key, 0, high));
  }
  [[nodiscard]] std::string text(const char* key) const {
    const json* v = find(key);
    if (v == nullptr) return {};
    if (!v->is_string()) throw error(fmt::format("'{}' must be text", key));
    return v->get<std::string>();
  }
  [[nodiscard]] std::vector<std::int64_t> lengths(const char* key) const {
    std::vector<std::int64_t> out;
    const json* v = find(key);
    if (v == nullptr) return out;
    if (!v->is_array()) throw error(fmt::format("'{}' must be a list of token counts", key));
    out.reserve(v->size());
    for (const json& item : *v) {
      if (!item.is_number_integer() || item.get<double>() < 0 || item.get<double>() > max_count)
        throw error(fmt::format("'{}' must hold token counts", key));
      out.push_back(item.get<std::int64_t>());
    }
    return out;
  }

 private:
  const json& object_;
  const BenchResult& of_;
};

// "inf" as text, Infinity (read as null) or absent: all requests at once.
std::optional<double> rate_of(const Fields& f) {
  const json* v = f.find("request_rate");
  if (v == nullptr) return std::nullopt;
  if (v->is_string()) {
    if (v->get<std::string>() == "inf") return std::nullopt;
    throw f.error("'request_rate' is neither a number nor \"inf\"");
  }
  return f.number("request_rate", 1e-9, 1e9);
}

BenchResult result_of(const json& object, const std::string& file, int line) {
  BenchResult r;
  r.file = file;
  r.line = line;
  const Fields f(object, r);
  if (!object.is_object()) throw f.error("expected a benchmark result (an object)");
  r.backend = f.find("backend") != nullptr ? f.text("backend") : f.text("endpoint_type");
  r.model = f.text("model_id");
  r.date = f.text("date");
  r.completed = f.count("completed");
  const auto prompts = f.number("num_prompts", 1, max_count);
  r.num_prompts = prompts ? std::llround(*prompts) : r.completed;
  if (const auto n = f.number("max_concurrency", 1, max_count))
    r.max_concurrency = std::llround(*n);
  r.request_rate = rate_of(f);
  r.burstiness = f.number("burstiness", 1e-6, 1e6).value_or(1);
  r.duration = f.required("duration", 0, 1e9);
  r.total_input_tokens = f.count("total_input_tokens", max_tokens);
  r.total_output_tokens = f.count("total_output_tokens", max_tokens);
  r.range_ratio = f.number("random_range_ratio", 0, 1);
  r.given_input = f.number("random_input_len", 1, max_count);
  r.given_output = f.number("random_output_len", 1, max_count);
  r.mean_ttft_ms = f.required("mean_ttft_ms", 0, max_ms);
  r.mean_tpot_ms = f.required("mean_tpot_ms", 0, max_ms);
  r.mean_e2el_ms = f.number("mean_e2el_ms", 0, max_ms);
  if (!r.mean_e2el_ms) r.mean_e2el_ms = f.number("mean_e2e_latency_ms", 0, max_ms);
  r.output_throughput = f.required("output_throughput", 0, 1e12);
  r.input_lens = f.lengths("input_lens");
  r.output_lens = f.lengths("output_lens");
  if (r.completed < 1 || r.total_input_tokens < 1 || r.total_output_tokens < 1 ||
      r.mean_ttft_ms <= 0)
    throw f.error("no request was completed: nothing was measured");
  if (r.input_lens.size() != r.output_lens.size())
    throw f.error(fmt::format("'input_lens' has {} entries and 'output_lens' {}",
                              r.input_lens.size(), r.output_lens.size()));
  return r;
}

}  // namespace

double BenchResult::mean_input() const {
  return static_cast<double>(total_input_tokens) / static_cast<double>(completed);
}
double BenchResult::mean_output() const {
  return static_cast<double>(total_output_tokens) / static_cast<double>(completed);
}

std::vector<BenchResult> parse_bench_results(const std::string& text, const std::string& file) {
  bool odd = false;  // an infinite request rate
  std::vector<BenchResult> results;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) throw InputError(file + ": is empty", {file, 1, 0});
  // One object a line, when the first line is a whole one and more follows.
  const std::size_t end = text.find('\n', first);
  const bool lines = text[first] == '{' && end != std::string::npos &&
                     text.find_first_not_of(" \t\r\n", end) != std::string::npos &&
                     text.find_last_not_of(" \t\r", end - 1) != std::string::npos &&
                     text[text.find_last_not_of(" \t\r", end - 1)] == '}';
  if (!lines) {
    const json whole = units::parse_json(text, file, max_bytes, odd);
    if (!whole.is_array()) {
      results.push_back(result_of(whole, file, 1));
      return results;
    }
    for (const json& object : whole) results.push_back(result_of(object, file, 1));
    if (results.empty()) throw InputError(file + ": holds no result", {file, 1, 0});
    return results;
  }
  int line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t stop = std::min(text.find('\n', at), text.size());
    const std::string one = text.substr(at, stop - at);
    at = stop + 1;
    if (one.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string what = fmt::format("{}:{}", file, line);
    results.push_back(result_of(units::parse_json(one, what, max_bytes, odd), file, line));
  }
  return results;
}

std::vector<BenchResult> read_bench_results(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + ": cannot be read: does the file exist?", {path, 0, 0});
  std::string text;
  std::vector<char> buffer(1 << 20);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > max_bytes)
      throw InputError(path + ": is larger than 192 MB: no benchmark result", {path, 0, 0});
  }
  return parse_bench_results(text, path);
}

}  // namespace servegrid::workload
