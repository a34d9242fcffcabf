// Lengths in tokens: fixed, drawn from a distribution, or measured.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "catalog/load.hpp"
#include "catalog/names.hpp"
#include "catalog/workload_load.hpp"
#include "units/csv.hpp"

namespace servegrid::catalog {

using units::Dimension;

namespace {

constexpr std::size_t max_samples = 5'000'000;

constexpr const char* kinds =
    "a length is '512 tokens' or one of {uniform: [a, b]}, {range_ratio: {mean, ratio}}, {normal: "
    "{mean, sigma}}, {lognormal: {mean, sigma}}, {zipf: {low, high, exponent}}, {histogram: [[low, "
    "high, weight], ..]}, {csv: {file, column}}";

void load_uniform(const Value& v, double low, LengthSpec& spec) {
  const std::vector<Value> ends = v.items();
  if (ends.size() != 2) throw v.error("expected two lengths, [200 tokens, 400 tokens]");
  spec.kind = LengthSpec::Kind::uniform;
  spec.low = static_cast<double>(whole_tokens(ends[0], low));
  spec.high = static_cast<double>(whole_tokens(ends[1], low));
  if (spec.high < spec.low) throw ends[1].error("the second length is below the first");
  spec.mean = (spec.low + spec.high) / 2;
}

// As --random-range-ratio of vllm bench serve: uniform from mean (1 - ratio) to mean (1 + ratio).
void load_range_ratio(const Value& v, LengthSpec& spec) {
  const double mean = v.at("mean").quantity(Dimension::tokens, 1, max_tokens / 2);
  const double ratio = v.at("ratio").quantity(Dimension::ratio, 0, 0.999);
  v.no_unknown_keys();
  spec.kind = LengthSpec::Kind::uniform;
  spec.low = std::max(1.0, std::floor(mean * (1 - ratio)));
  spec.high = std::ceil(mean * (1 + ratio));
  spec.mean = (spec.low + spec.high) / 2;
}

void load_limit(const Value& v, LengthSpec& spec) {
  if (const Value x = v.find("limit"); x.present()) spec.limit = whole_tokens(x, 1);
  v.no_unknown_keys();
}

void load_normal(const Value& v, double low, bool log, LengthSpec& spec) {
  spec.kind = log ? LengthSpec::Kind::lognormal : LengthSpec::Kind::normal;
  spec.mean = v.at("mean").quantity(Dimension::tokens, std::max(low, 1.0), max_tokens);
  const Value sigma = v.at("sigma");
  spec.sigma = log ? sigma.number(0, 10) : sigma.quantity(Dimension::tokens, 0, max_tokens);
  load_limit(v, spec);
}

void load_zipf(const Value& v, LengthSpec& spec) {
  constexpr double most = 1e6;  // a table of that many weights
  spec.kind = LengthSpec::Kind::zipf;
  spec.low = static_cast<double>(whole_tokens(v.at("low"), 1));
  const Value high = v.at("high");
  spec.high = static_cast<double>(whole_tokens(high, 1));
  if (spec.high < spec.low) throw high.error("'high' is below 'low'");
  if (spec.high - spec.low >= most) throw high.error("more than 1,000,000 different lengths");
  spec.exponent = v.at("exponent").number(0, 20);
  v.no_unknown_keys();
  double sum = 0, weighted = 0;
  for (double k = 1; k <= spec.high - spec.low + 1; ++k) {
    const double p = std::pow(k, -spec.exponent);
    sum += p;
    weighted += p * (spec.low + k - 1);
  }
  spec.mean = weighted / sum;
}

void set_mean_of_bins(LengthSpec& spec) {
  double sum = 0, weighted = 0;
  for (const LengthSpec::Bin& b : spec.bins) {
    sum += b.weight;
    weighted += b.weight * (b.low + b.high) / 2;
  }
  spec.mean = weighted / sum;
}

void load_histogram(const Value& v, double low, LengthSpec& spec) {
  spec.kind = LengthSpec::Kind::empirical;
  double sum = 0;
  for (const Value& bin : v.items()) {
    const std::vector<Value> parts = bin.items();
    if (parts.size() != 3) throw bin.error("expected [low, high, weight], both ends included");
    LengthSpec::Bin b{static_cast<double>(whole_tokens(parts[0], low)),
                      static_cast<double>(whole_tokens(parts[1], low)), parts[2].number(0, 1e15)};
    if (b.high < b.low) throw parts[1].error("the bin ends before it begins");
    sum += b.weight;
    spec.bins.push_back(b);
  }
  if (!(sum > 0)) throw v.error("needs at least one bin with a weight above 0");
  set_mean_of_bins(spec);
}

std::int64_t tokens_in(const units::CsvReader& csv, const std::string& column) {
  const double value = csv.number(column, 1, max_tokens);
  if (value != std::floor(value)) {
    throw csv.error("column '" + column + "': expected a whole number of tokens");
  }
  return static_cast<std::int64_t>(value);
}

template <typename Row>
void each_row(const std::string& path, const Row& row) {
  std::ifstream in(path);
  if (!in) throw InputError(path + ": cannot open it", {path, 0, 0});
  units::CsvReader csv(in, path);
  std::size_t rows = 0;
  while (csv.next()) {
    if (++rows > max_samples) throw csv.error("has more than 5,000,000 rows: thin them out");
    row(csv);
  }
  if (rows == 0) throw csv.error("ends with no row: expected at least one length");
}

void load_csv(const Value& v, const std::string& beside, LengthSpec& spec) {
  spec.kind = LengthSpec::Kind::empirical;
  spec.file = data_path(v.at("file"), beside);
  spec.column = word(v.at("column"));
  v.no_unknown_keys();
  std::map<std::int64_t, std::int64_t> counts;
  each_row(spec.file, [&](const units::CsvReader& csv) { ++counts[tokens_in(csv, spec.column)]; });
  for (const auto& [tokens, count] : counts) {
    const auto value = static_cast<double>(tokens);
    spec.bins.push_back({value, value, static_cast<double>(count)});
  }
  set_mean_of_bins(spec);
}

}  // namespace

std::int64_t whole_tokens(const Value& v, double low) {
  const double n = v.quantity(Dimension::tokens, low, max_tokens);
  if (n != std::floor(n)) throw v.error("must be a whole number of tokens");
  return static_cast<std::int64_t>(n);
}

std::string data_path(const Value& file, const std::string& beside) {
  const std::string name = word(file);
  std::string path =
      name.front() == '/' || beside.empty() || beside == "." ? name : beside + "/" + name;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    throw file.error("there is no file '" + path + "' (paths start at the scenario's folder)");
  }
  return path;
}

LengthSpec load_length(const Value& v, double low, const std::string& beside) {
  LengthSpec spec;
  if (!v.is_map()) {
    spec.mean = static_cast<double>(whole_tokens(v, low));
    return spec;
  }
  constexpr std::array<const char*, 7> names = {"uniform", "range_ratio", "normal", "lognormal",
                                                "zipf",    "histogram",   "csv"};
  std::string kind;
  for (const char* name : names) {
    if (!v.find(name).present()) continue;
    if (!kind.empty()) throw v.error(kinds);
    kind = name;
  }
  v.no_unknown_keys();
  if (kind.empty()) throw v.error(kinds);
  const Value how = v.find(kind);
  if (kind == "uniform") load_uniform(how, low, spec);
  if (kind == "range_ratio") load_range_ratio(how, spec);
  if (kind == "normal") load_normal(how, low, false, spec);
  if (kind == "lognormal") load_normal(how, low, true, spec);
  if (kind == "zipf") load_zipf(how, spec);
  if (kind == "histogram") load_histogram(how, low, spec);
  if (kind == "csv") load_csv(how, beside, spec);
  return spec;
}

void load_pairs(const Value& v, RequestSpec& r, const std::string& beside) {
  r.pairs_file = data_path(v.at("csv"), beside);
  r.pairs_prompt = word(v.at("prompt"));
  r.pairs_output = word(v.at("output"));
  v.no_unknown_keys();
  auto pairs = std::make_shared<std::vector<std::pair<std::int64_t, std::int64_t>>>();
  double prompt = 0, output = 0;
  each_row(r.pairs_file, [&](const units::CsvReader& csv) {
    pairs->emplace_back(tokens_in(csv, r.pairs_prompt), tokens_in(csv, r.pairs_output));
    prompt += static_cast<double>(pairs->back().first);
    output += static_cast<double>(pairs->back().second);
  });
  r.prompt.mean = prompt / static_cast<double>(pairs->size());
  r.output.mean = output / static_cast<double>(pairs->size());
  r.pairs = std::move(pairs);
}

}  // namespace servegrid::catalog
