// `servegrid explain`: one engine step, operator by operator.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/flags.hpp"
#include "cli/table.hpp"
#include "model/format_support.hpp"
#include "roofline/collectives.hpp"
#include "roofline/step_model.hpp"
#include "study/run.hpp"
#include "units/error.hpp"
#include "units/quantity.hpp"

namespace servegrid::cli {

namespace {

using Json = nlohmann::ordered_json;

Spec explain_spec() {
  Spec spec;
  spec.verb = "explain";
  spec.synopsis = "[SCENARIO] [OPTIONS]";
  spec.about =
      "One engine step, operator by operator: FLOPs, bytes, time, share, what bounds it, and where "
      "its\nefficiency comes from. FLOPs and bytes are per GPU, all of an operator's calls "
      "together.\n";
  spec.examples =
      "  servegrid explain --model llama-3.1-70b --gpu b200 --batch 32 --context 8K\n"
      "  servegrid explain --model llama-3.1-70b --gpu h100 --tp 4 --batch 0 --prefill 2048\n"
      "  servegrid explain scenarios/llama70b_8k_conversations.yaml --batch 15 --format json\n";
  po::options_description own("Step", 100, 58);
  own.add_options()("batch", po::value<std::string>()->value_name("N"),
                    "decoding sequences (default 1)")(
      "context", po::value<std::string>()->value_name("TOKENS"),
      "context of each decoding sequence (default 1K = 1024)")(
      "prefill", po::value<std::string>()->value_name("TOKENS"),
      "a prefill chunk of so many new tokens in the same step (default none)")(
      "cached", po::value<std::string>()->value_name("TOKENS"),
      "tokens of context under the prefill chunk (default 0)");
  spec.options.add(own);
  add_scenario_flags(spec, Purpose::explain);
  CommonUse use;
  use.set = true;
  add_common(spec, use);
  return spec;
}

std::int64_t tokens(const Parsed& parsed, const std::string& name, std::int64_t otherwise) {
  if (!parsed.has(name)) return otherwise;
  std::string text = parsed.text(name);
  if (text.find("token") == std::string::npos) text += " tokens";
  return static_cast<std::int64_t>(units::parse(text, units::Dimension::tokens));
}

const std::array<const char*, 5> bound_names = {"compute", "memory", "fabric", "latency", "host"};
const char* bound_name(roofline::Bound bound) {
  return bound_names.at(static_cast<std::size_t>(bound));
}

roofline::Batch batch_of(const Parsed& parsed, const roofline::StepModel& steps) {
  roofline::Batch batch;
  batch.sequences = parsed.integer("batch", 0, 1000000, 1);
  const std::int64_t context = tokens(parsed, "context", 1024);
  if (batch.sequences > 0) {
    batch.context[0] = batch.sequences * context;
    std::size_t c = 1;
    for (const auto window : steps.windows())
      batch.context.at(c++) = batch.sequences * std::min(context, window);
  }
  const std::int64_t prefill = tokens(parsed, "prefill", 0);
  if (prefill > 0) batch.prefill.push_back({prefill, tokens(parsed, "cached", 0), true});
  if (batch.sequences == 0 && prefill == 0)
    throw InputError("nothing to explain: give --batch N, --prefill TOKENS, or both");
  return batch;
}

Json to_json(const catalog::Scenario& s, const roofline::Batch& batch,
             const roofline::StepBreakdown& step, const std::string& trust) {
  Json operators = Json::array();
  for (const auto& op : step.operators)
    operators.push_back({{"name", op.name},
                         {"count", op.count},
                         {"flops", op.flops},
                         {"bytes", op.bytes},
                         {"fabric_bytes", op.fabric_bytes},
                         {"seconds", op.seconds},
                         {"share", step.seconds > 0 ? op.seconds / step.seconds : 0},
                         {"bound", bound_name(op.bound)},
                         {"efficiency", op.efficiency},
                         {"source", op.source}});
  Json by_bound;
  for (std::size_t i = 0; i < bound_names.size(); ++i)
    by_bound[bound_names.at(i)] = step.seconds_by_bound.at(i);
  Json drafts = nullptr;
  if (s.speculation.on()) drafts = catalog::describe(s.speculation);
  return {{"command", "explain"},
          {"model", s.model.name},
          {"gpu", s.gpu.name},
          {"parallel", study::parallel_text(s.parallel)},
          {"drafts", drafts},
          {"sequences", batch.sequences},
          {"context_tokens", batch.context[0]},
          {"prefill_tokens", batch.prefill.empty() ? 0 : batch.prefill[0].tokens},
          {"seconds", step.seconds},
          {"flops", step.flops},
          {"bytes", step.bytes},
          {"seconds_by_bound", by_bound},
          {"trust", trust},
          {"operators", operators}};
}

Table operator_table(const roofline::StepBreakdown& step) {
  Table table({"operator", "calls", "GFLOP", "MB", "fabric MB", "us", "share %", "bound",
               "efficiency", "source"});
  for (const auto& op : step.operators)
    table.row({op.name, std::to_string(op.count), number(op.flops / 1e9), number(op.bytes / 1e6),
               number(op.fabric_bytes / 1e6), fixed(op.seconds * 1e6, 1),
               fixed(step.seconds > 0 ? 100 * op.seconds / step.seconds : 0, 1),
               bound_name(op.bound), op.efficiency, op.source});
  return table;
}

// What the fabric gives a pair of GPUs and a group of them, and a large all-reduce over it.
std::string fabric_text(const catalog::Scenario& given) {
  const int gpus = given.parallel.gpus();
  if (gpus < 2) return {};
  const catalog::Scenario s = study::with_fabric(given);
  constexpr double bytes = 64 << 20;
  const double seconds =
      roofline::all_reduce_seconds(roofline::derived_all_reduce(s.gpu, gpus), bytes);
  return fmt::format(
      "  fabric    {}: {} GB/s one way between a pair, {} GB/s of a GPU in a group of {}; by its "
      "topology an all-reduce of 64 MiB takes {} us\n",
      s.gpu.fabric.name, fixed(1e-9 * roofline::group_bandwidth(s.gpu, 2), 0),
      fixed(1e-9 * roofline::group_bandwidth(s.gpu, gpus), 0), gpus, fixed(1e6 * seconds, 0));
}

std::string to_text(const catalog::Scenario& s, const roofline::Batch& batch,
                    const roofline::StepBreakdown& step, const std::string& trust) {
  std::string out = fmt::format(
      "{} in {} on {} x {} ({}), {}: one step with {} decoding "
      "sequences ({} context tokens)",
      s.model.title, model::formats_text(s), s.parallel.gpus(), s.gpu.title,
      study::parallel_text(s.parallel), s.engine.name, batch.sequences,
      fixed(double(batch.context[0]), 0));
  if (!batch.prefill.empty())
    out += fmt::format(" and a prefill chunk of {} tokens over {}", batch.prefill[0].tokens,
                       batch.prefill[0].cached);
  out += "\n\n" + operator_table(step).text() + '\n';
  out += fmt::format("  step      {} ms\n", fixed(step.seconds * 1e3, 3));
  for (std::size_t i = 0; i < bound_names.size(); ++i)
    if (step.seconds_by_bound.at(i) > 0)
      out += fmt::format("  {:<9} {} ms ({} %)\n", bound_names.at(i),
                         fixed(step.seconds_by_bound.at(i) * 1e3, 3),
                         fixed(100 * step.seconds_by_bound.at(i) / step.seconds, 1));
  if (s.speculation.on()) {
    const double tokens = s.speculation.tokens_per_step();
    out += fmt::format("  drafts    {}\n", catalog::describe(s.speculation));
    if (batch.prefill.empty() && batch.sequences > 0)
      out += fmt::format("  a token   {} ms of the step\n", fixed(step.seconds * 1e3 / tokens, 3));
  }
  const double peak = s.gpu.native_peak(catalog::Format::bf16);
  if (step.seconds > 0 && peak > 0)
    out += fmt::format("  achieved  {} of bandwidth, {} of bf16 peak\n",
                       fixed(100 * step.bytes / step.seconds / s.gpu.memory.bandwidth, 1) + " %",
                       fixed(100 * step.flops / step.seconds / peak, 1) + " %");
  out += fabric_text(s);
  return out + "  trust     " + trust + '\n';
}

}  // namespace

int explain_command(const Args& args) {
  const Spec spec = explain_spec();
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 1);
  const Common common = common_of(*parsed);
  const Question question =
      question_of(*parsed, parsed->words.empty() ? "" : parsed->words[0], common, Purpose::explain);
  if (parsed->values["print-scenario"].as<bool>()) {
    print(study::scenario_text(question.path, question.text, question.overrides));
    return 0;
  }
  const catalog::Scenario scenario = question.read();
  const auto steps = study::step_model_of(scenario);
  const roofline::Batch batch = batch_of(*parsed, *steps);
  const roofline::StepBreakdown step = steps->explain(batch);
  if (common.format == OutputFormat::json)
    print(to_json(scenario, batch, step, study::trust_of(scenario, *steps)).dump(2) + '\n');
  else if (common.format == OutputFormat::csv)
    print(operator_table(step).csv());
  else
    print(to_text(scenario, batch, step, study::trust_of(scenario, *steps)));
  return 0;
}

}  // namespace servegrid::cli
