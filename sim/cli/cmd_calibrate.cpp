// `servegrid calibrate`: measured kernels -> fit files.
#include <sstream>

#include "calibrate/calibrate.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

int calibrate_command(const Args& args) {
  Spec spec;
  spec.verb = "calibrate";
  spec.synopsis = "--kernels FOLDER [OPTIONS]";
  spec.about =
      "Fits the step model's few physical parameters to measured kernels (a folder with one folder "
      "of\nCSV files a GPU) and prints the residuals. The format is in docs/data-files.md and "
      "docs/step-model.md.\n";
  spec.examples =
      "  servegrid calibrate --kernels my-kernels\n"
      "  servegrid calibrate --kernels my-kernels --gpu h100-sxm --output hw_profiles/fits\n";
  spec.options.add_options()("kernels", po::value<std::string>()->value_name("FOLDER"),
                             "measurements: FOLDER/GPU/ENGINE-VERSION-OPERATOR.csv")(
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
  if (!parsed->has("kernels")) throw InputError("calibrate needs --kernels FOLDER");
  calibrate::CalibrateOptions options;
  options.kernels = parsed->text("kernels");
  options.gpus = parsed->list("gpu");
  options.output = parsed->text("output");
  options.plot = parsed->text("plot");
  options.date = parsed->text("date");
  std::ostringstream out;
  const int code = calibrate::run_calibrate(options, out);
  print(out.str());
  return code;
}

}  // namespace servegrid::cli
