// `vllm serve`, SGLang's launch_server, `trtllm-serve`, and the `vllm bench serve` beside them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "catalog/reader.hpp"
#include "import/import.hpp"
#include "import/words.hpp"
#include "units/error.hpp"

namespace servegrid::importer {

namespace {

using Words = std::vector<std::string>;

enum class Use { number, word, on, off, nothing, nothing_value, unknown_value, unknown };

struct Flag {
  Use use = Use::word;
  const char* path = "";
};

using Flags = std::map<std::string, Flag, std::less<>>;

const Flags& vllm_flags() {
  static const Flags flags = {
      {"--model", {Use::word, "model"}},
      {"--tensor-parallel-size", {Use::number, "replica.tp"}},
      {"-tp", {Use::number, "replica.tp"}},
      {"--pipeline-parallel-size", {Use::number, "replica.pp"}},
      {"-pp", {Use::number, "replica.pp"}},
      {"--data-parallel-size", {Use::number, "replica.dp"}},
      {"-dp", {Use::number, "replica.dp"}},
      {"--enable-expert-parallel", {Use::on, "expert_parallel"}},
      {"--dtype", {Use::word, "dtype"}},
      {"--quantization", {Use::word, "quantization"}},
      {"-q", {Use::word, "quantization"}},
      {"--kv-cache-dtype", {Use::word, "engine.kv_cache_dtype"}},
      {"--max-model-len", {Use::number, "engine.max_model_len"}},
      {"--gpu-memory-utilization", {Use::word, "engine.gpu_memory_utilization"}},
      {"--max-num-seqs", {Use::number, "engine.max_num_seqs"}},
      {"--max-num-batched-tokens", {Use::number, "engine.max_num_batched_tokens"}},
      {"--block-size", {Use::number, "engine.block_size"}},
      {"--enable-prefix-caching", {Use::on, "engine.enable_prefix_caching"}},
      {"--no-enable-prefix-caching", {Use::off, "engine.enable_prefix_caching"}},
      {"--enable-chunked-prefill", {Use::on, "engine.enable_chunked_prefill"}},
      {"--no-enable-chunked-prefill", {Use::off, "engine.enable_chunked_prefill"}},
      {"--async-scheduling", {Use::on, "engine.async_scheduling"}},
      {"--no-async-scheduling", {Use::off, "engine.async_scheduling"}},
      {"--long-prefill-token-threshold", {Use::number, "engine.long_prefill_token_threshold"}},
      {"--num-gpu-blocks-override", {Use::number, "memory.num_gpu_blocks"}},
      {"--host", {Use::nothing_value}},
      {"--port", {Use::nothing_value}},
      {"--api-key", {Use::nothing_value}},
      {"--served-model-name", {Use::nothing_value}},
      {"--trust-remote-code", {Use::nothing}},
      {"--tokenizer", {Use::nothing_value}},
      {"--download-dir", {Use::nothing_value}},
      {"--seed", {Use::nothing_value}},
      {"--disable-log-requests", {Use::nothing}},
      {"--chat-template", {Use::nothing_value}},
      {"--enable-auto-tool-choice", {Use::nothing}},
      {"--tool-call-parser", {Use::nothing_value}},
      {"--reasoning-parser", {Use::nothing_value}},
      {"--uvicorn-log-level", {Use::nothing_value}},
      {"--swap-space", {Use::nothing_value}},
      {"--load-format", {Use::nothing_value}},
      {"--enforce-eager", {Use::unknown}},
      {"--speculative-config", {Use::unknown_value}},
      {"--cpu-offload-gb", {Use::unknown_value}},
      {"--scheduling-policy", {Use::unknown_value}},
      {"--compilation-config", {Use::unknown_value}},
      {"--max-seq-len-to-capture", {Use::unknown_value}},
      {"--enable-lora", {Use::unknown}},
      {"--disable-custom-all-reduce", {Use::unknown}},
      {"--kv-transfer-config", {Use::unknown_value}},
  };
  return flags;
}

const Flags& sglang_flags() {
  static const Flags flags = {
      {"--model-path", {Use::word, "model"}},
      {"--model", {Use::word, "model"}},
      {"--tp-size", {Use::number, "replica.tp"}},
      {"--tp", {Use::number, "replica.tp"}},
      {"--tensor-parallel-size", {Use::number, "replica.tp"}},
      {"--pp-size", {Use::number, "replica.pp"}},
      {"--dp-size", {Use::number, "replica.dp"}},
      {"--dp", {Use::number, "replica.dp"}},
      {"--ep-size", {Use::number, "replica.ep"}},
      {"--ep", {Use::number, "replica.ep"}},
      {"--enable-dp-attention", {Use::on, "dp_attention"}},
      {"--dtype", {Use::word, "dtype"}},
      {"--quantization", {Use::word, "quantization"}},
      {"--kv-cache-dtype", {Use::word, "engine.kv_cache_dtype"}},
      {"--context-length", {Use::number, "engine.context_length"}},
      {"--mem-fraction-static", {Use::word, "engine.mem_fraction_static"}},
      {"--max-running-requests", {Use::number, "engine.max_running_requests"}},
      {"--chunked-prefill-size", {Use::number, "engine.chunked_prefill_size"}},
      {"--max-prefill-tokens", {Use::number, "engine.max_prefill_tokens"}},
      {"--page-size", {Use::number, "engine.page_size"}},
      {"--schedule-conservativeness", {Use::word, "engine.schedule_conservativeness"}},
      {"--disable-radix-cache", {Use::off, "engine.enable_radix_cache"}},
      {"--disable-overlap-schedule", {Use::off, "engine.enable_overlap_schedule"}},
      {"--stream-interval", {Use::number, "engine.stream_interval"}},
      {"--max-total-tokens", {Use::number, "max_total_tokens"}},
      {"--host", {Use::nothing_value}},
      {"--port", {Use::nothing_value}},
      {"--api-key", {Use::nothing_value}},
      {"--served-model-name", {Use::nothing_value}},
      {"--trust-remote-code", {Use::nothing}},
      {"--log-level", {Use::nothing_value}},
      {"--tokenizer-path", {Use::nothing_value}},
      {"--random-seed", {Use::nothing_value}},
      {"--tool-call-parser", {Use::nothing_value}},
      {"--reasoning-parser", {Use::nothing_value}},
      {"--enable-metrics", {Use::nothing}},
      {"--chat-template", {Use::nothing_value}},
      {"--attention-backend", {Use::unknown_value}},
      {"--schedule-policy", {Use::unknown_value}},
      {"--speculative-algorithm", {Use::unknown_value}},
      {"--disable-cuda-graph", {Use::unknown}},
      {"--speculative-num-steps", {Use::unknown_value}},
      {"--cuda-graph-max-bs", {Use::unknown_value}},
      {"--enable-torch-compile", {Use::unknown}},
      {"--disaggregation-mode", {Use::unknown_value}},
  };
  return flags;
}

const Flags& trtllm_flags() {
  static const Flags flags = {
      {"--tp_size", {Use::number, "replica.tp"}},
      {"--pp_size", {Use::number, "replica.pp"}},
      {"--ep_size", {Use::number, "replica.ep"}},
      {"--max_batch_size", {Use::number, "engine.max_batch_size"}},
      {"--max_num_tokens", {Use::number, "engine.max_num_tokens"}},
      {"--max_seq_len", {Use::number, "engine.max_seq_len"}},
      {"--kv_cache_free_gpu_memory_fraction", {Use::word, "engine.free_gpu_memory_fraction"}},
      {"--extra_llm_api_options", {Use::nothing_value}},
      {"--config", {Use::nothing_value}},
      {"--backend", {Use::nothing_value}},
      {"--host", {Use::nothing_value}},
      {"--port", {Use::nothing_value}},
      {"--trust_remote_code", {Use::nothing}},
      {"--tokenizer", {Use::nothing_value}},
      {"--log_level", {Use::nothing_value}},
  };
  return flags;
}

const Flags& atom_flags() {
  static const Flags flags = {{"--model", {Use::word, "model"}},
                              {"-tp", {Use::number, "replica.tp"}},
                              {"--tensor-parallel-size", {Use::number, "replica.tp"}},
                              {"--kv_cache_dtype", {Use::word, "engine.kv_cache_dtype"}},
                              {"--port", {Use::nothing_value}}};
  return flags;
}

// The flags of an engine's command over the draft; positional words are the model.
class Reading {
 public:
  Reading(const std::string& file, const Flags& flags, const std::string& engine, Draft& draft)
      : file_(file), flags_(flags), engine_(engine), draft_(draft) {}

  void run(const Words& words, std::size_t from) {
    // A version read from a log says more than a command does.
    const auto* known = draft_.find("engine.profile");
    if (known == nullptr || known->rfind(engine_ + "-", 0) != 0)
      draft_.set("engine.profile", engine_, file_);
    for (std::size_t i = from; i < words.size();) i = one(words, i);
  }

 private:
  std::size_t one(const Words& words, std::size_t i) {
    std::string flag = words[i];
    if (flag.empty() || flag[0] != '-') {
      if (flag != "2>" && flag[0] != '>') draft_.set("model", flag, file_);
      return i + 1;
    }
    std::optional<std::string> value;
    if (const auto equals = flag.find('='); equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    }
    auto it = flags_.find(flag);
    if (it == flags_.end()) {  // --max_model_len for --max-model-len, and the other way round
      std::string other = flag;
      const bool dashes = flags_.begin()->first.find('_') == std::string::npos;
      std::replace(
          other.begin() + std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(other.size())),
          other.end(), dashes ? '_' : '-', dashes ? '-' : '_');
      it = flags_.find(other);
    }
    const bool next = i + 1 < words.size() && !looks_like_flag(words[i + 1]);
    if (it == flags_.end()) {
      draft_.cannot(fmt::format("{} is not known here{}", shown(flag),
                                next && !value ? " (with '" + shown(words[i + 1]) + "')" : ""));
      return i + (next && !value ? 2 : 1);
    }
    const Flag& known = it->second;
    const bool takes = known.use == Use::number || known.use == Use::word ||
                       known.use == Use::nothing_value || known.use == Use::unknown_value;
    if (takes && !value) {
      if (i + 1 >= words.size())
        throw InputError(fmt::format("{}: {} needs a value", file_, shown(flag)), {file_, 0, 0});
      value = words[i + 1];
    }
    apply(flag, known, value);
    return i + (takes && flag == words[i] ? 2 : 1);
  }

  static bool looks_like_flag(const std::string& word) {
    return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9');
  }

  void apply(const std::string& flag, const Flag& known, const std::optional<std::string>& value) {
    const std::string origin = file_ + ": " + flag;
    switch (known.use) {
      case Use::number: {
        const auto number = whole_number(*value);
        if (!number)
          throw InputError(fmt::format("{}: {} takes a whole number, not '{}'", file_, shown(flag),
                                       shown(*value)),
                           {file_, 0, 0});
        draft_.set(known.path, std::to_string(*number), origin);
        break;
      }
      case Use::word:
        draft_.set(known.path, *value, origin);
        break;
      case Use::on:
        draft_.set(known.path, value && *value == "false" ? "false" : "true", origin);
        break;
      case Use::off:
        draft_.set(known.path, "false", origin);
        break;
      case Use::nothing:
      case Use::nothing_value:
        draft_.ignore(flag);
        break;
      case Use::unknown:
      case Use::unknown_value:
        draft_.cannot(value ? fmt::format("{} {}", flag, shown(*value)) : flag);
        break;
    }
  }

  const std::string& file_;
  const Flags& flags_;
  std::string engine_;
  Draft& draft_;
};

bool ends_with(const std::string& word, std::string_view tail) {
  return word.size() >= tail.size() &&
         word.compare(word.size() - tail.size(), tail.size(), tail) == 0;
}

std::size_t find_word(const Words& words, std::string_view word) {
  std::string in_folder(1, '/');
  in_folder += word;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == word || ends_with(words[i], in_folder)) return i;
  return words.size();
}

// TensorRT-LLM's options come in a YAML file: a here document before the command.
void trtllm_options(const std::string& yaml, const std::string& file, Draft& draft) {
  using catalog::Value;
  const Value v = Value::from_text(yaml, file + " (options)");
  const auto copy = [&](const Value& map, const char* key, const char* path) {
    const Value x = map.find(key);
    if (x.present()) draft.set(path, x.text(), file + ": " + key);
  };
  const Value kv = v.find("kv_cache_config"), scheduler = v.find("scheduler_config");
  if (kv.present()) {
    copy(kv, "free_gpu_memory_fraction", "engine.free_gpu_memory_fraction");
    copy(kv, "enable_block_reuse", "engine.enable_block_reuse");
    copy(kv, "tokens_per_block", "engine.tokens_per_block");
    copy(kv, "dtype", "engine.kv_cache_dtype");
  }
  if (scheduler.present())
    copy(scheduler, "capacity_scheduler_policy", "engine.capacity_scheduler_policy");
  copy(v, "enable_chunked_prefill", "engine.enable_chunked_prefill");
  copy(v, "stream_interval", "engine.stream_interval");
  if (const Value x = v.find("enable_attention_dp"); x.present() && x.text() == "true")
    draft.set("trtllm_attention_dp", "true", file + ": enable_attention_dp");
  for (const auto& [key, value] : v.entries())
    if (key != "kv_cache_config" && key != "scheduler_config" && key != "enable_chunked_prefill" &&
        key != "stream_interval" && key != "enable_attention_dp")
      draft.cannot("option " + shown(key) + (value.is_scalar() ? ": " + shown(value.text()) : ""));
}

// `vllm bench serve`: the load.
void bench(const Words& words, std::size_t from, const std::string& file, Draft& draft) {
  std::map<std::string, std::string> given;
  for (std::size_t i = from; i < words.size(); ++i) {
    if (words[i].rfind("--", 0) != 0) continue;
    const auto equals = words[i].find('=');
    if (equals != std::string::npos)
      given[words[i].substr(0, equals)] = words[i].substr(equals + 1);
    else if (i + 1 < words.size() && words[i + 1].rfind("--", 0) != 0)
      given[words[i]] = words[i + 1];
  }
  const auto has = [&](const char* key) { return given.count(key) > 0; };
  if (has("--dataset-name") && given["--dataset-name"] != "random") {
    draft.cannot("dataset " + shown(given["--dataset-name"]) + ": its lengths are not known");
    return;
  }
  if (!has("--random-input-len") || !has("--random-output-len")) {
    draft.cannot("a bench command without --random-input-len and --random-output-len");
    return;
  }
  const auto tokens = [&](const char* key) {
    const auto n = whole_number(given[key]);
    if (!n || *n < 0)
      throw InputError(fmt::format("{}: {} takes a number of tokens", file, key), {file, 0, 0});
    return *n;
  };
  const std::int64_t prefix = has("--random-prefix-len") ? tokens("--random-prefix-len") : 0;
  const bool closed = has("--max-concurrency");
  const bool rated = has("--request-rate") && given["--request-rate"] != "inf";
  const std::string load = rated && !closed ? "workload.open" : "workload.closed";
  draft.set(load + ".prompt", fmt::format("{} tokens", tokens("--random-input-len") + prefix),
            file);
  draft.set(load + ".output", fmt::format("{} tokens", tokens("--random-output-len")), file);
  if (prefix > 0) draft.set(load + ".shared_prefix", fmt::format("{} tokens", prefix), file);
  const std::string prompts = has("--num-prompts") ? given["--num-prompts"] : "1000";
  if (rated && !closed)
    draft.set(load + ".rate", given["--request-rate"] + " /s", file);
  else
    draft.set(load + ".concurrent", closed ? given["--max-concurrency"] : prompts, file);
  if (rated && closed)
    draft.cannot("--request-rate beside --max-concurrency: the closed loop was taken");
  draft.set("workload.requests", prompts, file);
}

}  // namespace

void read_command_line(const std::string& text, const std::string& file, Draft& draft) {
  bool any = false;
  std::string options;
  for (const auto& words : shell_commands(text, file)) {
    if (const auto here = find_word(words, "<<"); here + 1 < words.size())
      options = words[here + 1];
    const auto vllm = find_word(words, "vllm");
    const auto api = find_word(words, "vllm.entrypoints.openai.api_server");
    const auto sglang = find_word(words, "sglang.launch_server");
    const auto trt = find_word(words, "trtllm-serve");
    const auto atom = find_word(words, "atom.entrypoints.openai_server");
    const auto n = words.size();
    if (vllm + 2 < n && words[vllm + 1] == "bench" && words[vllm + 2] == "serve") {
      bench(words, vllm + 3, file, draft);
    } else if (vllm + 1 < n && words[vllm + 1] == "serve") {
      Reading(file, vllm_flags(), "vllm", draft).run(words, vllm + 2);
    } else if (api < n) {
      Reading(file, vllm_flags(), "vllm", draft).run(words, api + 1);
    } else if (sglang < n) {
      Reading(file, sglang_flags(), "sglang", draft).run(words, sglang + 1);
    } else if (trt < n) {
      const bool verb = trt + 1 < n && words[trt + 1] == "serve";
      Reading(file, trtllm_flags(), "trtllm", draft).run(words, trt + (verb ? 2 : 1));
      if (!options.empty()) trtllm_options(options, file, draft);
    } else if (atom < n) {
      Reading(file, atom_flags(), "atom", draft).run(words, atom + 1);
    } else {
      continue;
    }
    any = true;
  }
  if (!any)
    throw InputError(file +
                         ": no launch command in it; known: vllm serve, python -m "
                         "vllm.entrypoints.openai.api_server, python -m sglang.launch_server, "
                         "trtllm-serve, python -m atom.entrypoints.openai_server",
                     {file, 0, 0});
}

}  // namespace servegrid::importer
