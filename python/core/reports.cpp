// Calibration and validation, each in a child, as text.
#include <sstream>

#include "calibrate/bench.hpp"
#include "calibrate/calibrate.hpp"
#include "calibrate/serving.hpp"
#include "core.hpp"
#include "study/compare.hpp"
#include "units/error.hpp"
#include "validate/validate.hpp"
#include "worker.hpp"

namespace servegrid::python {

namespace {

std::string calibrate_kernels(const std::string& folder, const std::vector<std::string>& gpus,
                              const std::string& output, const std::string& date) {
  const auto job = [&] {
    calibrate::CalibrateOptions options;
    options.kernels = folder;
    options.gpus = gpus;
    options.output = output;
    options.date = date;
    std::ostringstream out;
    calibrate::run_calibrate(options, out);
    return out.str();
  };
  return run_in_worker(job, nullptr, false).bytes;
}

std::string calibrate_serving(const std::string& measured, const std::vector<std::string>& gpus,
                              const std::string& output, const std::string& date,
                              unsigned threads) {
  const auto job = [&] {
    calibrate::ServingOptions options;
    options.measured = measured;
    options.gpus = gpus;
    options.output = output;
    options.date = date;
    options.threads = threads;
    std::ostringstream out;
    calibrate::run_calibrate_serving(options, out);
    return out.str();
  };
  return run_in_worker(job, nullptr, false).bytes;
}

std::string calibrate_bench(const std::vector<std::string>& files,
                            const catalog::Scenario& scenario, const std::string& output,
                            const std::string& date, unsigned threads) {
  const auto job = [&] {
    calibrate::BenchOptions options;
    options.files = files;
    options.output = output;
    options.date = date;
    options.threads = threads;
    std::ostringstream out;
    calibrate::run_calibrate_bench(options, scenario, out);
    return out.str();
  };
  return run_in_worker(job, nullptr, false).bytes;
}

validate::Knowledge knowledge_of(const std::string& left_out) {
  if (left_out == "gpu") return validate::Knowledge::relative;
  if (left_out == "kernels") return validate::Knowledge::data_sheet;
  if (left_out.empty() || left_out == "model") return validate::Knowledge::own;
  throw InputError("leave_out is one of model, gpu, kernels; not '" + left_out + "'");
}

/// JSON, table and one line a row as CSV.
std::vector<std::string> validate_runs(const std::string& measured, const std::string& leave_out,
                                       double tpot_limit_ms, unsigned threads) {
  const auto job = [&] {
    validate::ValidateOptions options;
    options.measured = measured;
    options.leave_out_models = leave_out == "model";
    options.knowledge = knowledge_of(leave_out);
    options.tpot_limit_ms = tpot_limit_ms;
    options.threads = threads;
    const validate::Report report = validate::validate(options);
    return validate::to_json(report) + '\0' + validate::to_table(report) + '\0' +
           validate::rows_csv(report);
  };
  const std::string all = run_in_worker(job, nullptr, false).bytes;
  std::vector<std::string> parts(1);
  for (const char c : all) {
    if (c == '\0')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// The sentences of `servegrid compare` and the cost of each set-up, from points as JSON.
py::dict set_ups(const std::vector<std::string>& points) {
  std::vector<study::Point> read;
  for (const auto& text : points) read.push_back(study::from_text(text));
  const catalog::Catalog catalog;
  const auto all = study::set_ups_of(read, catalog);
  py::list rows;
  for (const auto& s : all) {
    py::list costs;
    for (const auto& c : s.costs) {
      py::dict cost;
      cost["sheet"] = c.sheet;
      cost["currency"] = c.currency;
      cost["per_month"] = c.per_month;
      cost["sold"] = c.sold;
      cost["sold_per_month"] = c.sold_per_month;
      cost["per_million_tokens"] = c.per_million_tokens;
      costs.append(cost);
    }
    py::dict row;
    row["name"] = s.name;
    row["gpu"] = s.gpu;
    row["gpus"] = s.gpus;
    row["resident"] = s.resident;
    row["best_tokens_per_second"] = s.best_tokens_per_second;
    row["best_users"] = s.best_users;
    row["costs"] = costs;
    rows.append(row);
  }
  const auto slo = read.empty() ? std::optional<double>() : read.front().slo_tpot;
  py::dict out;
  out["set_ups"] = rows;
  out["headline"] = study::headline(all, slo);
  return out;
}

}  // namespace

void bind_reports(py::module_& m) {
  m.def("calibrate_kernels", &calibrate_kernels, py::arg("folder"), py::arg("gpus"),
        py::arg("output"), py::arg("date"));
  m.def("calibrate_serving", &calibrate_serving, py::arg("measured"), py::arg("gpus"),
        py::arg("output"), py::arg("date"), py::arg("threads"));
  m.def("calibrate_bench", &calibrate_bench, py::arg("files"), py::arg("scenario"),
        py::arg("output"), py::arg("date"), py::arg("threads"));
  m.def("validate_runs", &validate_runs, py::arg("measured"), py::arg("leave_out"),
        py::arg("tpot_limit_ms"), py::arg("threads"));
  m.def("set_ups", &set_ups, py::arg("points"));
}

}  // namespace servegrid::python
