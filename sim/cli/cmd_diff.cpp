// `servegrid diff A B`: why two result folders differ.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/options.hpp"
#include "cli/table.hpp"
#include "study/diff.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

std::string table_text(const std::vector<study::Difference>& all) {
  if (all.empty()) return "no difference\n";
  const std::vector<std::pair<const char*, const char*>> parts = {
      {"scenario", "What was asked:"},
      {"version", "The model and data behind it:"},
      {"result", "What came out:"}};
  std::string out;
  for (const auto& [kind, title] : parts) {
    Table table({"key", "A", "B"});
    for (const auto& d : all)
      if (d.kind == kind) table.row({d.key, d.a, d.b});
    if (table.empty()) continue;
    if (!out.empty()) out += '\n';
    out += std::string(title) + '\n' + table.text("  ");
  }
  const bool asked = std::any_of(all.begin(), all.end(),
                                 [](const study::Difference& d) { return d.kind == "scenario"; });
  const bool version = std::any_of(all.begin(), all.end(),
                                   [](const study::Difference& d) { return d.kind == "version"; });
  if (!asked && !version)
    out += "\nThe scenarios and versions are the same: the results should not differ.\n";
  return out;
}

}  // namespace

int diff_command(const Args& args) {
  Spec spec;
  spec.verb = "diff";
  spec.synopsis = "FOLDER_A FOLDER_B [OPTIONS]";
  spec.about =
      "Why two results differ: the scenario's keys, the model version and fits, and the metrics.\n";
  spec.examples = "  servegrid diff results/before results/after\n";
  add_common(spec, {});
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 2);
  if (parsed->words.size() < 2) throw InputError("diff needs two result folders");
  const Common common = common_of(*parsed);
  const auto all = study::diff_results(parsed->words[0], parsed->words[1]);
  if (common.format == OutputFormat::table) {
    print(table_text(all));
    return 0;
  }
  if (common.format == OutputFormat::csv) {
    Table table({"kind", "key", "a", "b"});
    for (const auto& d : all) table.row({d.kind, d.key, d.a, d.b});
    print(table.csv());
    return 0;
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& d : all)
    list.push_back({{"kind", d.kind}, {"key", d.key}, {"a", d.a}, {"b", d.b}});
  print(nlohmann::ordered_json({{"command", "diff"}, {"differences", list}}).dump(2) + '\n');
  return 0;
}

}  // namespace servegrid::cli
