// `servegrid import`: a scenario from a launch command, logs, bench results, request logs and
// metrics.
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "catalog/catalog.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"
#include "import/import.hpp"
#include "study/folder.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

Spec import_spec() {
  Spec spec;
  spec.verb = "import";
  spec.synopsis = "FILE ... [OPTIONS]";
  spec.about =
      "A scenario from what you have: a `vllm serve`, SGLang or trtllm-serve command line, an "
      "engine's start-up\nlog, the JSON of `vllm bench serve`, a request log (CSV), a Prometheus "
      "export. What each file is, is seen\nfrom its content; later files win. Says what it read, "
      "what "
      "it assumed and what it could not represent.\n";
  spec.examples =
      "  servegrid import --command 'vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 4' --gpu "
      "h100\n"
      "  servegrid import startup.log bench.json --gpu b200 > observed.yaml\n"
      "  servegrid import requests.csv launch.sh --gpu h200 --output imported   # with the trace\n";
  po::options_description group("Sources", 100, 58);
  auto add = group.add_options();
  add("command", po::value<std::vector<std::string>>()->composing()->value_name("TEXT"),
      "a launch command as text (repeatable, read before the files)");
  add("gpu", po::value<std::string>()->value_name("NAME"), "GPU: few sources say it");
  spec.options.add(group);
  CommonUse use;
  use.output = use.set = true;
  use.csv = false;
  add_common(spec, use);
  return spec;
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + ": cannot be read", {path, 0, 0});
  std::string text;
  std::vector<char> buffer(1u << 20);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), in.gcount() > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > (64u << 20)) throw InputError(path + ": is larger than 64 MiB", {path, 0, 0});
  }
  return text;
}

std::string commented(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string out = fmt::format("# {}\n", title);
  for (const auto& line : lines) out += "#   " + line + '\n';
  return out;
}

std::string document(const importer::Imported& in) {
  std::vector<std::string> observed;
  for (const auto& [name, value] : in.observed)
    observed.push_back(fmt::format("{}: {:.6g}", name, value));
  return "# made by servegrid import\n" + commented("assumed:", in.assumed) +
         commented("could not be represented:", in.not_represented) +
         commented("without effect on speed:", in.without_effect) +
         commented("observed:", observed) + in.scenario;
}

}  // namespace

int import_command(const Args& args) {
  const Spec spec = import_spec();
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  const Common common = common_of(*parsed);
  if (parsed->words.empty() && !parsed->has("command"))
    throw InputError("needs a file, or --command with a launch command");
  if (!common.output.empty()) study::check_output_folder(common.output);
  std::vector<importer::Source> sources;
  for (const auto& text : parsed->list("command")) sources.push_back({"--command", text});
  for (const auto& word : parsed->words) sources.push_back({word, content_of(word)});
  importer::Options options;
  options.gpu = parsed->text("gpu");
  options.set = common.set;
  options.keep_trace = !common.output.empty();
  const importer::Imported in = importer::import_all(sources, options);
  catalog::Overrides rest;
  for (const auto& item : common.set)
    if (item.first != "model") rest.push_back(item);
  const std::string text = document(in);
  // What is printed can be run; a trace is written beside it first.
  if (in.trace_csv.empty()) static_cast<void>(catalog::read_scenario_text(text, "imported", rest));
  nlohmann::ordered_json observed = nlohmann::ordered_json::object();
  for (const auto& [name, value] : in.observed) observed[name] = value;
  if (!common.output.empty()) {
    study::Files files = {{"scenario.yaml", text}};
    if (!in.trace_csv.empty()) files.emplace_back("trace.csv", in.trace_csv);
    if (!in.observed.empty()) files.emplace_back("observed.json", observed.dump(2) + '\n');
    const HoldInterrupts hold;
    study::write_folder(common.output, files);
  }
  if (common.format == OutputFormat::json) {
    const nlohmann::ordered_json json = {{"command", "import"},
                                         {"scenario", in.scenario},
                                         {"read", in.read},
                                         {"assumed", in.assumed},
                                         {"not_represented", in.not_represented},
                                         {"without_effect", in.without_effect},
                                         {"observed", observed}};
    print(json.dump(2) + '\n');
  } else if (common.output.empty()) {
    print(text);
  } else {
    print(commented("assumed:", in.assumed) +
          commented("could not be represented:", in.not_represented) +
          fmt::format("{}/scenario.yaml\n", common.output));
  }
  return 0;
}

}  // namespace servegrid::cli
