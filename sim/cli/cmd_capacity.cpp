// `servegrid capacity`: the largest load that one set-up sustains within its objectives.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/flags.hpp"
#include "cli/objective_flags.hpp"
#include "cli/table.hpp"
#include "metrics/version.hpp"
#include "plan/capacity.hpp"
#include "study/folder.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

using Json = nlohmann::ordered_json;

Spec capacity_spec() {
  Spec spec;
  spec.verb = "capacity";
  spec.synopsis = "[SCENARIO] [OPTIONS]";
  spec.about =
      "The largest load that one set-up sustains within its objectives: requests/s of an open "
      "loop, "
      "users of\na closed one. Found by bisection with the same random numbers at every load, once "
      "for each seed; the\ninterval is of the mean over the seeds. The load of the scenario is not "
      "used, only its kind and lengths.\n";
  spec.examples =
      "  servegrid capacity --model llama-3.1-70b --gpu b200 --tp 2 --request-rate 1 --isl 1000 "
      "--osl 250 \\\n      --slo 'p99 ttft <= 2 s' --slo 'p95 tpot <= 50 ms'\n"
      "  servegrid capacity scenarios/llama70b_8k_conversations.yaml --slo 'mean tpot <= 50 ms'\n";
  add_scenario_flags(spec, Purpose::run);
  po::options_description group("Objectives and search", 100, 58);
  add_objective_flags(group);
  auto add = group.add_options();
  add("seeds", po::value<std::string>()->value_name("N"), "searches with seeds of their own (5)");
  add("least-requests", po::value<std::string>()->value_name("N"),
      "simulated at each load, at least (1000)");
  spec.options.add(group);
  CommonUse use;
  use.output = use.set = use.seed = use.jobs = true;
  add_common(spec, use);
  return spec;
}

std::string load_text(double load, bool users) {
  return users ? fixed(load, 0) + " users" : number(load) + " requests/s";
}

std::string seconds_text(double seconds) {
  if (std::isnan(seconds)) return "-";
  return seconds >= 1 ? fixed(seconds, 2) + " s" : fixed(seconds * 1e3, 1) + " ms";
}

std::string probes_text(const plan::Capacity& search, const plan::Objectives& objectives,
                        bool users) {
  std::vector<std::string> header = {users ? "users" : "requests/s", "held"};
  for (const auto& o : objectives) header.push_back(o.text().substr(0, o.text().find(" <=")));
  for (const char* column : {"out tok/s", "running", "waiting", "KV peak %", "preempt"})
    header.emplace_back(column);
  Table table(header);
  auto probes = search.probes;
  std::sort(probes.begin(), probes.end(),
            [](const auto& a, const auto& b) { return a.load < b.load; });
  for (const auto& m : probes) {
    std::vector<std::string> row = {users ? fixed(m.load, 0) : number(m.load),
                                    m.meets(objectives) ? "yes" : "no"};
    for (const double v : m.latencies) row.push_back(seconds_text(v));
    for (const auto& cell : {fixed(m.output_rate, 0), fixed(m.running, 1), fixed(m.waiting, 1),
                             fixed(m.kv_peak * 100, 1), std::to_string(m.preemptions)})
      row.push_back(cell);
    table.row(row);
  }
  return table.text("  ");
}

std::string answer_text(const plan::Interval& found, const plan::Objectives& objectives,
                        const plan::Rig& rig, const plan::Bound& bound) {
  const bool users = rig.counts_users();
  const auto& s = rig.scenario();
  const auto& first = found.seeds.front();
  std::string out = fmt::format("{} in {} on {} x {}, {}\n  objectives: {}\n", s.model.name,
                                catalog::name(s.weights), s.parallel.gpus() * s.replicas,
                                s.gpu.title, s.engine.name, plan::text(objectives));
  if (found.mean <= 0) {
    out += fmt::format("  sustains nothing: {} already at {}\n", first.missed,
                       load_text(first.above, users));
    return out + '\n' + probes_text(first, objectives, users);
  }
  out += fmt::format("  sustains {}", load_text(found.mean, users));
  if (found.seeds.size() > 1)
    out += fmt::format(" ({} to {} at 90 %, {} seeds)",
                       users ? fixed(found.low, 0) : number(found.low),
                       users ? fixed(found.high, 0) : number(found.high), found.seeds.size());
  out += "\n  beyond it: " + (first.missed.empty() ? "nothing failed" : first.missed) +
         fmt::format("\n  closed-form bound: {} ({}, batch {})\n\n", load_text(bound.load, users),
                     bound.limited_by, bound.batch);
  return out + "The search with the first seed:\n" + probes_text(first, objectives, users);
}

Json measured_json(const plan::Measured& m, const plan::Objectives& objectives) {
  Json latencies = Json::object();
  for (std::size_t i = 0; i < objectives.size() && i < m.latencies.size(); ++i)
    latencies[objectives[i].name()] =
        std::isnan(m.latencies[i]) ? Json(nullptr) : Json(m.latencies[i] * 1e3);
  return {{"load", m.load},
          {"meets", m.meets(objectives)},
          {"requests", m.requests},
          {"counted", m.counted},
          {"latencies", latencies},
          {"attainment", m.attainment},
          {"request_throughput", m.request_rate},
          {"output_throughput", m.output_rate},
          {"running", m.running},
          {"waiting", m.waiting},
          {"kv_use_peak", m.kv_peak},
          {"preemptions", m.preemptions}};
}

std::string answer_json(const plan::Interval& found, const plan::Objectives& objectives,
                        const plan::Rig& rig, const plan::Bound& bound) {
  Json seeds = Json::array(), goals = Json::array();
  for (const auto& o : objectives) goals.push_back(o.text());
  for (const auto& search : found.seeds) {
    Json probes = Json::array();
    for (const auto& m : search.probes) probes.push_back(measured_json(m, objectives));
    seeds.push_back({{"load", search.load},
                     {"above", search.above},
                     {"missed", search.missed},
                     {"probes", probes}});
  }
  const Json json = {{"command", "capacity"},
                     {"format_version", metrics::format_version},
                     {"model_version", metrics::model_version},
                     {"unit", rig.counts_users() ? "users" : "requests/s"},
                     {"objectives", goals},
                     {"capacity", found.mean},
                     {"low_90", found.low},
                     {"high_90", found.high},
                     {"bound", bound.load},
                     {"bound_limited_by", bound.limited_by},
                     {"trust", rig.steps().trust()},
                     {"seeds", seeds}};
  return json.dump(2) + '\n';
}

std::string answer_csv(const plan::Interval& found, const plan::Objectives& objectives) {
  std::string out = "seed_index,load,meets";
  for (const auto& o : objectives) out += ',' + o.name();
  out +=
      ",attainment,request_throughput,output_throughput,running,waiting,kv_use_peak,preemptions\n";
  for (std::size_t i = 0; i < found.seeds.size(); ++i)
    for (const auto& m : found.seeds[i].probes) {
      out += fmt::format("{},{:.10g},{}", i, m.load, m.meets(objectives));
      for (const double v : m.latencies)
        out += std::isnan(v) ? std::string(",") : fmt::format(",{:.10g}", v * 1e3);
      out += fmt::format(",{:.10g},{:.10g},{:.10g},{:.10g},{:.10g},{:.10g},{}\n", m.attainment,
                         m.request_rate, m.output_rate, m.running, m.waiting, m.kv_peak,
                         m.preemptions);
    }
  return out;
}

}  // namespace

int capacity_command(const Args& args) {
  const Spec spec = capacity_spec();
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
  const auto objectives = objectives_of(*parsed, scenario);
  plan::CapacityOptions options;
  options.probe.seed = scenario.seed;
  options.probe.requests = parsed->integer("least-requests", 10, 1'000'000, 1000);
  const auto seeds = static_cast<int>(parsed->integer("seeds", 1, 1000, 5));
  const plan::Rig rig(scenario);
  const plan::Bound bound = plan::bound_of(rig, objectives);
  plan::Interval found;
  {
    Progress progress("searching, seed", static_cast<std::size_t>(seeds), common.quiet);
    found = plan::capacity_interval(rig, objectives, options, seeds, common.jobs,
                                    [&] { progress.step(); });
  }
  const std::string json = answer_json(found, objectives, rig, bound);
  const std::string csv = answer_csv(found, objectives);
  if (!common.output.empty()) {
    const HoldInterrupts hold;
    study::write_folder(common.output, {{"capacity.json", json},
                                        {"capacity.csv", csv},
                                        {"scenario.resolved.yaml", scenario.resolved_yaml}});
  }
  if (common.format == OutputFormat::json)
    print(json);
  else if (common.format == OutputFormat::csv)
    print(csv);
  else
    print(answer_text(found, objectives, rig, bound));
  return found.mean > 0 ? 0 : static_cast<int>(Exit::infeasible);
}

}  // namespace servegrid::cli
