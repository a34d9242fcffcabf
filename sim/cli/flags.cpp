#include "cli/flags.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "units/error.hpp"

namespace servegrid::cli {

namespace {

// No value of the scenario by itself: it makes the lengths beside it a range.
constexpr const char* spread_path = "spread";

struct Flag {
  const char* name;
  const char* path;  // in the scenario; {load} stands for workload.closed, .open, ...
  const char* unit;  // appended to a bare number
  const char* value;
  const char* help;
};

const std::vector<Flag>& deployment_flags() {
  static const std::vector<Flag> flags = {
      {"model", "model", "", "NAME", "model: catalogue name, Hugging Face id, or a .yaml file"},
      {"gpu", "replica.gpu", "", "NAME", "GPU: catalogue name, alias, or a .yaml file"},
      {"weights", "weights", "", "FORMAT",
       "weights format: bf16, fp8, fp8-block, nvfp4, mxfp4, int4-g128, ... (default: the model's)"},
      {"kv", "engine.kv_cache_dtype", "", "FORMAT", "KV-cache format: bf16, fp8, ..."},
      {"tp", "replica.tp", "", "N", "tensor parallelism"},
      {"pp", "replica.pp", "", "N", "pipeline parallelism"},
      {"ep", "replica.ep", "", "N", "expert parallelism"},
      {"dp", "replica.dp", "", "N", "attention data parallelism inside a replica"},
      {"replicas", "replicas", "", "N", "copies of the model behind one router"},
      {"router", "router", "", "NAME", "how requests are routed to replicas"},
      {"engine", "engine.profile", "", "NAME",
       "serving engine: vllm (default), sglang, trtllm, or a version (vllm-0.24)"},
      {"gpu-memory-utilization", "engine.gpu_memory_utilization", "", "X", "vLLM"},
      {"max-num-seqs", "engine.max_num_seqs", "", "N", "vLLM"},
      {"max-num-batched-tokens", "engine.max_num_batched_tokens", "", "N", "vLLM"},
      {"max-model-len", "engine.max_model_len", "", "N", "vLLM"},
      {"block-size", "engine.block_size", "", "N", "vLLM"},
      {"enable-prefix-caching", "engine.enable_prefix_caching", "", "true|false", "vLLM"},
      {"enable-chunked-prefill", "engine.enable_chunked_prefill", "", "true|false",
       "vLLM, TensorRT-LLM"},
      {"max-running-requests", "engine.max_running_requests", "", "N", "SGLang"},
      {"chunked-prefill-size", "engine.chunked_prefill_size", "", "N", "SGLang"},
      {"mem-fraction-static", "engine.mem_fraction_static", "", "X", "SGLang"},
      {"context-length", "engine.context_length", "", "N", "SGLang"},
      {"page-size", "engine.page_size", "", "N", "SGLang"},
      {"max-batch-size", "engine.max_batch_size", "", "N", "TensorRT-LLM"},
      {"max-num-tokens", "engine.max_num_tokens", "", "N", "TensorRT-LLM"},
      {"max-seq-len", "engine.max_seq_len", "", "N", "TensorRT-LLM"},
      {"free-gpu-memory-fraction", "engine.free_gpu_memory_fraction", "", "X", "TensorRT-LLM"},
      {"num-gpu-blocks", "memory.num_gpu_blocks", "", "N",
       "measured KV blocks of a replica, in place of the ledger's"},
  };
  return flags;
}

const std::vector<Flag>& load_flags() {
  static const std::vector<Flag> flags = {
      {"concurrency", "{load}.concurrent", "", "N", "closed loop: requests (users) at once"},
      {"request-rate", "{load}.rate", " /s", "RATE",
       "open loop: arrivals a second, Poisson; with --concurrency: at most so many at once"},
      {"burstiness", "{load}.burstiness", "", "X",
       "shape of the Gamma gaps of an open loop: 1 is Poisson, below 1 is burstier"},
      {"isl", "{load}.prompt", " tokens", "TOKENS", "input length"},
      {"osl", "{load}.output", " tokens", "TOKENS", "output length"},
      {"spread", spread_path, "", "SHARE",
       "lengths are uniform within this share of --isl and --osl: 0.2 or 20%"},
      {"turns", "{load}.turns", "", "N", "conversations: turns before a user starts a new one"},
      {"history", "{load}.history", " tokens", "TOKENS",
       "conversations: tokens already said when a user arrives"},
      {"turn-input", "{load}.turn_input", " tokens", "TOKENS", "conversations: new tokens a turn"},
      {"think-time", "{load}.think_time", " s", "TIME", "conversations: pause between turns"},
      {"num-prompts", "workload.requests", "", "N",
       "requests in all (default: 10 per concurrent one, 500 in an open loop)"},
      {"warmup", "workload.warmup", "", "X",
       "left out of the latencies: '10 %' of the requests, the first '30 s', or auto"},
      {"duration", "workload.duration", " s", "TIME",
       "stop after this time, whatever is in flight"},
      {"precision", "workload.precision", "", "SHARE",
       "stop when mean TTFT and TPOT are known to within it: '5 %'"},
      {"slo-ttft", "slo.ttft", " s", "TIME", "objective for the time to first token"},
      {"slo-tpot", "slo.tpot", " s", "TIME", "objective for the time per output token: '50 ms'"},
      {"prices", "prices", "", "SHEETS", "price sheets, comma-separated (default: all)"},
  };
  return flags;
}

// vLLM's spelling, and other names people type.
const std::vector<std::pair<std::string, std::string>> spellings = {
    {"--tensor-parallel-size", "--tp"}, {"--pipeline-parallel-size", "--pp"},
    {"--expert-parallel-size", "--ep"}, {"--data-parallel-size", "--dp"},
    {"--dtype", "--weights"},           {"--quantization", "--weights"},
    {"--kv-cache-dtype", "--kv"},       {"--max-concurrency", "--concurrency"},
    {"--users", "--concurrency"},       {"--requests", "--num-prompts"},
    {"--random-input-len", "--isl"},    {"--random-output-len", "--osl"},
    {"--range-ratio", "--spread"},      {"--random-range-ratio", "--spread"},
};

bool bare_number(const std::string& text) {
  if (text.empty() || !(std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '.'))
    return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) || c == '.' || c == 'K' || c == 'k';
  });
}

std::string with_unit(const Flag& flag, const std::string& value) {
  const std::string unit = flag.unit;
  // Lengths and rates are bare on every benchmark's command line; times are not: 50 could be ms.
  if (unit.empty() || unit == " s" || !bare_number(value)) return value;
  return value + unit;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// A YAML scalar: plain where nothing in it could be read as syntax.
std::string scalar(const std::string& value) {
  const bool plain = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._/+ -").find(c) != std::string_view::npos;
  });
  if (plain && value.front() != ' ' && value.back() != ' ' && value.front() != '-') return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + '"';
}

std::string list(const std::vector<std::string>& values) {
  std::string text = "[";
  for (const auto& value : values) text += (text.size() > 1 ? ", " : "") + scalar(value);
  return text + "]";
}

// Values by path, in the order given, written as nested YAML maps. A list of several is a sweep.
class Document {
 public:
  void add(const std::string& path, std::vector<std::string> values) {
    if (values.size() > 1 && path != "prices") sweep_.emplace_back(path, values);
    leaves_.emplace_back(path, std::move(values));
  }
  void add(const std::string& path, const std::string& value) { add(path, std::vector{value}); }
  [[nodiscard]] bool has(const std::string& path) const {
    return std::any_of(leaves_.begin(), leaves_.end(),
                       [&](const auto& leaf) { return leaf.first == path; });
  }
  [[nodiscard]] std::string text() const {
    std::string out = level("", "");
    if (!sweep_.empty()) {
      out += "sweep:\n";
      for (const auto& [path, values] : sweep_) out += "  " + path + ": " + list(values) + '\n';
    }
    return out;
  }

 private:
  [[nodiscard]] std::string level(const std::string& prefix, const std::string& indent) const {
    std::string out;
    std::vector<std::string> seen;
    for (const auto& [path, values] : leaves_) {
      if (path.rfind(prefix, 0) != 0) continue;
      const std::string rest = path.substr(prefix.size());
      const std::string key = rest.substr(0, rest.find('.'));
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
      seen.push_back(key);
      out += indent + key + ':';
      if (key != rest)
        out += '\n' + level(prefix + key + '.', indent + "  ");
      else
        out += ' ' + (path == "prices" ? list(values) : scalar(values.front())) + '\n';
    }
    return out;
  }

  std::vector<std::pair<std::string, std::vector<std::string>>> leaves_, sweep_;
};

std::string load_name(catalog::WorkloadSpec::Kind kind) {
  using Kind = catalog::WorkloadSpec::Kind;
  switch (kind) {
    case Kind::conversations:
      return "workload.conversations";
    case Kind::open:
      return "workload.open";
    case Kind::batch:
      return "workload.batch";
    case Kind::trace:
      return "workload.trace";
    case Kind::closed:
      break;
  }
  return "workload.closed";
}

std::string load_of_flags(const Parsed& parsed) {
  const bool turns = parsed.has("turns") || parsed.has("history") || parsed.has("turn-input") ||
                     parsed.has("think-time");
  if (turns && parsed.has("request-rate"))
    throw InputError("--request-rate (open loop) does not go with the flags of conversations");
  if (turns) return "workload.conversations";
  // Both, as with vllm bench serve: a closed loop whose requests are released at that rate.
  return parsed.has("request-rate") && !parsed.has("concurrency") ? "workload.open"
                                                                  : "workload.closed";
}

std::string resolved(const Flag& flag, const std::string& load) {
  const std::string path = flag.path;
  return path.rfind("{load}", 0) == 0 ? load + path.substr(6) : path;
}

bool is_length(const Flag& flag) {
  const std::string name = flag.name;
  return name == "isl" || name == "osl" || name == "turn-input";
}

template <typename Use>
void each_given(const Parsed& parsed, const std::string& load, const Use& use) {
  for (const auto* flags : {&deployment_flags(), &load_flags()})
    for (const auto& flag : *flags) {
      if (!parsed.has(flag.name) || std::string_view(flag.path) == spread_path) continue;
      std::vector<std::string> values;
      for (const auto& given : parsed.list(flag.name))
        for (const auto& part : split(given)) {
          if (part.empty()) throw InputError(std::string("--") + flag.name + " has an empty value");
          values.push_back(with_unit(flag, part));
        }
      use(flag, resolved(flag, load), values);
    }
}

std::string spread_of(const Parsed& parsed) {
  if (!parsed.has("spread")) return {};
  const std::vector<std::string> given = parsed.list("spread");
  if (given.size() != 1 || given.front().find(',') != std::string::npos)
    throw InputError("--spread takes one value");
  return given.front();
}

// {range_ratio: ...} for each length that is one number in the scenario as overridden so far.
void spread_lengths(Question& question, const std::string& spread) {
  const catalog::WorkloadSpec w = question.read().workload;
  const std::string load = load_name(w.kind) + '.';
  bool any = false;
  const auto one = [&](const char* key, const catalog::LengthSpec& length) {
    if (length.kind != catalog::LengthSpec::Kind::fixed || length.mean < 1) return;
    any = true;
    question.overrides.emplace_back(
        load + key,
        "{range_ratio: {mean: " + std::to_string(static_cast<std::int64_t>(length.mean)) +
            " tokens, ratio: " + spread + "}}");
  };
  using Kind = catalog::WorkloadSpec::Kind;
  if (w.kind != Kind::trace && w.classes.empty()) {
    one(w.kind == Kind::conversations ? "turn_input" : "prompt",
        w.kind == Kind::conversations ? w.turn_input : w.prompt);
    one("output", w.output);
  }
  if (!any) throw InputError("--spread: no length of the scenario is one number; it spreads none");
}

// Default number of requests: 10 for each concurrent one, as serving benchmarks do.
std::string default_requests(const Parsed& parsed) {
  if (parsed.has("request-rate") && !parsed.has("concurrency")) return "500";
  std::int64_t most = 1;
  for (const auto& given : parsed.list("concurrency"))
    for (const auto& part : split(given))
      most = std::max<std::int64_t>(most, std::atoll(part.c_str()));
  return std::to_string(10 * std::min<std::int64_t>(most, 10'000'000));  // more are refused
}

void need(const Parsed& parsed, const char* flag, const char* example) {
  if (!parsed.has(flag))
    throw InputError(std::string("needs --") + flag + " (" + example +
                     "), or the name of a scenario");
}

void add_load(Document& document, const Parsed& parsed, const std::string& load, Purpose purpose) {
  if (purpose == Purpose::size || purpose == Purpose::explain) {
    document.add("workload.closed.concurrent", "1");
    document.add("workload.closed.prompt", "1 token");
    document.add("workload.closed.output", "1 token");
    document.add("workload.requests", "1");
    return;
  }
  need(parsed, "osl", "e.g. --osl 500");
  if (load == "workload.conversations") {
    need(parsed, "turn-input", "e.g. --turn-input 300");
  } else {
    need(parsed, "isl", "e.g. --isl 2000");
  }
  if (!parsed.has("request-rate")) need(parsed, "concurrency", "e.g. --concurrency 32");
  if (!document.has("workload.requests"))
    document.add("workload.requests", default_requests(parsed));
}

}  // namespace

void add_scenario_flags(Spec& spec, Purpose purpose) {
  po::options_description deployment("Deployment", 100, 58), load("Load", 100, 58);
  const auto add = [](po::options_description& group, const Flag& flag) {
    group.add_options()(flag.name,
                        po::value<std::vector<std::string>>()->composing()->value_name(flag.value),
                        flag.help);
  };
  for (const auto& flag : deployment_flags()) add(deployment, flag);
  spec.options.add(deployment);
  const bool loaded = purpose == Purpose::run || purpose == Purpose::compare;
  if (loaded) {
    for (const auto& flag : load_flags()) add(load, flag);
    spec.options.add(load);
  }
  po::options_description other("Scenario", 100, 58);
  other.add_options()("print-scenario", po::bool_switch(),
                      "print the scenario (YAML) that was asked for, and stop");
  spec.options.add(other);
  for (const auto& [from, to] : spellings) {
    const auto known = spec.options.find_nothrow(to.substr(2), false);
    if (known != nullptr) spec.aliases.emplace_back(from, to);
  }
}

catalog::Scenario Question::read(const catalog::Overrides& more) const {
  catalog::Overrides all = overrides;
  all.insert(all.end(), more.begin(), more.end());
  return path.empty() ? catalog::read_scenario_text(text, "command-line", all)
                      : catalog::read_scenario(path, all);
}

catalog::Overrides overrides_of(const Parsed& parsed, catalog::WorkloadSpec::Kind load) {
  catalog::Overrides overrides;
  each_given(parsed, load_name(load),
             [&](const Flag& flag, const std::string& path, const auto& values) {
               const bool many = std::string(flag.path) == "prices";
               if (values.size() > 1 && !many)
                 throw InputError(
                     std::string("--") + flag.name +
                     " takes one value beside a scenario file; list several under its `sweep`");
               overrides.emplace_back(path, many ? list(values) : values.front());
             });
  return overrides;
}

Question question_of(const Parsed& parsed, const std::string& word, const Common& common,
                     Purpose purpose) {
  Question question;
  question.path = word;
  const bool several = purpose == Purpose::compare;
  const auto one = [&](const Flag& flag, const std::vector<std::string>& values) {
    if (values.size() > 1 && !several && std::string(flag.path) != "prices")
      throw InputError(std::string("--") + flag.name +
                       " takes one value here; `servegrid compare` takes several");
  };
  if (!word.empty()) {
    auto load = catalog::WorkloadSpec::Kind::closed;  // read only when a flag needs it
    if (std::any_of(load_flags().begin(), load_flags().end(), [&](const Flag& f) {
          return parsed.has(f.name) && std::string_view(f.path).front() == '{';
        }))
      load = catalog::read_scenario(word, common.set).workload.kind;
    question.overrides = overrides_of(parsed, load);
    if (const std::string spread = spread_of(parsed); !spread.empty())
      spread_lengths(question, spread);
  } else {
    need(parsed, "model", "e.g. --model llama-3.1-70b");
    need(parsed, "gpu", "e.g. --gpu h100");
    const std::string load = load_of_flags(parsed);
    Document document;
    const std::string spread = spread_of(parsed);
    each_given(parsed, load, [&](const Flag& flag, const std::string& path, const auto& values) {
      one(flag, values);
      if (spread.empty() || !is_length(flag)) return document.add(path, values);
      document.add(path + ".range_ratio.mean", values);
      document.add(path + ".range_ratio.ratio", spread);
    });
    if (!document.has("engine.profile")) document.add("engine.profile", "vllm");
    add_load(document, parsed, load, purpose);
    question.text = document.text();
  }
  question.overrides.insert(question.overrides.end(), common.set.begin(), common.set.end());
  return question;
}

}  // namespace servegrid::cli
