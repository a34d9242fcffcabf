// `servegrid calibrate`: measured kernels -> fit files.
#include <sstream>

#include "calibrate/bench.hpp"
#include "calibrate/calibrate.hpp"
#include "calibrate/serving.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

int calibrate_serving(const Parsed& parsed) {
  calibrate::ServingOptions options;
  options.measured = parsed.text("serving");
  options.gpus = parsed.list("gpu");
  options.output = parsed.text("output");
  options.date = parsed.text("date");
  options.threads = static_cast<unsigned>(parsed.integer("jobs", 1, 1024, 2));
  std::ostringstream out;
  const int code = calibrate::run_calibrate_serving(options, out);
  print(out.str());
  return code;
}

int calibrate_bench(const Parsed& parsed) {
  if (!parsed.has("scenario"))
    throw InputError(
        "--bench needs --scenario FILE: the deployment that was measured (GPU, model, engine, TP); "
        "`servegrid run ... --print-scenario` writes one");
  calibrate::BenchOptions options;
  options.files = parsed.list("bench");
  options.output = parsed.text("output");
  options.date = parsed.text("date");
  options.threads = static_cast<unsigned>(parsed.integer("jobs", 1, 1024, 2));
  catalog::Overrides set;
  for (const auto& item : parsed.list("set")) set.push_back(override_of(item));
  std::ostringstream out;
  const int code = calibrate::run_calibrate_bench(
      options, catalog::read_scenario(parsed.text("scenario"), set), out);
  print(out.str());
  return code;
}

// Each option belongs to some of the three forms.
void check_form(const Parsed& parsed, const std::string& form) {
  const std::vector<std::pair<const char*, std::string>> forms = {
      {"plot", "kernels"},       {"format", "kernels"}, {"gpu", "kernels serving"},
      {"jobs", "serving bench"}, {"scenario", "bench"}, {"set", "bench"}};
  for (const auto& [option, belongs] : forms) {
    if (parsed.has(option) && belongs.find(form) == std::string::npos)
      throw InputError(std::string("--") + option + " does not go with --" + form);
  }
}

}  // namespace

int calibrate_command(const Args& args) {
  Spec spec;
  spec.verb = "calibrate";
  spec.synopsis =
      "--kernels FOLDER | --serving FILE.csv | --bench RESULT.json --scenario FILE [OPTIONS]";
  spec.about =
      "Fits the step model's few physical parameters to measured kernels (a folder with one folder "
      "of\nCSV files a GPU), or the serving costs of each GPU and engine to measured runs, and "
      "prints the\nresiduals; or "
      "two or three numbers of your own machine to results of `vllm bench serve\n--save-result` or "
      "SGLang's bench_serving. The formats are in docs/calibration.md and docs/validation.md.\n";
  spec.examples =
      "  servegrid calibrate --kernels my-kernels\n"
      "  servegrid calibrate --kernels my-kernels --gpu h100-sxm --output hw_profiles/fits\n"
      "  servegrid calibrate --serving runs.csv --gpu h100-sxm --output hw_profiles/fits\n"
      "  servegrid calibrate --bench c8.json --bench c32.json --scenario mine.yaml --output .\n";
  spec.options.add_options()("kernels", po::value<std::string>()->value_name("FOLDER"),
                             "measurements: FOLDER/GPU/ENGINE-VERSION-OPERATOR.csv")(
      "serving", po::value<std::string>()->value_name("FILE"),
      "measured serving runs: fit serving costs, after the kernels")(
      "bench", po::value<std::vector<std::string>>()->composing()->value_name("FILE"),
      "result of your own benchmark (repeatable): fit two or three numbers of your machine")(
      "scenario", po::value<std::string>()->value_name("FILE"),
      "of --bench: scenario with the deployment that was measured; its load is not used")(
      "set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
      "of --bench: override a value of the scenario (repeatable)")(
      "jobs", po::value<std::string>()->value_name("N"),
      "threads of --serving and --bench (default 2; the numbers do not depend on it)")(
      "format", po::value<std::string>()->value_name("NAME"),
      "of --kernels: table (default), or markdown: median errors by GPU and engine")(
      "gpu", po::value<std::vector<std::string>>()->composing()->value_name("NAME"),
      "only this GPU (repeatable); default: every folder")(
      "output", po::value<std::string>()->value_name("FOLDER"),
      "write NAME.yaml there for each GPU (--bench: in its hw_profiles/fits); default: only the "
      "table")("plot", po::value<std::string>()->value_name("FILE"),
               "CSV of predicted against measured")(
      "date", po::value<std::string>()->value_name("YYYY-MM-DD"),
      "date written into the fit files (default: today)");
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 0);
  std::string form;
  for (const char* name : {"kernels", "serving", "bench"}) {
    if (!parsed->has(name)) continue;
    if (!form.empty()) throw InputError("--" + form + " and --" + name + " do not go together");
    form = name;
  }
  if (form.empty())
    throw InputError("calibrate needs --kernels FOLDER, --serving FILE.csv or --bench RESULT.json");
  check_form(*parsed, form);
  if (form == "serving") return calibrate_serving(*parsed);
  if (form == "bench") return calibrate_bench(*parsed);
  calibrate::CalibrateOptions options;
  options.kernels = parsed->text("kernels");
  options.gpus = parsed->list("gpu");
  options.output = parsed->text("output");
  options.plot = parsed->text("plot");
  options.date = parsed->text("date");
  if (parsed->has("format")) options.format = parsed->text("format");
  std::ostringstream out;
  const int code = calibrate::run_calibrate(options, out);
  print(out.str());
  return code;
}

}  // namespace servegrid::cli
