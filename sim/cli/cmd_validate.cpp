// `servegrid validate`: predicted against measured serving runs.
#include <thread>

#include "cli/console.hpp"
#include "cli/options.hpp"
#include "metrics/atomic_write.hpp"
#include "units/error.hpp"
#include "validate/disaggregated.hpp"
#include "validate/validate.hpp"

namespace servegrid::cli {

int validate_command(const Args& args) {
  Spec spec;
  spec.verb = "validate";
  spec.synopsis = "--measured FILE.csv [OPTIONS]";
  spec.about =
      "Runs each measured row as a scenario and prints predicted against measured TTFT and TPOT, "
      "what\nwas skipped and why, and how well the predictions order what people choose between. "
      "The columns\nare in docs/validation.md.\n";
  spec.examples =
      "  servegrid validate --measured runs.csv\n"
      "  servegrid validate --measured runs.csv --leave-out model --format json\n"
      "  servegrid validate --measured runs.csv --rows predicted.csv\n";
  spec.options.add_options()("measured", po::value<std::string>()->value_name("FILE"),
                             "measured runs, CSV")("rows",
                                                   po::value<std::string>()->value_name("FILE"),
                                                   "write every row with its prediction, CSV")(
      "leave-out", po::value<std::string>()->value_name("WHAT"),
      "'model': predict each model with serving costs that were fitted without it; 'gpu': with the "
      "kernels of the nearest relative and default costs; 'kernels': from the data sheet alone")(
      "disaggregated", po::bool_switch(),
      "the rows with separate prefill and decode workers instead, simulated with the transfers")(
      "tpot-limit", po::value<std::string>()->value_name("MS"),
      "limit of the largest-concurrency question, in whole milliseconds (default 20)")(
      "jobs", po::value<std::string>()->value_name("N"),
      "threads (default: as many as there are cores)");
  add_common(spec, {});
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 0);
  if (!parsed->has("measured")) throw InputError("validate needs --measured FILE.csv");
  const Common common = common_of(*parsed);
  validate::ValidateOptions options;
  options.measured = parsed->text("measured");
  options.threads = common.jobs > 0 ? static_cast<unsigned>(common.jobs)
                                    : std::max(1u, std::thread::hardware_concurrency());
  if (parsed->has("leave-out")) {
    const std::string what = parsed->text("leave-out");
    if (what != "model" && what != "gpu" && what != "kernels")
      throw InputError("--leave-out takes 'model', 'gpu' or 'kernels', not '" + what + "'");
    options.leave_out_models = what == "model";
    if (what == "gpu") options.knowledge = validate::Knowledge::relative;
    if (what == "kernels") options.knowledge = validate::Knowledge::data_sheet;
  }
  if (parsed->values["disaggregated"].as<bool>()) {
    if (parsed->has("leave-out")) throw InputError("--leave-out is not for --disaggregated");
    const auto report = validate::validate_disaggregated(options.measured, options.threads);
    if (parsed->has("rows")) {
      metrics::write_file_atomically(parsed->text("rows"), validate::rows_csv(report));
    }
    print(common.format == OutputFormat::json  ? validate::to_json(report) + '\n'
          : common.format == OutputFormat::csv ? validate::rows_csv(report)
                                               : validate::to_table(report));
    return 0;
  }
  options.tpot_limit_ms = static_cast<double>(parsed->integer("tpot-limit", 1, 100000, 20));
  const validate::Report report = validate::validate(options);
  if (parsed->has("rows")) {
    metrics::write_file_atomically(parsed->text("rows"), validate::rows_csv(report));
  }
  if (common.format == OutputFormat::json)
    print(validate::to_json(report) + '\n');
  else if (common.format == OutputFormat::csv)
    print(validate::rows_csv(report));
  else
    print(validate::to_table(report));
  return 0;
}

}  // namespace servegrid::cli
