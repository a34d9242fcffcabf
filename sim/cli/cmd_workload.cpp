// `servegrid workload describe`: what arrives, in numbers, without simulating it.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/options.hpp"
#include "cli/table.hpp"
#include "metrics/atomic_write.hpp"
#include "units/error.hpp"
#include "workload/describe.hpp"
#include "workload/traces/reader.hpp"

namespace servegrid::cli {

namespace {

using Json = nlohmann::ordered_json;
using workload::Description;
using workload::Histogram;

constexpr std::array<double, 7> quantiles = {0.01, 0.1, 0.25, 0.5, 0.9, 0.95, 0.99};

Spec describe_spec() {
  Spec spec;
  spec.verb = "workload describe";
  spec.synopsis = "SCENARIO | TRACE [OPTIONS]";
  spec.about =
      "Rates, lengths, burstiness, shared prefixes and turns of a scenario's workload or of a "
      "recorded\ntrace, without simulating it.\n\nTrace formats:\n";
  for (const auto& f : workload::trace_formats()) {
    spec.about += fmt::format("  {:<14} {}\n", f.name, f.about);
  }
  spec.examples =
      "  servegrid workload describe scenarios/llama70b_8k_fresh.yaml\n"
      "  servegrid workload describe conversation_trace.jsonl\n"
      "  servegrid workload describe azure.csv --trace-format azure --plot azure-plot.csv\n";
  spec.options.add_options()("trace-format", po::value<std::string>()->value_name("NAME"),
                             "format of a trace (default: by its first line)")(
      "plot", po::value<std::string>()->value_name("FILE"),
      "write rate over time and length distributions, "
      "CSV: series, x, y");
  CommonUse use;
  use.set = use.seed = true;
  add_common(spec, use);
  return spec;
}

Json lengths_json(const Histogram& h) {
  Json out = {{"mean", h.mean()}, {"std", h.std()}, {"min", h.least()}, {"max", h.most()}};
  for (const double q : quantiles) out[fmt::format("p{:.0f}", 100 * q)] = h.quantile(q);
  return out;
}

std::string to_json(const Description& d) {
  Json json = {{"command", "workload describe"}, {"requests", d.requests}, {"complete", !d.cut}};
  if (d.span) {
    json["span_s"] = *d.span;
    if (*d.span > 0) json["request_rate"] = static_cast<double>(d.requests - 1) / *d.span;
    json["peak_rate_1s"] = d.peak_second;
    json["peak_rate_60s"] = d.peak_minute;
    json["gap_cv"] = d.gap_cv;
    json["dispersion_60s"] = d.dispersion;
  }
  json["prompt_tokens"] = lengths_json(d.prompt);
  json["output_tokens"] = lengths_json(d.output);
  json["length_correlation"] = d.correlation;
  json["prefix_share"] = d.prefix_share;
  json["conversations"] = d.conversations;
  if (d.conversations > 0) {
    json["turns_mean"] = static_cast<double>(d.requests) / static_cast<double>(d.conversations);
    json["turns_max"] = d.most_turns;
  }
  Json classes = Json::object();
  for (const auto& [name, requests] : d.classes) classes[name] = requests;
  if (!d.classes.empty()) json["classes"] = classes;
  json["notes"] = d.notes;
  return json.dump(2) + '\n';
}

std::string to_table(const Description& d) {
  std::string out;
  const auto line = [&](const std::string& what, const std::string& value) {
    out += fmt::format("{:<26} {}\n", what, value);
  };
  line("requests", fixed(static_cast<double>(d.requests), 0) + (d.cut ? " (looked at)" : ""));
  if (d.span) {
    line("from first to last", fixed(*d.span, 1) + " s");
    if (*d.span > 0)
      line("rate", number(static_cast<double>(d.requests - 1) / *d.span) + " /s; busiest second " +
                       number(d.peak_second) + " /s, busiest minute " + number(d.peak_minute) +
                       " /s");
    line("burstiness", "CV of gaps " + fixed(d.gap_cv, 2) + ", dispersion of minutes " +
                           fixed(d.dispersion, 2) + " (Poisson: 1, 1)");
  }
  line("prompt seen before", fixed(100 * d.prefix_share, 1) + " % of the prompt tokens");
  line("prompt-output correlation", fixed(d.correlation, 2));
  if (d.conversations > 0)
    line("conversations",
         fixed(static_cast<double>(d.conversations), 0) + ", " +
             fixed(static_cast<double>(d.requests) / static_cast<double>(d.conversations), 2) +
             " turns each, at most " + std::to_string(d.most_turns));
  for (const auto& [name, requests] : d.classes)
    line("class " + name, fixed(static_cast<double>(requests), 0) + " requests");
  Table table(
      {"tokens", "mean", "std", "min", "p1", "p10", "p25", "median", "p90", "p95", "p99", "max"});
  for (const auto& [name, h] : {std::pair{"prompt", &d.prompt}, std::pair{"output", &d.output}}) {
    std::vector<std::string> cells = {name, fixed(h->mean(), 1), fixed(h->std(), 1),
                                      std::to_string(h->least())};
    for (const double q : quantiles) cells.push_back(fixed(h->quantile(q), 0));
    cells.push_back(std::to_string(h->most()));
    table.row(cells);
  }
  out += '\n' + table.text();
  for (const auto& note : d.notes) out += note + '\n';
  return out;
}

std::string to_csv(const Description& d) {
  std::string out = "series,x,y\n";
  for (const auto& [start, rate] : d.rates)
    out += fmt::format("rate,{:.10g},{:.10g}\n", start, rate);
  for (const auto& [name, h] : {std::pair{"prompt", &d.prompt}, std::pair{"output", &d.output}}) {
    double below = 0;
    for (const auto& [value, count] : h->counts()) {
      below += static_cast<double>(count);
      out +=
          fmt::format("{}_cdf,{},{:.10g}\n", name, value, below / static_cast<double>(h->count()));
    }
  }
  return out;
}

}  // namespace

int workload_command(const Args& args) {
  const bool verb = !args.empty() && args[0] == "describe";
  const bool help = !args.empty() && (args[0] == "--help" || args[0] == "-h");
  if (!verb && !help) throw InputError("workload has one command: servegrid workload describe");
  const Spec spec = describe_spec();
  const auto parsed = parse(spec, verb ? Args(args.begin() + 1, args.end()) : args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 1);
  const Common common = common_of(*parsed);
  if (parsed->words.empty()) throw InputError("workload describe needs a scenario or a trace");
  const std::string& word = parsed->words[0];
  std::error_code ignored;
  const bool trace = !word.ends_with(".yaml") && std::filesystem::is_regular_file(word, ignored);
  if (!trace && parsed->has("trace-format"))
    throw InputError("--trace-format goes with a trace; a scenario says `format`");
  if (trace && !common.set.empty())
    throw InputError("--set and --seed go with a scenario; a trace is what it is");
  catalog::WorkloadSpec workload;
  std::uint64_t seed = 1;
  if (trace) {
    workload.kind = catalog::WorkloadSpec::Kind::trace;
    workload.trace.file = word;
    if (parsed->has("trace-format")) workload.trace.format = parsed->text("trace-format");
  } else {
    const catalog::Scenario scenario = catalog::read_scenario(word, common.set);
    workload = scenario.workload;
    seed = scenario.seed;
  }
  const Description d = workload::describe(workload, seed);
  if (parsed->has("plot")) metrics::write_file_atomically(parsed->text("plot"), to_csv(d));
  if (common.format == OutputFormat::json)
    print(to_json(d));
  else if (common.format == OutputFormat::csv)
    print(to_csv(d));
  else
    print(to_table(d));
  return 0;
}

}  // namespace servegrid::cli
