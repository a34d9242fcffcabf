// `servegrid tune`: what to change on the GPUs one has.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/flags.hpp"
#include "cli/objective_flags.hpp"
#include "cli/table.hpp"
#include "metrics/version.hpp"
#include "plan/tune.hpp"
#include "study/folder.hpp"
#include "units/error.hpp"
#include "units/json.hpp"

namespace servegrid::cli {

namespace {

using Json = nlohmann::ordered_json;

Spec tune_spec() {
  Spec spec;
  spec.verb = "tune";
  spec.synopsis = "[SCENARIO] [OPTIONS]";
  spec.about =
      "What to change on the same GPUs: engine knobs, layout, router, prefix caching, KV format; "
      "ranked by the\nload sustained within the objectives, each with its cause, ending in the "
      "flag "
      "diff. With --observed (the JSON\nof `vllm bench serve`, or observed.json of `servegrid "
      "import`) the run is reproduced first.\n";
  spec.examples =
      "  servegrid import launch.sh bench.json --gpu h100 --output mine\n"
      "  servegrid tune mine/scenario.yaml --observed mine/observed.json --slo 'p99 ttft <= 2 s'\n"
      "  servegrid tune --model llama-3.1-70b --gpu b200 --tp 2 --concurrency 64 --isl 4000 --osl "
      "300 \\\n      --slo 'p95 tpot <= 40 ms' --slo 'p95 ttft <= 3 s'\n";
  add_scenario_flags(spec, Purpose::run);
  po::options_description group("Objectives and search", 100, 58);
  add_objective_flags(group);
  auto add = group.add_options();
  add("observed", po::value<std::string>()->value_name("FILE"), "what was measured, as JSON");
  add("rounds", po::value<std::string>()->value_name("N"),
      "changes made one after the other, at most (3)");
  add("least-requests", po::value<std::string>()->value_name("N"),
      "simulated at each load, at least (600)");
  spec.options.add(group);
  CommonUse use;
  use.output = use.set = use.seed = use.jobs = true;
  use.csv = false;
  add_common(spec, use);
  return spec;
}

std::vector<std::pair<std::string, double>> read_observed(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  for (char c = 0; text.size() <= (16u << 20) && in.get(c);) text += c;
  if (text.empty()) throw InputError(path + ": cannot be read, or is empty", {path, 0, 0});
  bool odd_numbers = false;  // an infinite request rate
  const nlohmann::json json = units::parse_json(text, path, 16u << 20, odd_numbers);
  if (!json.is_object()) throw InputError(path + ": is no JSON object of metrics", {path, 0, 0});
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [name, value] : json.items())
    if (value.is_number() &&
        (name.find("_ms") != std::string::npos || name.find("throughput") != std::string::npos))
      out.emplace_back(name, value.get<double>());
  if (out.empty())
    throw InputError(path +
                         ": holds no metric in the names of `vllm bench serve` (mean_ttft_ms, "
                         "output_throughput, ...)",
                     {path, 0, 0});
  return out;
}

std::string reproduced_text(const plan::TuneResult& r) {
  if (r.reproduced.empty()) return {};
  Table table({"metric", "observed", "simulated", "ratio", "within the band"});
  for (const auto& m : r.reproduced)
    table.row({m.metric, number(m.observed), number(m.simulated),
               fixed(m.simulated / m.observed, 2), m.inside ? "yes" : "NO"});
  return "The run as it is, reproduced:\n" + table.text("  ") +
         (r.outside
              ? "  Outside the model's 90 % band somewhere: settle what differs (version, load, "
                "hardware) before trusting\n  what follows.\n\n"
              : "\n");
}

std::string text_of(const plan::TuneResult& r, const plan::Objectives& objectives, bool users) {
  const std::string unit = users ? "users" : "requests/s";
  std::string out = reproduced_text(r);
  out += fmt::format(
      "Objectives: {}\nAs it is: sustains {} {}; at its load {} of requests meet them\n",
      plan::text(objectives), number(r.base.capacity), unit,
      fixed(r.base.at.attainment * 100, 1) + " %");
  Table table({"round", "change", "sustains " + unit, "of base", "goodput /s", "met %", "cause"});
  for (const auto& t : r.trials) {
    const std::string round = std::to_string(t.round);
    if (!t.reason.empty())
      table.row({round, t.what, "-", "-", "-", "-", "cannot be: " + t.reason});
    else
      table.row({round, t.what, number(t.capacity),
                 r.base.capacity > 0 ? fixed(t.capacity / r.base.capacity, 2) + "x" : "-",
                 number(t.goodput), fixed(t.at.attainment * 100, 1), t.cause});
  }
  out += '\n' + table.text();
  if (r.best.empty()) return out + "\nNothing found that helps by 2 %: leave it as it is.\n";
  out += fmt::format(
      "\nBest: sustains {} {}{}\n", number(r.best_trial.capacity), unit,
      r.base.capacity > 0 ? " (" + fixed(r.best_trial.capacity / r.base.capacity, 2) + "x)" : "");
  out += "\nWhat to change:\n";
  for (const auto& line : r.flag_diff) out += "  " + line + '\n';
  return out;
}

Json trial_json(const plan::Trial& t) {
  Json set = Json::object();
  for (const auto& [path, value] : t.set) set[path] = value;
  Json j = {{"what", t.what}, {"round", t.round}, {"set", set}};
  if (!t.reason.empty()) {
    j["reason"] = t.reason;
    return j;
  }
  j["capacity"] = t.capacity;
  j["goodput"] = t.goodput;
  j["attainment"] = t.at.attainment;
  j["kv_capacity_tokens"] = t.kv_tokens;
  j["mean_ttft_ms"] = t.at.ttft_mean * 1e3;
  j["mean_tpot_ms"] = t.at.tpot_mean * 1e3;
  j["preemptions"] = t.at.preemptions;
  j["cause"] = t.cause;
  return j;
}

std::string json_of(const plan::TuneResult& r, const plan::Objectives& objectives, bool users) {
  Json trials = Json::array(), goals = Json::array(), reproduced = Json::array(),
       best = Json::object();
  for (const auto& t : r.trials) trials.push_back(trial_json(t));
  for (const auto& o : objectives) goals.push_back(o.text());
  for (const auto& m : r.reproduced)
    reproduced.push_back({{"metric", m.metric},
                          {"observed", m.observed},
                          {"simulated", m.simulated},
                          {"inside_band", m.inside}});
  for (const auto& [path, value] : r.best) best[path] = value;
  const Json json = {{"command", "tune"},
                     {"format_version", metrics::format_version},
                     {"model_version", metrics::model_version},
                     {"unit", users ? "users" : "requests/s"},
                     {"objectives", goals},
                     {"reproduced", reproduced},
                     {"base", trial_json(r.base)},
                     {"trials", trials},
                     {"best", best},
                     {"best_capacity", r.best_trial.capacity},
                     {"flag_diff", r.flag_diff}};
  return json.dump(2) + '\n';
}

}  // namespace

int tune_command(const Args& args) {
  const Spec spec = tune_spec();
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 1);
  const Common common = common_of(*parsed);
  const Question question =
      question_of(*parsed, parsed->words.empty() ? "" : parsed->words[0], common, Purpose::run);
  if (!common.output.empty()) study::check_output_folder(common.output);
  const catalog::Scenario scenario = question.read();
  const auto objectives = objectives_of(*parsed, scenario);
  std::vector<std::pair<std::string, double>> observed;
  if (parsed->has("observed")) observed = read_observed(parsed->text("observed"));
  plan::TuneOptions options;
  options.jobs = common.jobs;
  options.rounds = static_cast<int>(parsed->integer("rounds", 1, 20, options.rounds));
  options.requests = parsed->integer("least-requests", 50, 1'000'000, options.requests);
  const bool show = !common.quiet && ::isatty(STDERR_FILENO) == 1;
  if (show)
    options.progress = [](const std::string& what, std::size_t done, std::size_t all) {
      std::fprintf(stderr, "\r\033[K%s %zu/%zu", what.c_str(), done, all);
    };
  const plan::TuneResult result =
      plan::tune([&](const catalog::Overrides& more) { return question.read(more); }, objectives,
                 observed, options);
  if (show) std::fputs("\r\033[K", stderr);
  const bool users = scenario.workload.kind != catalog::WorkloadSpec::Kind::open;
  const std::string json = json_of(result, objectives, users);
  if (!common.output.empty()) {
    const HoldInterrupts hold;
    study::write_folder(common.output,
                        {{"tune.json", json},
                         {"start.resolved.yaml", scenario.resolved_yaml},
                         {"scenario.resolved.yaml", question.read(result.best).resolved_yaml}});
  }
  print(common.format == OutputFormat::json ? json : text_of(result, objectives, users));
  return 0;
}

}  // namespace servegrid::cli
