// `servegrid size`: the memory ledger.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/flags.hpp"
#include "cli/table.hpp"
#include "memory/ledger.hpp"
#include "model/deployment.hpp"
#include "model/format_support.hpp"
#include "study/run.hpp"
#include "units/error.hpp"
#include "units/quantity.hpp"

namespace servegrid::cli {

namespace {

using Json = nlohmann::ordered_json;

Spec size_spec() {
  Spec spec;
  spec.verb = "size";
  spec.synopsis = "[SCENARIO] [OPTIONS]";
  spec.about =
      "Does the model fit, and how many conversations does it hold? Prints the memory ledger of "
      "one\n"
      "GPU: what is resident, what is left for the KV cache, and what that holds.\n";
  spec.examples =
      "  servegrid size --model llama-3.1-70b --gpu b200 --weights bf16 --context 8K\n"
      "  servegrid size --model llama-3.1-70b --gpu mi355x --rule weights_only --nominal\n"
      "  servegrid size --model meta-llama/Llama-3.1-70B --gpu h100 --tensor-parallel-size 4 --kv "
      "fp8\n"
      "  servegrid size scenarios/llama70b_8k_conversations.yaml --format json\n";
  po::options_description own("Size", 100, 58);
  own.add_options()("context", po::value<std::string>()->value_name("TOKENS"),
                    "length of a conversation (default: the scenario's, or 8K = 8192)")(
      "rule", po::value<std::string>()->value_name("RULE"),
      "engine (default): the engine's own accounting; articles: 1.2 GB per billion parameters and "
      "byte, 92 % usable, power-of-two groups; weights_only: label GB minus weights")(
      "nominal", po::bool_switch(),
      "count the parameters in the model's name (70 billion) in place of the real number");
  spec.options.add(own);
  add_scenario_flags(spec, Purpose::size);
  CommonUse use;
  use.set = true;
  add_common(spec, use);
  return spec;
}

memory::Rule rule_of(const std::string& text) {
  if (text.empty() || text == "engine") return memory::Rule::engine;
  if (text == "articles") return memory::Rule::articles;
  if (text == "weights_only" || text == "weights-only") return memory::Rule::weights_only;
  throw InputError("--rule is one of engine, articles, weights_only; not '" + text + "'");
}

const char* rule_name(memory::Rule rule) {
  switch (rule) {
    case memory::Rule::articles:
      return "articles";
    case memory::Rule::weights_only:
      return "weights_only";
    case memory::Rule::engine:
      break;
  }
  return "engine";
}

std::string set_up(const catalog::Scenario& s) {
  const std::string drafts =
      s.speculation.on() ? "\nDrafts: " + catalog::describe(s.speculation) : std::string();
  return fmt::format("{} in {} on {} x {} (TP {}, PP {}, EP {}, DP {}), KV cache {}, {}{}",
                     s.model.title, model::weights_text(s), s.parallel.gpus(), s.gpu.title,
                     s.parallel.tp, s.parallel.pp, s.parallel.ep, s.parallel.dp,
                     model::kv_cache_text(s), s.engine.name, drafts);
}

Json to_json(const catalog::Scenario& s, const memory::Ledger& ledger, memory::Rule rule,
             bool nominal) {
  Json lines = Json::array();
  for (const auto& line : ledger.lines)
    lines.push_back({{"name", line.name}, {"bytes", line.bytes}, {"source", line.source}});
  Json json = {
      {"command", "size"},
      {"model", s.model.name},
      {"gpu", s.gpu.name},
      {"gpus", s.parallel.gpus()},
      {"weights", catalog::name(s.weights)},
      {"kv_cache", catalog::name(s.knobs.kv_cache)},
      {"engine", s.engine.name},
      {"rule", rule_name(rule)},
      {"nominal_parameters", nominal},
      {"fits", ledger.fits},
      {"may_not_fit", ledger.may_not_fit},
      {"weights_bytes_per_gpu", ledger.weights_bytes_per_gpu},
      {"kv_bytes_per_token_per_gpu", ledger.kv_bytes_per_token_per_gpu},
      {"kv_bytes_per_gpu", ledger.kv_bytes_per_gpu},
      {"reserve_bytes", ledger.reserve_bytes},
      {"reserve_band_bytes", ledger.reserve_band_bytes},
      {"kv_capacity_tokens", ledger.kv_capacity_tokens},
      {"block_tokens", ledger.block_tokens},
      {"num_blocks", ledger.num_blocks},
      {"context_tokens", ledger.context_tokens},
      {"conversations", {{"exact", ledger.conversations}, {"whole", ledger.conversations_whole}}},
      {"gpus_needed", ledger.gpus_needed},
      {"ledger", lines},
      {"note", ledger.note}};
  if (ledger.gpus_needed == 0) json["gpus_needed"] = nullptr;
  return json;
}

Table ledger_table(const memory::Ledger& ledger) {
  Table table({"per GPU", "GiB", "GB", "source"});
  for (const auto& line : ledger.lines)
    table.row({line.name, fixed(line.bytes / (1024.0 * 1024 * 1024), 3), fixed(line.bytes / 1e9, 3),
               line.source});
  return table;
}

std::string verdict(const memory::Ledger& ledger) {
  if (!ledger.fits)
    return "Does not fit." +
           (ledger.gpus_needed > 0
                ? fmt::format(" It needs {} GPUs.", ledger.gpus_needed)
                : std::string(" No tensor-parallel group of up to 64 of these GPUs holds it."));
  std::string text = "Fits";
  if (ledger.may_not_fit)
    text = fmt::format("May not fit: the answer lies inside the reserve's band of +-{} GiB",
                       fixed(ledger.reserve_band_bytes / (1024.0 * 1024 * 1024), 2));
  return text + fmt::format(": {} ({}) conversations of {} tokens.", ledger.conversations_whole,
                            fixed(ledger.conversations, 2),
                            fixed(double(ledger.context_tokens), 0));
}

std::string to_text(const catalog::Scenario& s, const memory::Ledger& ledger, memory::Rule rule,
                    bool nominal) {
  std::string out =
      set_up(s) + "\nRule: " + rule_name(rule) +
      (nominal ? fmt::format(", {} billion parameters (nominal)", s.model.nominal_billions)
               : std::string()) +
      "\n\n" + ledger_table(ledger).text() + '\n';
  Table facts({"", "", ""});
  out += fmt::format("  weights per GPU            {}\n", both_units(ledger.weights_bytes_per_gpu));
  out += fmt::format("  KV bytes per token and GPU {}\n",
                     number(ledger.kv_bytes_per_token_per_gpu, 6));
  if (ledger.fits) {
    out += fmt::format("  KV cache                   {} tokens in {} blocks of {}\n",
                       fixed(double(ledger.kv_capacity_tokens), 0),
                       fixed(double(ledger.num_blocks), 0), ledger.block_tokens);
  }
  out += "\n" + verdict(ledger) + '\n';
  if (!ledger.note.empty()) out += ledger.note + '\n';
  return out;
}

}  // namespace

int size_command(const Args& args) {
  const Spec spec = size_spec();
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 1);
  const Common common = common_of(*parsed);
  const Question question =
      question_of(*parsed, parsed->words.empty() ? "" : parsed->words[0], common, Purpose::size);
  if (parsed->values["print-scenario"].as<bool>()) {
    print(study::scenario_text(question.path, question.text, question.overrides));
    return 0;
  }
  const catalog::Scenario scenario = question.read();
  memory::Options options;
  options.rule = rule_of(parsed->text("rule"));
  options.nominal_parameters = parsed->values["nominal"].as<bool>();
  if (parsed->has("context")) {
    std::string text = parsed->text("context");
    if (text.find("token") == std::string::npos) text += " tokens";
    options.context_tokens =
        static_cast<std::int64_t>(units::parse(text, units::Dimension::tokens));
    if (options.context_tokens < 1) throw InputError("--context needs at least one token");
  } else if (!question.path.empty()) {
    options.context_tokens = study::conversation_tokens(scenario.workload);
  }
  model::check(model::deployment_of(scenario));
  const memory::Ledger ledger = memory::size(scenario, options);
  if (common.format == OutputFormat::json)
    print(to_json(scenario, ledger, options.rule, options.nominal_parameters).dump(2) + '\n');
  else if (common.format == OutputFormat::csv)
    print(ledger_table(ledger).csv());
  else
    print(to_text(scenario, ledger, options.rule, options.nominal_parameters));
  return ledger.fits ? 0 : static_cast<int>(Exit::infeasible);
}

}  // namespace servegrid::cli
