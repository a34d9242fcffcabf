// `servegrid run`: one scenario, simulated.
#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/flags.hpp"
#include "cli/report.hpp"
#include "cluster/simulate.hpp"
#include "metrics/version.hpp"
#include "model/deployment.hpp"
#include "study/folder.hpp"
#include "study/run.hpp"
#include "study/tables.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

using Json = nlohmann::ordered_json;

Spec run_spec() {
  Spec spec;
  spec.verb = "run";
  spec.synopsis = "[SCENARIO] [OPTIONS]";
  spec.about =
      "Simulates one scenario: a scenario file or name, or flags alone, which is the same as a "
      "scenario.\nThe flags take vLLM's spellings too.\n";
  spec.examples =
      "  servegrid run --model meta-llama/Llama-3.1-70B-Instruct --gpu h100 --tp 4 \\\n"
      "      --isl 2000 --osl 500 --concurrency 32\n"
      "  servegrid run --model qwen3-32b --gpu h200 --request-rate 3 --isl 1000 --osl 300 "
      "--engine sglang\n"
      "  servegrid run study.yaml --set workload.closed.concurrent=55 --output results/55\n"
      "  servegrid run study.yaml --gpu mi355x --format json\n";
  spec.options.add_options()("trace", po::value<std::string>()->value_name("FILE"),
                             "write every step and request as a Chrome trace (JSON), which "
                             "ui.perfetto.dev opens");
  add_scenario_flags(spec, Purpose::run);
  CommonUse use;
  use.output = use.set = use.seed = use.jobs = use.leap = use.limits = true;
  add_common(spec, use);
  spec.options.add_options()(
      "no-requests-table", po::bool_switch(),
      "no record of each request: no requests.csv and timeline.csv, quantiles "
      "within 0.1 %, memory that does not grow with the run");
  return spec;
}

std::string to_json(const study::Point& point) {
  Json json = {{"command", "run"},
               {"format_version", metrics::format_version},
               {"model_version", metrics::model_version}};
  json.update(Json::parse(study::to_text(point)));
  return json.dump(2) + '\n';
}

}  // namespace

int run_command(const Args& args) {
  const Spec spec = run_spec();
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 1);
  const Common common = common_of(*parsed);
  const Question question =
      question_of(*parsed, parsed->words.empty() ? "" : parsed->words[0], common, Purpose::run);
  if (parsed->values["print-scenario"].as<bool>()) {
    print(study::scenario_text(question.path, question.text, question.overrides));
    return 0;
  }
  if (!common.output.empty()) study::check_output_folder(common.output);
  const catalog::Scenario scenario = question.read();
  model::check(model::deployment_of(scenario));  // bad input here; a row in a comparison
  metrics::RunResult result;
  cluster::RunOptions options;
  options.leap = common.leap;
  options.check_events = common.check;
  options.limits = common.limits;
  options.requests = !parsed->values["no-requests-table"].as<bool>();
  const study::Point point = study::evaluate(scenario, scenario.name, options, &result);
  if (!point.feasible && common.format == OutputFormat::json) print(to_json(point));
  if (!point.feasible)
    throw InfeasibleError(point.reason + (point.nearest.empty() ? "" : "\n  " + point.nearest));
  if (!common.output.empty()) {
    const HoldInterrupts hold;
    study::write_run(common.output, scenario, point, result);
  }
  if (parsed->has("trace")) {
    const HoldInterrupts hold;
    study::write_trace(parsed->text("trace"), result, scenario.replicas);
  }
  if (common.format == OutputFormat::json)
    print(to_json(point));
  else if (common.format == OutputFormat::csv)
    print(run_csv(point));
  else
    print(harmless(run_text(point)));
  return 0;
}

}  // namespace servegrid::cli
