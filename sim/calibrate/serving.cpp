#include "calibrate/serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <set>

#include "calibrate/files.hpp"
#include "catalog/catalog.hpp"
#include "units/error.hpp"
#include "validate/fit_serving.hpp"
#include "validate/predict.hpp"

namespace servegrid::calibrate {
namespace {

using validate::PreparedRow;
using Rows = std::vector<PreparedRow*>;

// Bands of a stack with one model: nothing was left out, so in-sample errors are widened. The
// factor is what leaving a model out did to the 90th percentile in the fidelity study (1.5).
constexpr double single_model_widening = 1.5;
// A band below this would claim more than repeated measurements agree on.
constexpr double smallest_band = 0.05;
// A 90th percentile of fewer runs says little: the default band stays.
constexpr std::size_t fewest_for_a_band = 10;

struct Errors {
  std::vector<double> tpot, ttft, queued_ttft;  // |predicted/measured - 1|
};

void add_errors(const Rows& rows, const std::string& only_model, unsigned threads, Errors& errors) {
  std::vector<validate::Prediction> predictions(rows.size());
  const auto wanted = [&](const PreparedRow& row) {
    return only_model.empty() || row.scenario.model.name == only_model;
  };
  validate::for_each_index(rows.size(), threads, [&](std::size_t i) {
    if (wanted(*rows[i])) predictions[i] = validate::predict(*rows[i]);
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& p = predictions[i];
    const auto& m = rows[i]->row;
    if (!wanted(*rows[i]) || !p.skip.empty()) continue;
    if (m.tpot_ms > 0) errors.tpot.push_back(std::fabs(p.tpot_ms / m.tpot_ms - 1));
    // Runs that queue for KV memory are judged apart: a small error of capacity moves them by far.
    if (m.ttft_ms > 0)
      (p.queues ? errors.queued_ttft : errors.ttft).push_back(std::fabs(p.ttft_ms / m.ttft_ms - 1));
  }
}

void set_costs(const Rows& rows, const catalog::ServingCosts& costs) {
  for (PreparedRow* row : rows) row->steps->set_costs(costs);
}

std::vector<std::string> models_of(const Rows& rows) {
  std::set<std::string> models;
  for (const PreparedRow* row : rows) models.insert(row->scenario.model.name);
  return {models.begin(), models.end()};
}

// From what the fit file holds, else from the defaults, around which the prior is either way.
catalog::ServingCosts fit_stack(const Rows& rows, unsigned threads) {
  catalog::ServingCosts start;
  if (rows.front()->steps->costs().origin == "fitted") start = rows.front()->steps->costs();
  validate::FitOptions options;
  options.threads = threads;
  return validate::fit_serving(rows, start, options).costs;
}

void set_bands(const Rows& rows, const std::vector<std::string>& models, unsigned threads,
               const Errors& in_sample, catalog::ServingCosts& costs) {
  Errors errors = in_sample;
  double widening = single_model_widening;
  if (models.size() > 1) {
    errors = {};
    widening = 1;
    for (const std::string& model : models) {
      validate::FitOptions options;
      options.threads = threads;
      options.iterations = validate::left_out_iterations;
      options.leave_out_model = model;
      validate::fit_serving(rows, catalog::ServingCosts{}, options);
      add_errors(rows, model, threads, errors);
    }
  }
  costs.tpot_band = std::max(smallest_band, widening * statistics(errors.tpot).p90);
  costs.ttft_band = std::max(smallest_band, widening * statistics(errors.ttft).p90);
  if (errors.queued_ttft.size() >= fewest_for_a_band) {
    costs.ttft_queued_band =
        std::max(costs.ttft_band, widening * statistics(errors.queued_ttft).p90);
  } else {
    costs.ttft_queued_band = std::max(costs.ttft_queued_band, costs.ttft_band);
  }
}

// The numbers as the file will hold them, so that the errors printed are theirs.
catalog::ServingCosts rounded(catalog::ServingCosts c) {
  for (double* x :
       {&c.alpha, &c.group_per_layer, &c.per_step, &c.per_sequence, &c.prefill_per_layer,
        &c.prefill_factor, &c.first_token, &c.routing_skew, &c.first_token_steps}) {
    *x = std::stod(fmt::format("{:.3g}", *x));
  }
  return c;
}

std::string micros(double seconds) {
  return fmt::format("{:.3g} us", 1e6 * seconds);
}

// What tells a line of the section from the others.
std::string line_start(const ServingLine& line) {
  const std::string gpu = line.gpu.empty() ? "" : fmt::format(" gpu: {},", line.gpu);
  return fmt::format("  - {{engine: {},{}", line.engine, gpu);
}

std::string summary(const std::string& gpu, const ServingLine& l, const Errors& e) {
  const ErrorStatistics tpot = statistics(e.tpot), ttft = statistics(e.ttft);
  const catalog::ServingCosts& c = l.costs;
  return fmt::format(
      "{:<14} {:<7} {:>5}  TPOT {:>5.1f} {:>5.1f} {:>5.1f}  TTFT {:>5.1f} {:>5.1f} {:>5.1f}  alpha "
      "{:.3g}, a_n {}, h0 {}, hs {}, tlp {}, pf {:.3g}, ttft0 {}, s {:.3g}, r {:.3g}\n",
      gpu, l.engine, l.rows, 100 * tpot.median, 100 * tpot.mean, 100 * tpot.p90, 100 * ttft.median,
      100 * ttft.mean, 100 * ttft.p90, c.alpha, micros(c.group_per_layer), micros(c.per_step),
      micros(c.per_sequence), micros(c.prefill_per_layer), c.prefill_factor, micros(c.first_token),
      c.routing_skew, c.first_token_steps);
}

}  // namespace

std::string serving_line_text(const ServingLine& line, const std::string& date) {
  const catalog::ServingCosts& c = line.costs;
  return fmt::format(
      "{} rows: {}, alpha: {:.3g}, a_n: {}, h0: {}, hs: {}, tlp: {}, pf: {:.3g}, "
      "ttft0: {:.3g} ms, s: {:.3g}, r: {:.3g}, origin: fitted, data: {}, date: {}, tpot_band: "
      "{:.3f}, ttft_band: {:.3f}, ttft_queued_band: {:.3f}}}\n",
      line_start(line), line.rows, c.alpha, micros(c.group_per_layer), micros(c.per_step),
      micros(c.per_sequence), micros(c.prefill_per_layer), c.prefill_factor, 1e3 * c.first_token,
      c.routing_skew, c.first_token_steps, fmt::join(line.models, "+"), date, c.tpot_band,
      c.ttft_band, c.ttft_queued_band);
}

std::string with_serving(const std::string& text, const std::vector<ServingLine>& lines,
                         const std::string& date) {
  const std::string old = serving_section(text);
  std::string kept;
  for (std::size_t at = old.find('\n'); at != std::string::npos && at + 1 < old.size();) {
    const std::size_t end = old.find('\n', at + 1);
    const std::string line = old.substr(at + 1, end - at);
    const bool replaced = std::any_of(lines.begin(), lines.end(), [&](const ServingLine& l) {
      return line.rfind(line_start(l) + " rows:", 0) == 0;
    });
    if (!replaced) kept += line;
    at = end;
  }
  std::string out = text;
  if (!old.empty()) out.erase(out.find(old.substr(0, old.size() - 1)), old.size());
  if (!out.empty() && out.back() != '\n') out += '\n';
  out += "serving:\n" + kept;
  for (const ServingLine& line : lines) out += serving_line_text(line, date);
  return out;
}

int run_calibrate_serving(const ServingOptions& options, std::ostream& out) {
  const catalog::Catalog catalog;
  const std::string date = options.date.empty() ? today() : options.date;
  validate::Preparer preparer;
  std::vector<PreparedRow> prepared;
  for (const auto& row : validate::read_measured(options.measured)) {
    prepared.push_back(preparer.prepare(row));
  }
  std::set<std::string> wanted;
  for (const std::string& gpu : options.gpus) wanted.insert(catalog.gpu(gpu).name);
  std::map<std::string, std::map<std::string, Rows>> stacks;  // GPU -> engine
  for (PreparedRow& row : prepared) {
    if (row.skip.empty() && (wanted.empty() || wanted.count(row.gpu_key) > 0)) {
      stacks[row.gpu_key][row.engine_key].push_back(&row);
    }
  }
  if (stacks.empty()) throw InputError(options.measured + " has no run that can be fitted");
  out << "median, mean and 90th percentile of |predicted/measured - 1| in %\n";
  for (const auto& [gpu, engines] : stacks) {
    std::vector<ServingLine> lines;
    for (const auto& [engine, rows] : engines) {
      ServingLine line{engine, "", rows.size(), models_of(rows),
                       rounded(fit_stack(rows, options.threads))};
      set_costs(rows, line.costs);
      Errors errors;
      add_errors(rows, "", options.threads, errors);
      if (options.bands) set_bands(rows, line.models, options.threads, errors, line.costs);
      set_costs(rows, line.costs);
      out << summary(gpu, line, errors);
      lines.push_back(std::move(line));
    }
    if (options.output.empty()) continue;
    // A GPU without a file of its own stands in its relative's, whose kernels it was fitted with.
    const catalog::Gpu profile = catalog.gpu(gpu);
    const bool own = !profile.fits.empty() || profile.inherits_fits_from.empty();
    const GpuBase base = base_of(own ? profile : catalog.gpu(profile.inherits_fits_from));
    for (ServingLine& line : lines) line.gpu = own ? "" : profile.name;
    const std::string path = options.output + "/" + base.name + ".yaml";
    const std::string old = read_text(path);
    write_text(path,
               with_serving(old.empty() ? fit_file_text(base, {}, date, "") : old, lines, date));
    out << "wrote " << path << "\n";
  }
  return static_cast<int>(Exit::done);
}

}  // namespace servegrid::calibrate
