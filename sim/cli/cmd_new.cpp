// `servegrid new FILE`: a commented scenario to start from.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "catalog/catalog.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"
#include "units/error.hpp"

namespace servegrid::cli {

namespace {

std::string scenario_template(const std::string& model, const std::string& gpu) {
  return "# A ServeGrid scenario: the question, and the only thing a run needs.\n"
         "#   servegrid size THIS      does it fit?        servegrid run THIS    how fast is it?\n"
         "#   servegrid compare THIS   every point of `sweep`, side by side\n"
         "description: What is asked, in one line\n"
         "model: " +
         model +
         "          # servegrid catalog lists them; a Hugging Face id or a .yaml file works too\n"
         "weights: bf16                 # bf16, fp8, fp8-block, nvfp4, mxfp4, int4-g128, ...\n"
         "replica: {gpu: " +
         gpu +
         ", tp: 1}       # also pp, ep, dp (attention data parallelism)\n"
         "replicas: 1                   # copies of the model behind one router\n"
         "engine: {profile: vllm}       # any knob by the engine's own name: max_num_seqs: 256\n"
         "workload:                     # exactly one of closed, open, conversations, trace\n"
         "  closed: {concurrent: 8, prompt: 2000 tokens, output: 500 tokens}\n"
         "  # open: {rate: 3 /s, prompt: 2000 tokens, output: 500 tokens}\n"
         "  # conversations: {concurrent: 15, history: 7168 tokens, turn_input: 300 tokens,\n"
         "  #                 output: 212 tokens, turns: 8, think_time: 10 s}\n"
         "  requests: 80                # in all\n"
         "slo: {ttft: 2 s, tpot: 50 ms}\n"
         "seed: 1\n"
         "# sweep:                      # for `compare` and `sweep`: every combination\n"
         "#   replica.gpu: [b200, mi355x]\n"
         "#   workload.closed.concurrent: [1, 8, 32]\n";
}

}  // namespace

int new_command(const Args& args) {
  Spec spec;
  spec.verb = "new";
  spec.synopsis = "FILE.yaml [OPTIONS]";
  spec.about = "Writes a commented scenario to start from. Never overwrites a file.\n";
  spec.examples =
      "  servegrid new study.yaml\n"
      "  servegrid new study.yaml --model qwen3-32b --gpu h100\n";
  spec.options.add_options()("model", po::value<std::string>()->value_name("NAME"),
                             "model (default llama-3.1-70b)")(
      "gpu", po::value<std::string>()->value_name("NAME"), "GPU (default b200)");
  const auto parsed = parse(spec, args);
  if (!parsed) return 0;
  at_most_words(spec, *parsed, 1);
  if (parsed->words.empty()) throw InputError("new needs the name of the file to write");
  const std::string& path = parsed->words[0];
  const catalog::Catalog catalog;
  const std::string model =
      catalog.model(parsed->has("model") ? parsed->text("model") : "llama-3.1-70b").name;
  const std::string gpu = catalog.gpu(parsed->has("gpu") ? parsed->text("gpu") : "b200").name;
  const std::string text = scenario_template(model, gpu);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0)
    throw InputError("cannot write " + path + ": " +
                     (errno == EEXIST ? "it exists, and is not overwritten; choose another name"
                                      : std::strerror(errno)));
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (::close(file) != 0 || !whole) {
    ::unlink(path.c_str());
    throw RunError("cannot write " + path + ": " + std::strerror(errno));
  }
  print("wrote " + path + "\n  servegrid run " + path + "\n");
  return 0;
}

}  // namespace servegrid::cli
