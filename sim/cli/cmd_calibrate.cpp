// `servegrid calibrate`: measured kernels -> fit files.
#include <sstream>

#include "calibrate/calibrate.hpp"
#include "calibrate/serving.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

int calibrate_serving(const Parsed& parsed) {
  for (const char* other : {"plot", "format"}) {
    if (parsed.has(other)) throw InputError(std::string("--") + other + " belongs to --kernels");
  }
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

}  // namespace

int calibrate_command(const Args& args) {
  Spec spec;
  spec.verb = "calibrate";
  spec.synopsis = "--kernels FOLDER | --serving FILE.csv [OPTIONS]";
  spec.about =
      "Fits the step model's few physical parameters to measured kernels (a folder with one folder "
      "of\nCSV files a GPU), or the serving costs of each GPU and engine to measured runs, and "
      "prints "
      "the\nresiduals. The formats are in docs/calibration.md and docs/validation.md.\n";
  spec.examples =
      "  servegrid calibrate --kernels my-kernels\n"
      "  servegrid calibrate --kernels my-kernels --gpu h100-sxm --output hw_profiles/fits\n"
      "  servegrid calibrate --serving runs.csv --gpu h100-sxm --output hw_profiles/fits\n";
  spec.options.add_options()("kernels", po::value<std::string>()->value_name("FOLDER"),
                             "measurements: FOLDER/GPU/ENGINE-VERSION-OPERATOR.csv")(
      "serving", po::value<std::string>()->value_name("FILE"),
      "measured serving runs: fit serving costs, after the kernels")(
      "jobs", po::value<std::string>()->value_name("N"),
      "threads of --serving (default 2; the numbers do not depend on it)")(
      "format", po::value<std::string>()->value_name("NAME"),
      "of --kernels: table (default), or markdown: median errors by GPU and engine")(
      "gpu", po::value<std::vector<std::string>>()->composing()->value_name("NAME"),
      "only this GPU (repeatable); default: every folder")(
      "output", po::value<std::string>()->value_name("FOLDER"),
      "write NAME.yaml there for each GPU; default: only the table")(
      "plot", po::value<std::string>()->value_name("FILE"), "CSV of predicted against measured")(
      "date", po::value<std::string>()->value_name("YYYY-MM-DD"),
      "date written into the fit files (default: today)");
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 0);
  if (parsed->has("kernels") == parsed->has("serving")) {
    throw InputError("calibrate needs either --kernels FOLDER or --serving FILE.csv");
  }
  if (parsed->has("serving")) return calibrate_serving(*parsed);
  if (parsed->has("jobs")) throw InputError("--jobs belongs to --serving");
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
