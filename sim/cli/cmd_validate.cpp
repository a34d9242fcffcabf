// `servegrid validate`: predicted against measured serving runs.
#include <thread>

#include "cli/console.hpp"
#include "cli/options.hpp"
#include "metrics/atomic_write.hpp"
#include "study/run.hpp"
#include "units/error.hpp"
#include "validate/disaggregated.hpp"
#include "validate/replay.hpp"
#include "validate/validate.hpp"

namespace servegrid::cli {

namespace {

// One measured run, request by request, on the deployment of a scenario.
int replay_requests(const Parsed& parsed, const Common& common) {
  for (const char* other : {"measured", "leave-out", "tpot-limit", "jobs"}) {
    if (parsed.has(other))
      throw InputError(std::string("--") + other + " does not go with --requests");
  }
  if (parsed.values["disaggregated"].as<bool>())
    throw InputError("--disaggregated does not go with --requests");
  if (!parsed.has("scenario"))
    throw InputError(
        "--requests needs --scenario FILE: the deployment that was measured (GPU, model, engine, "
        "TP); `servegrid run ... --print-scenario` writes one");
  catalog::Overrides set;
  for (const auto& item : parsed.list("set")) set.push_back(override_of(item));
  catalog::Scenario scenario = catalog::read_scenario(parsed.text("scenario"), set);
  if (!scenario.sweep.empty())
    throw InputError(scenario.file + ": --requests replays one deployment: leave `sweep` out");
  const validate::MeasuredRequests measured = validate::read_requests(parsed.text("requests"));
  validate::replay(measured, scenario);
  metrics::RunResult result;
  const study::Point point = study::evaluate(scenario, scenario.name, true, &result);
  if (!point.feasible) throw InfeasibleError(point.reason);
  const validate::Replay replay = validate::compare(measured, result);
  const bool csv = common.format == OutputFormat::csv;
  const std::string rows =
      csv || parsed.has("rows") ? validate::rows_csv(measured, result) : std::string();
  if (parsed.has("rows")) metrics::write_file_atomically(parsed.text("rows"), rows);
  print(common.format == OutputFormat::json ? validate::to_json(replay) + '\n'
        : csv                               ? rows
                                            : validate::to_table(replay));
  return 0;
}

}  // namespace

int validate_command(const Args& args) {
  Spec spec;
  spec.verb = "validate";
  spec.synopsis = "--measured FILE.csv | --requests FILE.csv --scenario FILE [OPTIONS]";
  spec.about =
      "Runs each measured row as a scenario and prints predicted against measured TTFT and TPOT, "
      "what\nwas skipped and why, and how well the predictions order what people choose between. "
      "The columns\nare in docs/validation.md. Or replays one measured run request by request on "
      "the "
      "deployment of a\nscenario, and compares latencies and when requests finished.\n";
  spec.examples =
      "  servegrid validate --measured runs.csv\n"
      "  servegrid validate --measured runs.csv --leave-out model --format json\n"
      "  servegrid validate --measured runs.csv --rows predicted.csv\n"
      "  servegrid validate --requests requests.csv --scenario mine.yaml\n";
  spec.options.add_options()("measured", po::value<std::string>()->value_name("FILE"),
                             "measured runs, CSV")("rows",
                                                   po::value<std::string>()->value_name("FILE"),
                                                   "write every row with its prediction, CSV")(
      "leave-out", po::value<std::string>()->value_name("WHAT"),
      "'model': predict each model with serving costs that were fitted without it; 'gpu': with the "
      "kernels of the nearest relative and default costs; 'kernels': from the data sheet alone")(
      "disaggregated", po::bool_switch(),
      "the rows with separate prefill and decode workers instead, simulated with the transfers")(
      "requests", po::value<std::string>()->value_name("FILE"),
      "requests of one measured run, CSV: arrival_s, prompt_tokens, output_tokens, first_token_s, "
      "last_token_s")("scenario", po::value<std::string>()->value_name("FILE"),
                      "of --requests: scenario with the deployment that was measured; its load is "
                      "not used")(
      "set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
      "of --requests: override a value of the scenario (repeatable)")(
      "tpot-limit", po::value<std::string>()->value_name("MS"),
      "limit of the largest-concurrency question, in whole milliseconds (default 20)")(
      "jobs", po::value<std::string>()->value_name("N"),
      "threads (default: as many as there are cores)");
  add_common(spec, {});
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 0);
  const Common common = common_of(*parsed);
  if (parsed->has("requests")) return replay_requests(*parsed, common);
  if (!parsed->has("measured"))
    throw InputError("validate needs --measured FILE.csv, or --requests FILE.csv and --scenario");
  for (const char* other : {"scenario", "set"}) {
    if (parsed->has(other)) throw InputError(std::string("--") + other + " goes with --requests");
  }
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
