// `servegrid platform show`: the simulated hardware of a scenario as a graph.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/flags.hpp"
#include "cluster/platform.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

using Json = nlohmann::ordered_json;

Spec platform_spec() {
  Spec spec;
  spec.verb = "platform show";
  spec.synopsis = "[SCENARIO] [OPTIONS]";
  spec.about =
      "The platform a scenario runs on, as Graphviz DOT: GPUs, host CPUs, NICs and switches with "
      "the bandwidth of each link, one way.\nPools are placed in order; servers are scale-up "
      "domains.\n";
  spec.examples =
      "  servegrid platform show disaggregated | dot -Tsvg -o platform.svg\n"
      "  servegrid platform show --model llama-3.1-70b --gpu mi355x --tp 8\n";
  add_scenario_flags(spec, Purpose::explain);
  CommonUse use;
  use.set = true;
  use.csv = false;
  add_common(spec, use);
  return spec;
}

std::string to_json(const catalog::Scenario& s, const cluster::Platform& p) {
  Json nodes = Json::array(), links = Json::array(), replicas = Json::array();
  constexpr const char* kinds[] = {"gpu", "cpu", "nic", "fabric", "pcie", "leaf", "spine", "other"};
  for (const auto& node : p.nodes) {
    nodes.push_back({{"name", node.name},
                     {"kind", kinds[static_cast<int>(node.kind)]},
                     {"server", node.server >= 0 ? Json(node.server) : Json()}});
  }
  for (const auto& link : p.links) {
    links.push_back({{"from", p.nodes.at(static_cast<std::size_t>(link.from)).name},
                     {"to", p.nodes.at(static_cast<std::size_t>(link.to)).name},
                     {"bandwidth", link.bandwidth},
                     {"latency", link.latency}});
  }
  const auto pools = catalog::pools_of(s);
  for (const cluster::Place& place : cluster::place(pools).replicas) {
    replicas.push_back({{"pool", pools.at(static_cast<std::size_t>(place.pool)).name},
                        {"first_gpu", place.first_gpu},
                        {"gpus", place.gpus}});
  }
  return Json{{"command", "platform show"},
              {"nodes", nodes},
              {"links", links},
              {"replicas", replicas}}
             .dump(2) +
         '\n';
}

}  // namespace

int platform_command(const Args& args) {
  const Spec spec = platform_spec();
  if (args.empty() || args.front() == "--help" || args.front() == "-h") {
    (void)parse(spec, {"--help"});
    return args.empty() ? 2 : 0;
  }
  if (args.front() != "show") {
    throw InputError("platform: unknown action '" + args.front() + "'; there is: show");
  }
  const auto parsed = parse(spec, Args(args.begin() + 1, args.end()));
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 1);
  const Common common = common_of(*parsed);
  const Question question =
      question_of(*parsed, parsed->words.empty() ? "" : parsed->words[0], common, Purpose::explain);
  const catalog::Scenario scenario = question.read();
  constexpr int most_gpus = 4096;
  const int gpus = cluster::place(catalog::pools_of(scenario)).gpus;
  if (gpus > most_gpus) {
    throw InputError(fmt::format("the platform has {} GPUs; at most {} are drawn: lower replicas",
                                 gpus, most_gpus));
  }
  const cluster::Platform platform = cluster::platform_of(scenario);
  print(common.format == OutputFormat::json ? to_json(scenario, platform)
                                            : cluster::to_dot(platform));
  return 0;
}

}  // namespace servegrid::cli
