// `servegrid compare` and `servegrid sweep`: many points in parallel.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/console.hpp"
#include "cli/flags.hpp"
#include "cli/report.hpp"
#include "plan/equal.hpp"
#include "study/compare.hpp"
#include "study/folder.hpp"
#include "units/error.hpp"
#include "units/quantity.hpp"

namespace servegrid::cli {

namespace {

Spec spec_of(const std::string& verb) {
  Spec spec;
  spec.verb = verb;
  if (verb == "compare") {
    spec.synopsis = "[SCENARIO ...] [OPTIONS]";
    spec.about =
        "Several set-ups under the same loads, side by side: the points of a scenario's sweep, "
        "several\nscenarios, or flags with comma-separated values. Ends in the sentence a planner "
        "can quote.\nA point that is not feasible is a row with the reason and the nearest set-up "
        "that fits.\n";
    spec.examples =
        "  servegrid compare scenarios/llama70b_8k_conversations.yaml\n"
        "  servegrid compare --model llama-3.1-70b --gpu b200,mi355x --isl 7680 --osl 512 \\\n"
        "      --concurrency 1,8,15,30,55 --slo-tpot '50 ms'\n"
        "  servegrid compare a.yaml b.yaml --format json\n";
  } else {
    spec.synopsis = "SCENARIO [OPTIONS]";
    spec.about = "Every point of a scenario's sweep, in parallel: one row a point.\n";
    spec.examples =
        "  servegrid sweep scenarios/llama70b_8k_conversations.yaml --format csv > points.csv\n"
        "  servegrid sweep study.yaml --jobs 4 --output results/study\n";
  }
  add_scenario_flags(spec, Purpose::compare);
  if (verb == "compare") {
    po::options_description group("Fairness", 100, 58);
    group.add_options()(
        "equal", po::value<std::string>()->value_name("WHAT[=AMOUNT]"),
        "as many replicas of each as take the same: cost, gpus, memory or power; up "
        "to one replica of the largest, or the amount: cost=20000, gpus=8, "
        "memory='2304 GB', power='10 kW'");
    spec.options.add(group);
  }
  CommonUse use;
  use.output = use.set = use.seed = use.jobs = use.leap = use.limits = true;
  add_common(spec, use);
  return spec;
}

std::vector<study::Case> cases_of(const Parsed& parsed, const Common& common,
                                  const std::string& verb) {
  std::vector<study::Case> cases;
  std::vector<std::string> words = parsed.words;
  if (words.empty()) words.emplace_back();
  for (const auto& word : words) {
    const Question question = question_of(parsed, word, common, Purpose::compare);
    auto some =
        study::cases_of([&](const catalog::Overrides& more) { return question.read(more); });
    for (auto& one : some) {
      if (words.size() > 1) {
        one.label = one.scenario.name + ": " + one.label;
        one.variant = one.scenario.name + (one.variant.empty() ? "" : ", ") + one.variant;
      }
      cases.push_back(std::move(one));
    }
  }
  if (verb == "sweep" && cases.size() == 1)
    throw InputError(
        "nothing to sweep: the scenario has no `sweep` and no flag has several values");
  return cases;
}

struct Fairness {
  plan::Equal what = plan::Equal::gpus;
  double amount = 0;
};

std::optional<Fairness> fairness_of(const Parsed& parsed) {
  if (!parsed.has("equal")) return std::nullopt;
  const std::string text = parsed.text("equal");
  const auto equals = text.find('=');
  Fairness fair;
  fair.what = plan::parse_equal(text.substr(0, equals));
  if (equals == std::string::npos) return fair;
  const std::string amount = text.substr(equals + 1);
  if (fair.what == plan::Equal::memory) {
    fair.amount = units::parse(amount, units::Dimension::bytes);
  } else if (fair.what == plan::Equal::power) {
    fair.amount = units::parse(amount, units::Dimension::watts);
  } else if (units::scan_number(amount, fair.amount) != amount.size()) {
    throw InputError("--equal " + text + ": the amount is no number");
  }
  if (!(fair.amount > 0) || fair.amount > 1e18)
    throw InputError("--equal " + text + ": the amount must be above 0");
  return fair;
}

// Every case gets its replicas; the notes say what each then takes.
std::vector<std::string> make_equal(const Fairness& fair, std::vector<study::Case>& cases) {
  std::vector<const catalog::Scenario*> scenarios;
  for (const auto& one : cases) scenarios.push_back(&one.scenario);
  std::optional<catalog::PriceSheet> sheet;
  const auto& prices = cases.front().scenario.prices;
  if (fair.what == plan::Equal::cost && prices.size() == 1)
    sheet = catalog::Catalog().prices(prices.front());
  const auto shares =
      plan::equal_shares(scenarios, fair.what, fair.amount, sheet ? &*sheet : nullptr);
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].invalid.empty()) continue;
    auto& s = cases[i].scenario;
    if (shares[i].replicas == 0) {
      cases[i].invalid = shares[i].reason;
      cases[i].set_up = s.gpu.name;
      continue;
    }
    s.replicas = shares[i].replicas;
    const std::string note =
        fmt::format("{} x {} (TP {}): {}", s.replicas, s.gpu.name, s.parallel.tp,
                    plan::amount_text(fair.what, shares[i].total, sheet ? sheet->currency : ""));
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }
  return notes;
}

std::string table_text(const std::vector<study::Point>& points,
                       const std::vector<study::SetUp>& set_ups,
                       const std::vector<std::string>& headline) {
  std::string out = points_table(points).text();
  const Table costs = costs_table(set_ups);
  if (!costs.empty()) out += '\n' + costs.text();
  for (const auto& sentence : headline) out += '\n' + sentence + '\n';
  out +=
      "\nusers: requests or conversations in the system at once; resident: conversations whose KV "
      "cache fits;\nrunning, waiting: requests in the batch and in the queue, averaged over the "
      "run\n";
  return out;
}

std::string equal_text(const std::vector<std::string>& notes) {
  if (notes.empty()) return {};
  std::string out = "\nequal shares:";
  for (const auto& note : notes) out += "\n  " + note;
  return out + '\n';
}

// A point's own scenario: the axes, written last, are not part of it.
std::string resolved(const study::Case& one) {
  const std::string& text = one.scenario.resolved_yaml;
  const auto sweep = text.find("\nsweep:\n");
  return sweep == std::string::npos ? text : text.substr(0, sweep + 1);
}

int compare_or_sweep(const std::string& verb, const Args& args) {
  const Spec spec = spec_of(verb);
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  if (verb == "sweep") at_most_words(spec, *parsed, 1);
  const Common common = common_of(*parsed);
  if (parsed->values["print-scenario"].as<bool>()) {
    const std::string word = parsed->words.empty() ? "" : parsed->words[0];
    const Question q = question_of(*parsed, word, common, Purpose::compare);
    print(study::scenario_text(q.path, q.text, q.overrides));
    return 0;
  }
  if (!common.output.empty()) study::check_output_folder(common.output);
  auto cases = cases_of(*parsed, common, verb);
  std::vector<std::string> notes;
  if (verb == "compare")
    if (const auto fair = fairness_of(*parsed)) notes = make_equal(*fair, cases);
  study::CompareOptions options;
  options.jobs = common.jobs;
  options.leap = common.leap;
  options.check_events = common.check;
  options.limits = common.limits;
  std::vector<study::Point> points;
  {
    Progress progress("simulating", cases.size(), common.quiet);
    options.done = [&] { progress.step(); };
    points = study::simulate_all(cases, options);
  }
  bool any = false;
  for (const auto& point : points) any = any || point.feasible;
  const auto set_ups = study::set_ups_of(points, catalog::Catalog());
  const auto sentences = study::headline(set_ups, cases.front().scenario.slo.tpot);
  const std::string json = points_json(verb, points, set_ups, sentences);
  if (!common.output.empty()) {
    std::string scenarios;
    for (const auto& one : cases)
      if (one.invalid.empty()) scenarios += "---\n# " + one.label + '\n' + resolved(one);
    const HoldInterrupts hold;
    study::write_folder(common.output, {{"points.json", json},
                                        {"points.csv", points_csv(points)},
                                        {"scenarios.resolved.yaml", scenarios}});
  }
  if (common.format == OutputFormat::json)
    print(json);
  else if (common.format == OutputFormat::csv)
    print(points_csv(points));
  else
    print(harmless(table_text(points, set_ups, sentences) + equal_text(notes)));
  return any ? 0 : static_cast<int>(Exit::infeasible);
}

}  // namespace

int compare_command(const Args& args) {
  return compare_or_sweep("compare", args);
}

int sweep_command(const Args& args) {
  return compare_or_sweep("sweep", args);
}

}  // namespace servegrid::cli
