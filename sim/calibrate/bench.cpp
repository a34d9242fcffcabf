#include "calibrate/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "calibrate/calibrate.hpp"
#include "calibrate/files.hpp"
#include "calibrate/least_squares.hpp"
#include "calibrate/serving.hpp"
#include "catalog/catalog.hpp"
#include "units/error.hpp"
#include "validate/fit_serving.hpp"
#include "validate/predict.hpp"

namespace servegrid::calibrate {
namespace {

using catalog::LengthSpec;
using catalog::ServingCosts;
using catalog::WorkloadSpec;
using validate::PreparedRow;
using workload::BenchResult;
using Rows = std::vector<PreparedRow*>;

// What differs between machines with the same GPU: the CPU's share of a step, and everything
// between client and scheduler. The third is told apart from the first by a second load only.
struct Number {
  const char* key;
  const char* what;
  double ServingCosts::*member;
  Bounds bounds;
};
const std::array<Number, 3> numbers{{
    {"h0", "host time a step", &ServingCosts::per_step, {20e-6, 10e-3, true}},
    {"ttft0", "first token, outside the steps", &ServingCosts::first_token, {0.5e-3, 1, true}},
    {"hs", "host time a sequence", &ServingCosts::per_sequence, {0.1e-6, 100e-6, true}},
}};
// Weight of the prior: a factor e costs as much as 2 % of error.
constexpr double prior = 0.02;
constexpr std::size_t results_for_bands = 3;
// Mean error of TPOT [%] (of TTFT: twice that) above which the fit explains nothing.
constexpr double largest_believed = 50;
// Half-width of the interval of a stack fitted to fewer results than that.
constexpr double few_tpot_band = 0.2, few_ttft_band = 0.5;

LengthSpec fixed(double tokens) {
  LengthSpec spec;
  spec.mean = std::max(1.0, std::round(tokens));
  return spec;
}

// The lengths of a detailed file as a log-normal of their mean and spread, cut at the longest.
LengthSpec like(const std::vector<std::int64_t>& lengths) {
  double sum = 0, squares = 0;
  std::int64_t longest = 1;
  for (const auto n : lengths) {
    const auto x = static_cast<double>(std::max<std::int64_t>(1, n));
    sum += x;
    squares += x * x;
    longest = std::max(longest, n);
  }
  const auto n = static_cast<double>(lengths.size());
  const double mean = sum / n, variance = std::max(0.0, squares / n - mean * mean);
  LengthSpec spec = fixed(mean);
  if (variance < 0.25) return spec;
  spec.kind = LengthSpec::Kind::lognormal;
  spec.mean = mean;
  spec.sigma = std::sqrt(std::log1p(variance / (mean * mean)));
  spec.limit = longest;
  return spec;
}

LengthSpec uniform(double given, double ratio) {
  LengthSpec spec = fixed(given);
  if (ratio >= 1) return spec;
  spec.kind = LengthSpec::Kind::uniform;
  spec.low = std::max(1.0, std::floor(ratio * given));
  spec.high = std::max(spec.low, std::round(given));
  return spec;
}

std::string load_text(const BenchResult& r) {
  const std::string lengths = fmt::format("{:.0f}/{:.0f}", r.mean_input(), r.mean_output());
  if (r.request_rate) return fmt::format("{} at {:g}/s", lengths, *r.request_rate);
  return fmt::format("{} x {}", lengths, r.max_concurrency.value_or(r.num_prompts));
}

struct Error {
  double ttft = 0, tpot = 0;  // predicted/measured - 1
};

std::vector<Error> errors_of(const Rows& rows, unsigned threads) {
  std::vector<Error> errors(rows.size());
  validate::for_each_index(rows.size(), threads, [&](std::size_t i) {
    const auto p = validate::predict(*rows[i]);
    if (!p.skip.empty())
      throw InfeasibleError(rows[i]->row.id + ": cannot be simulated: " + p.skip);
    errors[i].ttft = p.ttft_ms / rows[i]->row.ttft_ms - 1;
    errors[i].tpot = rows[i]->row.tpot_ms > 0 ? p.tpot_ms / rows[i]->row.tpot_ms - 1 : 0;
  });
  return errors;
}

void set_costs(const Rows& rows, const ServingCosts& costs) {
  for (PreparedRow* row : rows) row->steps->set_costs(costs);
}

ServingCosts fit(const Rows& rows, const ServingCosts& start, unsigned threads) {
  const std::size_t count = rows.size() > 1 ? numbers.size() : numbers.size() - 1;
  std::vector<Bounds> bounds;
  std::vector<double> first;
  for (std::size_t i = 0; i < count; ++i) {
    bounds.push_back(numbers.at(i).bounds);
    first.push_back(std::clamp(start.*numbers.at(i).member, bounds[i].low, bounds[i].high));
  }
  const auto costs_at = [&](const double* x) {
    ServingCosts costs = start;
    for (std::size_t i = 0; i < count; ++i) costs.*numbers.at(i).member = x[i];
    return costs;
  };
  LeastSquares options;
  options.starts = 2;
  options.evaluations = 60;
  const auto best = least_squares(
      bounds, first, 2 * rows.size() + count,
      [&](const double* x, double* out) {
        set_costs(rows, costs_at(x));
        const auto errors = errors_of(rows, threads);
        for (std::size_t i = 0; i < errors.size(); ++i) {
          out[2 * i] = std::log1p(errors[i].tpot);
          out[2 * i + 1] = 0.5 * std::log1p(errors[i].ttft);
        }
        for (std::size_t i = 0; i < count; ++i)
          out[2 * errors.size() + i] = prior * std::log(x[i] / first[i]);
      },
      options);
  ServingCosts costs = costs_at(best.data());
  for (std::size_t i = 0; i < count; ++i)  // as the file will hold them
    costs.*numbers.at(i).member = std::stod(fmt::format("{:.3g}", costs.*numbers.at(i).member));
  costs.origin = "fitted";
  return costs;
}

// What each result is predicted to be from the others.
std::vector<Error> left_out(const Rows& rows, const ServingCosts& start, unsigned threads) {
  std::vector<Error> errors;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Rows others = rows;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const ServingCosts costs = fit(others, start, threads);
    set_costs({rows[i]}, costs);
    errors.push_back(errors_of({rows[i]}, 1).front());
  }
  return errors;
}

double mean_abs(const std::vector<Error>& errors, double Error::*member) {
  double sum = 0;
  for (const auto& e : errors) sum += std::fabs(e.*member);
  return 100 * sum / static_cast<double>(errors.size());
}

double largest(const std::vector<Error>& errors, double Error::*member) {
  double most = 0;
  for (const auto& e : errors) most = std::max(most, std::fabs(e.*member));
  return most;
}

PreparedRow prepare(const BenchResult& r, const catalog::Scenario& deployment,
                    const catalog::Catalog& catalog) {
  PreparedRow p;
  p.row.id = r.line > 1 ? fmt::format("{}:{}", r.file, r.line) : r.file;
  p.row.ttft_ms = r.mean_ttft_ms;
  p.row.tpot_ms = r.mean_tpot_ms;
  p.row.isl = std::llround(r.mean_input());
  p.row.osl = std::llround(r.mean_output());
  p.row.concurrency = r.max_concurrency.value_or(r.num_prompts);
  p.scenario = deployment;
  p.scenario.workload = workload_of(r);
  p.gpu_key = deployment.gpu.name;
  p.engine_key = deployment.engine.engine;
  validate::compile(p, catalog);
  if (!p.skip.empty()) throw InfeasibleError(p.row.id + ": " + p.skip);
  return p;
}

void check_model(const BenchResult& r, const catalog::Scenario& deployment,
                 const catalog::Catalog& catalog, std::ostream& out) {
  if (r.model.empty()) return;
  std::string name;
  try {
    name = catalog.model(r.model).name;
  } catch (const InputError&) {
    out << fmt::format("{}: model '{}' is not in the catalogue; taken to be {}\n", r.file, r.model,
                       deployment.model.name);
    return;
  }
  if (name != deployment.model.name)
    throw InputError(fmt::format("{}:{}: measured {}, the scenario has {}: give the scenario of "
                                 "the deployment that was measured",
                                 r.file, r.line, name, deployment.model.name),
                     {r.file, r.line, 0});
}

void print_errors(std::ostream& out, const std::vector<BenchResult>& results,
                  const std::vector<Error>& before, const std::vector<Error>& after,
                  const std::vector<Error>& without) {
  out << fmt::format("{:<34} {:>26}    {:>26}\n", "", "TTFT, error in %", "TPOT, error in %");
  out << fmt::format("{:<34} {:>10} {:>7} {:>7}    {:>10} {:>7} {:>7}\n", "load", "measured",
                     "before", "after", "measured", "before", "after");
  for (std::size_t i = 0; i < results.size(); ++i) {
    out << fmt::format(
        "{:<34} {:>7.1f} ms {:>+7.1f} {:>+7.1f}    {:>7.2f} ms {:>+7.1f} {:>+7.1f}\n",
        load_text(results[i]), results[i].mean_ttft_ms, 100 * before[i].ttft, 100 * after[i].ttft,
        results[i].mean_tpot_ms, 100 * before[i].tpot, 100 * after[i].tpot);
  }
  const auto line = [&](const char* name, const std::vector<Error>& b,
                        const std::vector<Error>& a) {
    out << fmt::format("{:<34} {:>10} {:>7.1f} {:>7.1f}    {:>10} {:>7.1f} {:>7.1f}\n", name, "",
                       mean_abs(b, &Error::ttft), mean_abs(a, &Error::ttft), "",
                       mean_abs(b, &Error::tpot), mean_abs(a, &Error::tpot));
  };
  line("mean, without sign", before, after);
  if (!without.empty()) line("  each predicted from the others", before, without);
}

void print_numbers(std::ostream& out, const ServingCosts& before, const ServingCosts& after,
                   std::size_t count) {
  out << fmt::format("\n{} fitted numbers\n", count);
  for (std::size_t i = 0; i < count; ++i) {
    const Number& n = numbers.at(i);
    const double x = after.*n.member;
    const bool bound = x < 1.02 * n.bounds.low || x > 0.98 * n.bounds.high;
    out << fmt::format("  {:<6} {:<32} {:>9.1f} -> {:>9.1f} us{}\n", n.key, n.what,
                       1e6 * before.*n.member, 1e6 * x,
                       bound ? "  at its bound: something else differs" : "");
  }
}

std::string fit_file_of(const catalog::Scenario& s, const catalog::Catalog& catalog,
                        std::string& name) {
  name = !s.gpu.fits.empty() ? s.gpu.fits : s.gpu.inherits_fits_from;
  if (name.empty()) name = s.gpu.name;
  return catalog.find_file("hw_profiles/fits", name);
}

}  // namespace

WorkloadSpec workload_of(const BenchResult& r) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("{}:{}: {}", r.file, r.line, why), {r.file, r.line, 0});
  };
  WorkloadSpec w;
  w.requests = r.num_prompts;
  if (r.request_rate) {
    if (r.max_concurrency && *r.max_concurrency < r.num_prompts)
      refuse("has a request rate and a concurrency limit: measure with one of them");
    if (std::fabs(r.burstiness - 1) > 1e-9) refuse("burstiness other than 1 cannot be fitted");
    w.kind = WorkloadSpec::Kind::open;
    w.rate = *r.request_rate;
  } else {
    w.kind = WorkloadSpec::Kind::closed;
    w.concurrent = std::min(r.num_prompts, r.max_concurrency.value_or(r.num_prompts));
  }
  if (!r.input_lens.empty()) {
    w.prompt = like(r.input_lens);
    w.output = like(r.output_lens);
  } else if (r.range_ratio && r.given_input && r.given_output) {
    w.prompt = uniform(*r.given_input, *r.range_ratio);
    w.output = uniform(*r.given_output, *r.range_ratio);
  } else {
    w.prompt = fixed(r.mean_input());
    w.output = fixed(r.mean_output());
  }
  return w;
}

int run_calibrate_bench(const BenchOptions& options, const catalog::Scenario& deployment,
                        std::ostream& out) {
  const catalog::Catalog catalog(
      deployment.file.find('/') == std::string::npos
          ? std::string()
          : deployment.file.substr(0, deployment.file.find_last_of('/')));
  std::vector<BenchResult> results;
  for (const auto& file : options.files) {
    for (auto& r : workload::read_bench_results(file)) results.push_back(std::move(r));
  }
  std::vector<PreparedRow> prepared;
  prepared.reserve(results.size());
  for (const auto& r : results) {
    check_model(r, deployment, catalog, out);
    prepared.push_back(prepare(r, deployment, catalog));
  }
  Rows rows;
  for (auto& p : prepared) rows.push_back(&p);

  const ServingCosts start = rows.front()->steps->costs();
  const auto before = errors_of(rows, options.threads);
  std::vector<Error> without;
  if (rows.size() >= results_for_bands) without = left_out(rows, start, options.threads);
  ServingCosts costs = fit(rows, start, options.threads);
  set_costs(rows, costs);
  const auto after = errors_of(rows, options.threads);
  const bool enough = !without.empty();
  costs.tpot_band = enough ? std::max(0.05, largest(without, &Error::tpot)) : few_tpot_band;
  costs.ttft_band = enough ? std::max(0.05, largest(without, &Error::ttft)) : few_ttft_band;

  out << fmt::format("{} in {} on {}, {}: {} result{}\n\n", deployment.model.name,
                     catalog::name(deployment.weights), deployment.gpu.name, deployment.engine.name,
                     results.size(), results.size() > 1 ? "s" : "");
  print_errors(out, results, before, after, without);
  print_numbers(out, start, costs, rows.size() > 1 ? numbers.size() : numbers.size() - 1);
  if (!enough)
    out << "Fewer than three results: how well this predicts another load is not known.\n";
  if (mean_abs(after, &Error::tpot) > largest_believed ||
      mean_abs(after, &Error::ttft) > 2 * largest_believed) {
    out << "What was measured is not this deployment: no host time explains it. Check model, GPU, "
           "TP, formats and units; nothing is written.\n";
    return static_cast<int>(Exit::bad_input);
  }
  if (options.output.empty()) return static_cast<int>(Exit::done);

  const std::string date = options.date.empty() ? today() : options.date;
  ServingLine line;
  line.engine = deployment.engine.engine;
  line.rows = rows.size();
  line.models = {"own-" + deployment.model.name};
  line.costs = costs;
  std::string name;
  const std::string source = fit_file_of(deployment, catalog, name);
  if (name != deployment.gpu.name && name != deployment.gpu.fits) line.gpu = deployment.gpu.name;
  const std::string old = source.empty() ? "" : read_text(source);
  const std::string path = options.output + "/hw_profiles/fits/" + name + ".yaml";
  write_text(path,
             with_serving(old.empty() ? fit_file_text(base_of(deployment.gpu), {}, date, "") : old,
                          {line}, date));
  out << "wrote " << path << ": used by scenarios in " << options.output
      << " and, with SERVEGRID_DATA=" << options.output << ", everywhere\n";
  return static_cast<int>(Exit::done);
}

}  // namespace servegrid::calibrate
