#include "cli/plan_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "units/error.hpp"

namespace servegrid::cli {

namespace {

struct Flag {
  const char* name;
  const char* path;
  bool list;
  const char* value;
  const char* help;
};

constexpr std::array<Flag, 27> flags = {{
    {"model", "model", false, "NAME", "model: catalogue name, Hugging Face id, or a .yaml file"},
    {"preset", "load.preset", false, "NAME",
     "what people do: chat, rag, code, agent, summarise, reasoning"},
    {"users", "load.users", false, "N", "how many people"},
    {"chats-per-day", "load.chats_per_day", false, "N", "of each (default: the preset's)"},
    {"working-hours", "load.working_hours", false, "FROM-TO", "such as 09:00-18:00"},
    {"daily-curve", "load.daily_curve", false, "NAME", "office, consumer or flat"},
    {"growth", "load.growth", false, "RATIO", "to plan for, such as '30 %'"},
    {"request-rate", "rate", false, "RATE", "the load as requests/s, with --isl and --osl"},
    {"isl", "isl", false, "TOKENS", "prompt length, with --request-rate"},
    {"osl", "osl", false, "TOKENS", "answer length, with --request-rate"},
    {"gpu", "candidates.gpu", true, "NAMES", "GPUs to consider, comma-separated"},
    {"tp", "candidates.tp", true, "N,...", "tensor parallelism (default 1,2,4,8)"},
    {"pp", "candidates.pp", true, "N,...", "pipeline stages (default 1)"},
    {"ep", "candidates.ep", true, "N,...", "expert parallelism (default 1)"},
    {"dp", "candidates.dp", true, "N,...", "attention data parallelism (default 1)"},
    {"weights", "candidates.weights", true, "FORMATS", "the first that works is the choice"},
    {"kv", "candidates.kv", true, "FORMATS", "KV-cache formats (default auto)"},
    {"engine", "candidates.engine", true, "NAMES", "vllm, sglang, trtllm, or versions"},
    {"prices", "prices", true, "SHEETS", "price sheets by name; there is no default"},
    {"budget", "budget", false, "SUM", "such as '20000 USD/month'"},
    {"gpus", "gpus", false, "N", "GPUs at hand (goal goodput)"},
    {"max-gpus", "constraints.max_gpus", false, "N", "of a plan"},
    {"max-power", "constraints.max_power", false, "POWER", "such as '40 kW'"},
    {"min-fp64", "constraints.min_fp64", false, "RATE", "of a GPU, such as '30 TFLOPS'"},
    {"spare-nodes", "constraints.spare_nodes", false, "N", "nodes that may fail (1: N+1)"},
    {"goal", "goal", false, "GOAL", "cheapest (default), budget, goodput, latency, fewest-gpus"},
    {"router", "router", false, "NAME", "how requests are routed to replicas"},
}};

std::string scalar(const std::string& value) {
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + '"';
}

// Numbers stay bare: a quoted number is text.
std::string written(const std::string& value) {
  const bool bare = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._/ -").find(c) != std::string_view::npos;
  });
  return bare && value.front() != '-' && value.front() != ' ' && value.back() != ' '
             ? value
             : scalar(value);
}

std::string list_of(const std::vector<std::string>& given) {
  std::string out = "[";
  for (const auto& text : given) {
    std::size_t start = 0;
    while (start <= text.size()) {
      const auto end = std::min(text.find(',', start), text.size());
      out += (out.size() > 1 ? ", " : "") + written(text.substr(start, end - start));
      start = end + 1;
    }
  }
  return out + "]";
}

// "b200=3.10/h" -> {b200, "3.10 USD/h"}
std::pair<std::string, std::string> price_of(const std::string& text) {
  const auto equals = text.find('='), slash = text.find('/');
  if (equals == std::string::npos || equals == 0 || slash == std::string::npos || slash < equals)
    throw InputError("--price takes GPU=SUM/h or GPU=SUM/month, such as b200=3.10/h, not '" + text +
                     "'");
  std::string sum = text.substr(equals + 1, slash - equals - 1);
  const bool bare = sum.find_first_not_of("0123456789.") == std::string::npos;
  return {text.substr(0, equals), sum + (bare ? " USD" : "") + text.substr(slash)};
}

std::string bare_tokens(const std::string& text) {
  return text.find_first_not_of("0123456789.kK") == std::string::npos ? text + " tokens" : text;
}

std::string workload(const Parsed& parsed) {
  for (const char* flag : {"isl", "osl"})
    if (!parsed.has(flag)) throw InputError(std::string("--request-rate needs --") + flag);
  std::string rate = parsed.list("request-rate").back();
  if (rate.find_first_not_of("0123456789.") == std::string::npos) rate += " /s";
  return fmt::format("{{open: {{rate: {}, prompt: {}, output: {}}}, requests: 1000}}", rate,
                     bare_tokens(parsed.list("isl").back()),
                     bare_tokens(parsed.list("osl").back()));
}

}  // namespace

void add_plan_flags(Spec& spec) {
  po::options_description group("The plan", 100, 58), search("Search", 100, 58);
  for (const auto& flag : flags)
    group.add_options()(flag.name,
                        po::value<std::vector<std::string>>()->composing()->value_name(flag.value),
                        flag.help);
  auto add = group.add_options();
  add("slo", po::value<std::vector<std::string>>()->composing()->value_name("OBJECTIVE"),
      "'p99 ttft <= 2 s', 'mean tpot <= 50 ms' (repeatable, all hold; default: the preset's)");
  add("price", po::value<std::vector<std::string>>()->composing()->value_name("GPU=SUM/h"),
      "an own price: b200=3.10/h (repeatable)");
  add("cuda-only", po::bool_switch(), "only GPUs that run CUDA");
  add("whole-servers", po::bool_switch(), "only whole servers");
  add("print-plan", po::bool_switch(), "print the plan (YAML) that was asked for, and stop");
  spec.options.add(group);
  auto more = search.add_options();
  more("finalists", po::value<std::string>()->value_name("N"),
       "of each precision and price sheet, simulated as whole fleets (3)");
  more("least-requests", po::value<std::string>()->value_name("N"),
       "simulated at each load while searching, at least (400)");
  more("no-sensitivity", po::bool_switch(), "leave the sensitivity of the chosen plan out");
  spec.options.add(search);
}

PlanQuestion plan_question_of(const Parsed& parsed, const Common& common) {
  PlanQuestion question;
  if (!parsed.words.empty()) question.path = parsed.words[0];
  // As overrides beside a file; otherwise they are laid over an empty plan, which is the same.
  catalog::Overrides& set = question.overrides;
  for (const auto& flag : flags) {
    if (!parsed.has(flag.name)) continue;
    const auto given = parsed.list(flag.name);
    const std::string path = flag.path;
    if (path == "isl" || path == "osl") continue;
    if (given.size() > 1 && !flag.list)
      throw InputError(std::string("--") + flag.name + " takes one value");
    if (path == "rate")
      set.emplace_back("load.workload", workload(parsed));
    else
      set.emplace_back(path, flag.list ? list_of(given) : given.front());
  }
  if (parsed.has("slo")) {
    std::string list = "[";
    for (const auto& text : parsed.list("slo"))
      list += (list.size() > 1 ? ", " : "") + scalar(text);
    set.emplace_back("slo", list + "]");
  }
  for (const auto& text : parsed.list("price")) {
    const auto [gpu, price] = price_of(text);
    set.emplace_back("price." + gpu, price);
  }
  for (const char* name : {"cuda-only", "whole-servers"})
    if (parsed.values[name].as<bool>()) {
      std::string key = name;
      std::replace(key.begin(), key.end(), '-', '_');
      set.emplace_back("constraints." + key, "true");
    }
  if (question.path.empty()) {
    for (const char* need : {"model", "gpu", "engine", "weights"})
      if (!parsed.has(need))
        throw InputError(std::string("needs --") + need + ", or the name of a plan");
    if (!parsed.has("preset") && !parsed.has("request-rate"))
      throw InputError(
          "needs a load: --preset chat --users 2000, or --request-rate with --isl and --osl");
    question.text = "description: from flags\n";
  }
  set.insert(set.end(), common.set.begin(), common.set.end());
  return question;
}

}  // namespace servegrid::cli
