// The `servegrid` command: the verb first, then its options.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "catalog/reader.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/external.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"size", "does the model fit, and how many conversations does it hold", size_command},
      {"run", "simulate one scenario: latency, throughput, queueing, preemption", run_command},
      {"compare", "several GPUs or set-ups side by side, and the sentence to quote",
       compare_command},
      {"capacity", "the largest load one set-up sustains within its objectives", capacity_command},
      {"plan", "from people and money to a set-up, with the reasons", plan_command},
      {"tune", "what to change on the GPUs one has, and why", tune_command},
      {"import", "a scenario from launch commands, logs, bench results and metrics",
       import_command},
      {"sweep", "every point of a scenario's sweep, in parallel", sweep_command},
      {"explain", "one engine step, operator by operator: what bounds it", explain_command},
      {"platform", "the simulated hardware of a scenario, as a graph", platform_command},
      {"catalog", "the GPUs, models, prices, engines and scenarios, with sources", catalog_command},
      {"model", "import a model from a Hugging Face config.json", model_command},
      {"new", "write a commented scenario to start from", new_command},
      {"report", "one HTML file from a results folder, to show and to print", report_command},
      {"ui", "a local page to try set-ups on", ui_command},
      {"diff", "why two result folders differ", diff_command},
      {"calibrate", "fit the step model to measured kernels", calibrate_command},
      {"validate", "predicted against measured serving runs", validate_command},
      {"workload", "describe a workload or a recorded trace: rates, lengths, prefixes",
       workload_command},
      {"completion", "completion script for bash or zsh", completion_command},
      {"help", "this list, or the help of one command", help_command},
  };
  return all;
}

namespace {

const char* const five_questions =
    "ServeGrid answers, before anyone rents or buys a GPU:\n\n"
    "  Does this model fit, and how many conversations does it hold?\n"
    "    servegrid size --model llama-3.1-70b --gpu b200 --weights bf16 --context 8K\n"
    "  How fast is each one, at this load?\n"
    "    servegrid run --model llama-3.1-70b --gpu h100 --tp 4 --isl 2000 --osl 500 "
    "--concurrency 32\n"
    "  Which GPU, and what happens when more users arrive?\n"
    "    servegrid compare --model llama-3.1-70b --gpu b200,mi355x --isl 7680 --osl 512 "
    "--concurrency 1,8,15,30,55\n"
    "  Why is a step as slow as it is?\n"
    "    servegrid explain --model llama-3.1-70b --gpu b200 --batch 32 --context 8K\n"
    "  What does it cost?\n"
    "    servegrid catalog compare b200 mi355x\n\n"
    "`servegrid help` lists every command; `servegrid COMMAND --help` has its options and "
    "examples.\n";

int dispatch(const Args& args) {
  if (args.empty()) {
    print(five_questions);
    return 0;
  }
  const std::string& verb = args[0];
  if (verb == "--help" || verb == "-h") return help_command({});
  if (verb == "--version") {
    print("servegrid " SERVEGRID_VERSION "\n");
    return 0;
  }
  std::vector<std::string> names;
  for (const auto& command : commands()) {
    if (verb == command.name) return command.run(Args(args.begin() + 1, args.end()));
    names.emplace_back(command.name);
  }
  const std::string program = find_external(verb);
  if (!program.empty()) run_external(program, Args(args.begin() + 1, args.end()));
  std::string message = "unknown command '" + verb + "'";
  const std::string near = catalog::nearest(verb, names);
  if (!near.empty()) message += ": did you mean 'servegrid " + near + "'?";
  throw InputError(message + "\n  `servegrid help` lists the commands");
}

}  // namespace

int help_command(const Args& args) {
  if (!args.empty() && args[0] != "--help" && args[0] != "-h") {
    Args rest(args);
    rest.emplace_back("--help");
    if (args[0] == "help") return help_command({});
    return dispatch(rest);
  }
  std::string text = "Usage: servegrid COMMAND [OPTIONS]\n\nCommands:\n";
  for (const auto& command : commands()) {
    std::string name = command.name;
    name.resize(12, ' ');
    text += "  " + name + command.summary + '\n';
  }
  text +=
      "\nServeGrid looks for its data beside the scenario, then in SERVEGRID_DATA, then where it "
      "is installed.\nExit codes: 0 done, 1 a run failed, 2 bad input, 3 nothing asked for is "
      "feasible\n`servegrid COMMAND --help` has each command's options and examples; "
      "`servegrid --version` the version.\n";
  print(text);
  return 0;
}

}  // namespace servegrid::cli

namespace {
constexpr std::size_t longest_line = 2000;  // of an error: it may quote what it read
}  // namespace

int main(int argc, char** argv) {
  using namespace servegrid;
  cli::end_on_interrupt();
  try {
    return cli::dispatch(cli::Args(argv + 1, argv + argc));
  } catch (const cli::BrokenPipe&) {
    return 0;  // the reader had enough
  } catch (const Error& e) {
    std::fprintf(stderr, "servegrid: %s\n", cli::harmless(e.what(), longest_line).c_str());
    return static_cast<int>(e.code());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "servegrid: out of memory\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "servegrid: internal error: %s\n",
                 cli::harmless(e.what(), longest_line).c_str());
  }
  return static_cast<int>(Exit::run_failed);
}
