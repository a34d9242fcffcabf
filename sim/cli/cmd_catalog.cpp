// `servegrid catalog`: what can be named, with its sources.
#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "catalog/reader.hpp"
#include "cli/catalog_tables.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"
#include "cli/table.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

using Json = nlohmann::ordered_json;
using catalog::Catalog;

Spec catalog_spec() {
  Spec spec;
  spec.verb = "catalog";
  spec.synopsis = "[show NAME | compare GPU ...] [OPTIONS]";
  spec.about =
      "The GPUs, models, price sheets, engines and scenarios that can be named.\n"
      "  catalog                 lists them\n"
      "  catalog show NAME       one of them, with the source of each value\n"
      "  catalog compare GPU ... data sheets side by side, with prices per GB and per TFLOPS\n";
  spec.examples =
      "  servegrid catalog\n"
      "  servegrid catalog show mi355x\n"
      "  servegrid catalog compare b200 mi355x b300\n"
      "  servegrid catalog --names gpus\n";
  spec.options.add_options()("names", po::value<std::string>()->value_name("KIND"),
                             "bare names, one a line: gpus, models, prices, engines, scenarios")(
      "set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
      "override a value of a GPU profile: 'memory.bandwidth=8.8 TB/s'");
  add_common(spec, {});
  return spec;
}

std::vector<std::pair<std::string, std::vector<std::string>>> everything(const Catalog& catalog) {
  return {{"gpus", catalog.gpu_names()},
          {"models", catalog.model_names()},
          {"prices", catalog.price_names()},
          {"engines", catalog.engine_names()},
          {"scenarios", catalog.scenario_names()}};
}

int names(const Catalog& catalog, const std::string& kind) {
  std::vector<std::string> kinds;
  for (const auto& [name, list] : everything(catalog)) {
    kinds.push_back(name);
    if (name != kind) continue;
    std::string out;
    for (const auto& item : list) out += item + '\n';
    print(out);
    return 0;
  }
  throw InputError("--names takes gpus, models, prices, engines or scenarios; not '" + kind + "'");
}

int list(const Catalog& catalog, OutputFormat format) {
  if (format == OutputFormat::json) {
    Json json = {{"command", "catalog"}};
    for (const auto& [name, items] : everything(catalog)) json[name] = items;
    print(json.dump(2) + '\n');
    return 0;
  }
  if (format == OutputFormat::csv) {
    Table table({"kind", "name"});
    for (const auto& [name, items] : everything(catalog))
      for (const auto& item : items) table.row({name, item});
    print(table.csv());
    return 0;
  }
  print(catalog_text(catalog));
  return 0;
}

int show(const Catalog& catalog, const std::string& name, const Common& common) {
  const auto file = [&](const std::vector<std::string>& all, const char* kind) {
    for (const auto& known : all)
      if (known == name) return catalog.find_file(kind, name);
    return std::string();
  };
  if (const auto path = file(catalog.price_names(), "hw_profiles/prices"); !path.empty()) {
    print(show_text(path, common.format));
    return 0;
  }
  if (const auto path = file(catalog.engine_names(), "engines"); !path.empty()) {
    print(show_text(path, common.format));
    return 0;
  }
  if (const auto path = file(catalog.scenario_names(), "scenarios"); !path.empty()) {
    print(show_text(path, common.format));
    return 0;
  }
  for (const auto& attempt : std::vector<std::function<std::string()>>{
           [&] { return catalog.gpu(name).file; }, [&] { return catalog.model(name).file; },
           [&] { return catalog.engine(name).file; }}) {
    std::string path;
    try {
      path = attempt();
    } catch (const InputError&) {
      continue;  // not of this kind; the last word is below
    }
    print(show_text(path, common.format));
    return 0;
  }
  std::vector<std::string> all;
  for (const auto& [kind, items] : everything(catalog))
    all.insert(all.end(), items.begin(), items.end());
  const std::string near = catalog::nearest(name, all);
  throw InputError("nothing in the catalogue is called '" + name + "'" +
                   (near.empty() ? std::string() : ": did you mean '" + near + "'?") +
                   "\n  `servegrid catalog` lists what is there");
}

}  // namespace

int catalog_command(const Args& args) {
  const Spec spec = catalog_spec();
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  const Common common = common_of(*parsed);
  const Catalog catalog;
  const auto& words = parsed->words;
  if (parsed->has("names")) {
    at_most_words(spec, *parsed, 0);
    return names(catalog, parsed->text("names"));
  }
  if (words.empty()) return list(catalog, common.format);
  if (words[0] == "show") {
    at_most_words(spec, *parsed, 2);
    if (words.size() != 2) throw InputError("catalog show needs a name");
    if (!common.set.empty())
      throw InputError("catalog show prints a file as it is written; --set is for catalog compare");
    return show(catalog, words[1], common);
  }
  if (words[0] == "compare") {
    if (words.size() < 2) throw InputError("catalog compare needs the names of GPUs");
    std::vector<catalog::Gpu> gpus;
    for (std::size_t i = 1; i < words.size(); ++i)
      gpus.push_back(catalog.gpu(words[i], common.set));
    print(compare_text(catalog, gpus, common.format));
    return 0;
  }
  const std::string near = catalog::nearest(words[0], {"show", "compare"});
  throw InputError("unknown catalog command '" + words[0] + "'" +
                   (near.empty() ? ": show or compare" : ": did you mean '" + near + "'?"));
}

}  // namespace servegrid::cli
