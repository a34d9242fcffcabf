// What an engine prints when it starts: its version and arguments, and the memory it found.
#include <fmt/format.h>

#include <array>
#include <cctype>

#include "import/import.hpp"
#include "import/words.hpp"
#include "units/error.hpp"

namespace servegrid::importer {

namespace {

constexpr std::size_t longest_line = 1u << 20;

// The value of `key=` or `'key': ` in a line of arguments: up to the next comma outside quotes.
std::string argument(std::string_view line, std::string_view key) {
  for (const auto& form : {fmt::format("{}=", key), fmt::format("'{}': ", key)}) {
    std::size_t at = line.find(form);
    // "tp_size=" is not the end of "ep_tp_size=".
    while (at != std::string_view::npos && at > 0 &&
           (std::isalnum(static_cast<unsigned char>(line[at - 1])) != 0 || line[at - 1] == '_'))
      at = line.find(form, at + 1);
    if (at == std::string_view::npos) continue;
    auto rest = line.substr(at + form.size());
    if (!rest.empty() && (rest[0] == '\'' || rest[0] == '"')) {
      const auto end = rest.find(rest[0], 1);
      if (end != std::string_view::npos) return std::string(rest.substr(1, end - 1));
    }
    return std::string(rest.substr(0, rest.find_first_of(",)} ")));
  }
  return {};
}

struct Argument {
  const char* key;
  const char* path;
};

constexpr std::array<Argument, 12> vllm_arguments = {{
    {"model", "model"},
    {"tensor_parallel_size", "replica.tp"},
    {"pipeline_parallel_size", "replica.pp"},
    {"data_parallel_size", "replica.dp"},
    {"max_seq_len", "engine.max_model_len"},
    {"max_model_len", "engine.max_model_len"},
    {"gpu_memory_utilization", "engine.gpu_memory_utilization"},
    {"max_num_seqs", "engine.max_num_seqs"},
    {"max_num_batched_tokens", "engine.max_num_batched_tokens"},
    {"kv_cache_dtype", "engine.kv_cache_dtype"},
    {"enable_prefix_caching", "engine.enable_prefix_caching"},
    {"quantization", "quantization"},
}};

constexpr std::array<Argument, 14> sglang_arguments = {{
    {"model_path", "model"},
    {"tp_size", "replica.tp"},
    {"pp_size", "replica.pp"},
    {"ep_size", "replica.ep"},
    {"dp_size", "replica.dp"},
    {"enable_dp_attention", "dp_attention"},
    {"mem_fraction_static", "engine.mem_fraction_static"},
    {"chunked_prefill_size", "engine.chunked_prefill_size"},
    {"max_prefill_tokens", "engine.max_prefill_tokens"},
    {"max_running_requests", "engine.max_running_requests"},
    {"context_length", "engine.context_length"},
    {"page_size", "engine.page_size"},
    {"kv_cache_dtype", "engine.kv_cache_dtype"},
    {"quantization", "quantization"},
}};

std::string folded(const std::string& value) {
  if (value == "True" || value == "False") return value == "True" ? "true" : "false";
  return value;
}

template <std::size_t N>
void arguments(std::string_view line, const std::array<Argument, N>& known, const std::string& file,
               Draft& draft) {
  for (const auto& a : known) {
    const std::string value = folded(argument(line, a.key));
    if (value.empty() || value == "None" || value == "null") continue;
    draft.set(a.path, value, fmt::format("{}: {}", file, a.key));
  }
}

class Log {
 public:
  Log(const std::string& file, Draft& draft) : file_(file), draft_(draft) {}

  void run(const std::string& text) {
    int line_number = 0;
    for (const auto line : lines_of(text)) {
      ++line_number;
      if (line.size() > longest_line)
        throw InputError(fmt::format("{}:{}: is longer than 1 MiB", file_, line_number),
                         {file_, line_number, 0});
      one(line);
    }
    finish();
  }

 private:
  void one(std::string_view line) {
    version(line);
    if (line.find("config: model=") != std::string_view::npos ||
        line.find("non-default args: {") != std::string_view::npos) {
      engine_ = "vllm";
      arguments(line, vllm_arguments, file_, draft_);
    }
    if (line.find("ServerArgs(") != std::string_view::npos) {
      engine_ = "sglang";
      arguments(line, sglang_arguments, file_, draft_);
    }
    vllm_memory(line);
    sglang_memory(line);
    trtllm_memory(line);
  }

  void version(std::string_view line) {
    const std::array<std::pair<std::string_view, const char*>, 6> marks = {{
        {"vLLM API server version ", "vllm"},
        {"LLM engine (v", "vllm"},
        {"TensorRT-LLM version: ", "trtllm"},
        {"TensorRT LLM version: ", "trtllm"},
        {"sglang version: ", "sglang"},
        {"SGLang version ", "sglang"},
    }};
    for (const auto& [mark, engine] : marks) {
      const auto rest = after(line, mark);
      if (rest.empty()) continue;
      engine_ = engine;
      const auto end = rest.find_first_not_of("0123456789.");
      version_ = std::string(rest.substr(0, end));
      while (!version_.empty() && version_.back() == '.') version_.pop_back();
    }
  }

  void number(std::string_view rest, std::optional<double>& to) {
    if (!rest.empty())
      if (const auto n = leading_number(rest)) to = n;
  }

  void vllm_memory(std::string_view line) {
    number(after(line, "GPU KV cache size: "), tokens_);
    number(after(line, "# GPU blocks: "), blocks_);
    number(after(line, "Available KV cache memory: "), kv_gib_);
    number(after(line, "Model loading took "), weights_gib_);
    if (const auto rest = after(line, "Maximum concurrency for "); !rest.empty()) {
      draft_.assume(
          "'Maximum concurrency' of the log is the pool over the longest sequence allowed, not how "
          "many requests run: it was not used");
      engine_ = "vllm";
    }
    if (const auto rest = after(line, "Chunked prefill is enabled with max_num_batched_tokens=");
        !rest.empty())
      if (const auto n = leading_number(rest))
        draft_.set("engine.max_num_batched_tokens", fmt::format("{:.0f}", *n), file_);
    if (tokens_ || blocks_) engine_ = engine_.empty() ? "vllm" : engine_;
  }

  void sglang_memory(std::string_view line) {
    const auto rest = after(line, "max_total_num_tokens=");
    if (rest.empty()) return;
    engine_ = engine_.empty() ? "sglang" : engine_;
    std::optional<double> tokens;
    number(rest, tokens);
    if (tokens && engine_ == "sglang") pool_tokens_ = tokens;
    const std::array<Argument, 3> more = {
        {{"chunked_prefill_size", "engine.chunked_prefill_size"},
         {"max_prefill_tokens", "engine.max_prefill_tokens"},
         {"max_running_requests", "engine.max_running_requests"}}};
    arguments(line, more, file_, draft_);
    if (const auto n = argument(line, "context_len"); !n.empty())
      draft_.set("engine.context_length", n, file_ + ": context_len");
  }

  void trtllm_memory(std::string_view line) {
    if (line.find("for max tokens in paged KV cache (") != std::string_view::npos) {
      engine_ = "trtllm";
      number(after(line, "for max tokens in paged KV cache ("), pool_tokens_);
      number(after(line, "Allocated "), kv_gib_);
    }
    std::optional<double> per_block;
    number(after(line, "Number of tokens per block: "), per_block);
    if (per_block) draft_.set("engine.tokens_per_block", fmt::format("{:.0f}", *per_block), file_);
  }

  void finish() {
    if (engine_.empty())
      throw InputError(file_ + ": no line of a start-up log of vLLM, SGLang or TensorRT-LLM in it",
                       {file_, 0, 0});
    draft_.set("engine.profile", version_.empty() ? engine_ : engine_ + "-" + version_, file_);
    const auto whole = [](double n) { return fmt::format("{:.0f}", n); };
    if (blocks_) draft_.set("memory.num_gpu_blocks", whole(*blocks_), file_ + ": # GPU blocks");
    // How the pool is counted depends on the version and the layers; import_all settles it.
    if (tokens_) draft_.set("printed_tokens", whole(*tokens_), file_ + ": GPU KV cache size");
    if (pool_tokens_)
      draft_.set("pool_tokens", whole(*pool_tokens_), file_ + ": tokens in the pool");
    if (kv_gib_)
      draft_.set("memory.kv_bytes", fmt::format("{:.10g} GiB", *kv_gib_),
                 file_ + ": KV cache memory");
    if (weights_gib_)
      draft_.set("memory.weights", fmt::format("{:.10g} GiB", *weights_gib_),
                 file_ + ": model loading took");
  }

  std::string file_;
  Draft& draft_;
  std::string engine_, version_;
  std::optional<double> tokens_, blocks_, kv_gib_, weights_gib_, pool_tokens_;
};

}  // namespace

void read_startup_log(const std::string& text, const std::string& file, Draft& draft) {
  Log(file, draft).run(text);
}

}  // namespace servegrid::importer
