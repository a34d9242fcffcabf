#include "import/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "catalog/load.hpp"
#include "import/words.hpp"
#include "units/error.hpp"

namespace servegrid::importer {

namespace {

constexpr std::array<std::string_view, 5> kind_names = {
    "launch command", "start-up log", "bench result", "request log", "Prometheus export"};

bool has(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

std::string_view name(Kind kind) {
  return kind_names.at(static_cast<std::size_t>(kind));
}

std::optional<Kind> kind_of(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{' && has(text, "total_output_tokens"))
    return Kind::bench_result;
  const std::string head = text.substr(0, 4096);
  const std::string line = head.substr(0, head.find('\n'));
  const auto commas = std::count(line.begin(), line.end(), ',');
  const bool header = has(line, "okens") || has(line, "output") || has(line, "_length");
  if (commas >= 2 && header && !has(line, "=") && !has(line, ": ")) return Kind::request_log;
  if (has(text, "\nvllm:") || text.rfind("vllm:", 0) == 0) return Kind::prometheus;
  for (const char* word :
       {"GPU KV cache size:", "# GPU blocks:", "ServerArgs(",
        "max_total_num_tokens=", "TensorRT-LLM version:", "TensorRT LLM version:", "LLM engine (v",
        "vLLM API server version", "paged KV cache ("})
    if (has(text, word)) return Kind::startup_log;
  for (const char* word : {"vllm serve", "vllm.entrypoints", "sglang.launch_server", "trtllm-serve",
                           "vllm bench serve", "atom.entrypoints"})
    if (has(text, word)) return Kind::command_line;
  return std::nullopt;
}

void Draft::set(const std::string& path, const std::string& value, const std::string& origin) {
  for (auto& entry : entries_) {
    if (entry.path != path) continue;
    if (entry.value != value)
      assume(fmt::format("{} is {} ({}), not {} ({})", path, shown(value), shown(origin),
                         shown(entry.value), shown(entry.origin)));
    entry = {path, value, origin};
    return;
  }
  entries_.push_back({path, value, origin});
}

const std::string* Draft::find(const std::string& path) const {
  for (const auto& entry : entries_)
    if (entry.path == path) return &entry.value;
  return nullptr;
}

void Draft::erase(const std::string& path) {
  std::erase_if(entries_, [&](const Entry& e) { return e.path == path; });
}

void Draft::add(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

namespace {

// Quoted unless it is plain: nothing read from elsewhere may become YAML syntax.
std::string scalar(const std::string& path, const std::string& value) {
  const bool flow = value.rfind("{lognormal: {mean: ", 0) == 0 &&  // ours
                    (path.ends_with(".prompt") || path.ends_with(".output"));
  const bool plain = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._/+ -").find(c) != std::string_view::npos;
  });
  if (flow || (plain && value.front() != ' ' && value.back() != ' ' &&
               (value.front() != '-' || value == "-1")))
    return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c < ' ' ? ' ' : c;
  }
  return quoted + '"';
}

class Assembly {
 public:
  Assembly(Draft& draft, const Options& options) : draft_(draft), options_(options) {}

  std::string run() {
    if (!options_.gpu.empty()) draft_.set("replica.gpu", options_.gpu, "--gpu");
    if (!draft_.has("replica.gpu"))
      throw InputError(
          "none of the sources says which GPU it is: give --gpu (servegrid catalog lists them)");
    if (!draft_.has("model"))
      throw InputError("none of the sources names a model: give --set model=NAME");
    model();
    weights();
    engine();
    parallel();
    pool();
    workload();
    return text();
  }

 private:
  void model() {
    std::string id = *draft_.find("model");
    // "local/llama-3.1-70b-nvfp4", as `plan` writes a checkpoint that nobody published.
    if (id.rfind("local/", 0) == 0)
      for (const auto format : catalog::all_formats()) {
        const std::string tail = "-" + std::string(catalog::name(format));
        if (id.size() > tail.size() + 6 &&
            id.compare(id.size() - tail.size(), tail.size(), tail) == 0) {
          draft_.set("weights", std::string(catalog::name(format)), "the checkpoint's name");
          id = id.substr(6, id.size() - tail.size() - 6);
        }
      }
    try {
      model_ = catalog_.model(id);
    } catch (const InputError& e) {
      throw InputError(
          std::string(e.what()) +
          "\n  `servegrid model import` makes a model file from a config.json; then --set "
          "model=FILE.yaml");
    }
    for (const auto& c : model_.checkpoints)
      if (c.id == id)
        draft_.set("weights", std::string(catalog::name(c.format)), "checkpoint " + id);
    draft_.set("model", model_.name, "the model's name in the catalogue");
  }

  void weights() {
    if (const auto* q = draft_.find("quantization")) {
      const auto format = quantisation(*q);
      // Where the checkpoint says it, it says more: blocks and all.
      if (!draft_.has("weights") && format) draft_.set("weights", *format, "quantization " + *q);
      if (!format) draft_.cannot("quantization " + shown(*q));
    }
    if (!draft_.has("weights")) {
      draft_.set("weights", std::string(catalog::name(model_.native_format)),
                 "the model's own format");
      draft_.assume(fmt::format("weights in {}, as the model is published",
                                catalog::name(model_.native_format)));
    }
    for (const char* key : {"quantization", "dtype"}) draft_.erase(key);
    if (const auto* kv = draft_.find("engine.kv_cache_dtype")) {
      std::string word = *kv;
      if (word == "fp8_e4m3" || word == "fp8_e5m2" || word == "fp8") word = "fp8";
      if (word.rfind("torch.", 0) == 0) word = word.substr(6);
      draft_.set("engine.kv_cache_dtype", word, "the KV cache's type");
    }
  }

  void engine() {
    if (!draft_.has("engine.profile")) {
      draft_.set("engine.profile", "vllm", "assumed");
      draft_.assume("the engine is vLLM, at the catalogue's newest profile");
    }
    const std::string asked = *draft_.find("engine.profile");
    try {
      profile_ = catalog_.engine(asked);
      if (asked.find('-') == std::string::npos)
        draft_.assume(fmt::format("{} without a version is {}", asked, profile_.name));
    } catch (const InputError&) {
      nearest(asked);
    }
    draft_.set("engine.profile", profile_.name, "the profile in the catalogue");
    // Knobs that this engine does not have.
    for (const auto& entry : std::vector<Draft::Entry>(draft_.entries())) {
      if (entry.path.rfind("engine.", 0) != 0 || entry.path == "engine.profile") continue;
      const auto knobs = catalog::write_knobs(catalog::Knobs{}, profile_.policy);
      const bool known = std::any_of(knobs.begin(), knobs.end(), [&](const auto& knob) {
        return "engine." + knob.first == entry.path;
      });
      if (known) continue;
      draft_.cannot(fmt::format("{} {}: {} has no such knob", entry.path.substr(7),
                                shown(entry.value), profile_.name));
      draft_.erase(entry.path);
    }
  }

  // "0.5.14" -> 0.005014: ordered as versions are.
  static double version_number(const std::string& version) {
    double out = 0, scale = 1;
    std::size_t start = 0;
    for (int part = 0; part < 3 && start < version.size(); ++part, scale /= 1000) {
      out += std::floor(std::atof(version.c_str() + start)) * scale;
      const auto dot = version.find('.', start);
      if (dot == std::string::npos) break;
      start = dot + 1;
    }
    return out;
  }

  // An unknown version takes the nearest profile of its engine.
  void nearest(const std::string& asked) {
    const auto dash = asked.find('-');
    const std::string kind = asked.substr(0, dash);
    const double version = dash == std::string::npos ? 1e9 : version_number(asked.substr(dash + 1));
    double best = 1e300;
    std::string older, newer;
    for (const auto& name : catalog_.engine_names()) {
      const auto candidate = catalog_.engine(name);
      if (candidate.engine != kind || candidate.name.rfind(kind, 0) != 0) continue;
      const double distance = std::abs(version_number(candidate.version) - version);
      if (distance < best) {
        best = distance;
        profile_ = candidate;
      }
    }
    if (best == 1e300) throw InputError("no profile of the engine '" + shown(kind) + "'");
    if (asked.rfind(kind + "-" + profile_.version + ".", 0) == 0)
      return;  // a patch of that release
    const auto gpu = catalog_.gpu(*draft_.find("replica.gpu"));
    const auto newest = catalog_.engine(kind);
    std::string differences;
    const auto mine = catalog::write_knobs(profile_.defaults_on(gpu), profile_.policy);
    for (const auto& [knob, value] : catalog::write_knobs(newest.defaults_on(gpu), newest.policy))
      for (const auto& [other, theirs] : mine)
        if (knob == other && value != theirs)
          differences += fmt::format("{}{} {} (there {})", differences.empty() ? "" : ", ", knob,
                                     theirs, value);
    draft_.assume(fmt::format("{} has no profile: {} is the nearest{}", shown(asked), profile_.name,
                              newest.name == profile_.name ? ""
                              : differences.empty()
                                  ? fmt::format("; its defaults here are those of {}", newest.name)
                                  : fmt::format("; against {}: {}", newest.name, differences)));
  }

  [[nodiscard]] bool experts() const {
    return std::any_of(model_.layers.begin(), model_.layers.end(),
                       [](const catalog::LayerGroup& g) { return g.mlp.experts > 0; });
  }

  [[nodiscard]] std::int64_t count(const char* path) const {
    const auto* value = draft_.find(path);
    return value == nullptr ? 1 : std::max(1LL, std::atoll(value->c_str()));
  }

  void parallel() {
    // Data parallelism of a dense model is copies of it.
    const bool copies = profile_.engine == "sglang" ? !draft_.has("dp_attention") : !experts();
    if (draft_.has("replica.dp") && copies && count("replica.dp") > 1) {
      draft_.set("replicas", *draft_.find("replica.dp"), "data parallelism: copies of the model");
      draft_.erase("replica.dp");
    }
    if (profile_.engine == "sglang" && draft_.has("dp_attention") && count("replica.dp") > 1) {
      // SGLang's tp_size counts all GPUs of the replica.
      const auto tp = count("replica.tp"), dp = count("replica.dp");
      if (tp % dp == 0)
        draft_.set("replica.tp", std::to_string(tp / dp), "tp_size over dp_size: attention groups");
    }
    if (const auto* ep = draft_.find("expert_parallel"); ep != nullptr && *ep == "true") {
      if (experts())
        draft_.set("replica.ep", std::to_string(count("replica.tp") * count("replica.dp")),
                   "expert parallelism over all GPUs of the replica");
      else
        draft_.cannot("expert parallelism: the model has no experts");
    }
    if (draft_.has("trtllm_attention_dp")) {
      const auto tp = count("replica.tp");
      draft_.set("replica.dp", std::to_string(tp), "attention data parallelism over tp_size");
      draft_.set("replica.tp", "1", "attention data parallelism over tp_size");
    }
    for (const char* key : {"dp_attention", "expert_parallel", "trtllm_attention_dp"})
      draft_.erase(key);
  }

  [[nodiscard]] bool every_token_everywhere() const {
    return std::all_of(model_.layers.begin(), model_.layers.end(),
                       [](const catalog::LayerGroup& g) {
                         return g.attention.kind == catalog::AttentionKind::full ||
                                g.attention.kind == catalog::AttentionKind::mla;
                       });
  }

  // The pool: blocks where the log says them, tokens where every layer keeps every token, bytes
  // otherwise.
  void pool() {
    const auto* tokens = draft_.find("printed_tokens");
    if (tokens == nullptr) tokens = draft_.find("pool_tokens");
    if (tokens == nullptr) tokens = draft_.find("max_total_tokens");
    if (tokens != nullptr && !draft_.has("memory.num_gpu_blocks")) {
      const catalog::Knobs defaults =
          profile_.defaults_on(catalog_.gpu(*draft_.find("replica.gpu")));
      std::int64_t block = defaults.block_size;
      for (const char* knob : {"engine.block_size", "engine.page_size", "engine.tokens_per_block"})
        if (draft_.has(knob)) block = count(knob);
      if (every_token_everywhere()) {
        const double blocks = std::floor(std::atof(tokens->c_str()) / static_cast<double>(block));
        if (blocks >= 1)
          draft_.set("memory.num_gpu_blocks", fmt::format("{:.0f}", blocks),
                     fmt::format("{} tokens / {} a block", *tokens, block));
      } else {
        draft_.assume(
            fmt::format("{} tokens in the log count layers that do not keep every token: the bytes "
                        "were taken{}",
                        *tokens, draft_.has("memory.kv_bytes") ? "" : " from the memory ledger"));
      }
    }
    // One measured override of the pool is enough, and blocks are the exact one.
    if (draft_.has("memory.num_gpu_blocks")) draft_.erase("memory.kv_bytes");
    for (const char* key : {"printed_tokens", "pool_tokens", "max_total_tokens"}) draft_.erase(key);
  }

  void workload() {
    // Sources of one kind of load each; a later kind replaces an earlier one.
    std::string last;
    for (const auto& entry : draft_.entries())
      for (const char* kind : {"closed", "open", "trace"})
        if (entry.path.rfind("workload." + std::string(kind) + ".", 0) == 0) last = kind;
    for (const auto& entry : std::vector<Draft::Entry>(draft_.entries()))
      for (const char* kind : {"closed", "open", "trace"})
        if (kind != last && entry.path.rfind("workload." + std::string(kind) + ".", 0) == 0)
          draft_.erase(entry.path);
    if (last == "trace") draft_.erase("workload.requests");
    if (!last.empty()) return;
    draft_.set("workload.closed.concurrent", "1", "assumed");
    draft_.set("workload.closed.prompt", "1000 tokens", "assumed");
    draft_.set("workload.closed.output", "250 tokens", "assumed");
    draft_.set("workload.requests", "20", "assumed");
    draft_.assume(
        "no source says what arrives: one request at a time, 1,000 tokens in and 250 out");
  }

  [[nodiscard]] std::string level(const std::string& prefix, const std::string& indent) const {
    std::string out;
    std::vector<std::string> seen;
    for (const auto& entry : draft_.entries()) {
      if (entry.path.rfind(prefix, 0) != 0) continue;
      const std::string rest = entry.path.substr(prefix.size());
      const std::string key = rest.substr(0, rest.find('.'));
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
      seen.push_back(key);
      out += indent + key + ':';
      if (key != rest)
        out += '\n' + level(prefix + key + '.', indent + "  ");
      else
        out += ' ' + scalar(entry.path, entry.value) + "  # " + shown(entry.origin) + '\n';
    }
    return out;
  }

  [[nodiscard]] std::string text() const { return level("", ""); }

  Draft& draft_;
  const Options& options_;
  catalog::Catalog catalog_;
  catalog::Model model_;
  catalog::EngineProfile profile_;
};

}  // namespace

Imported import_all(const std::vector<Source>& sources, const Options& options) {
  if (sources.empty()) throw InputError("nothing to import");
  Draft draft;
  for (const auto& [file, text] : sources) {
    if (text.size() > max_text) throw InputError(file + ": is larger than 64 MiB", {file, 0, 0});
    if (text.find('\0') != std::string::npos)
      throw InputError(file + ": holds a NUL byte: not a text file", {file, 0, 0});
    const auto kind = kind_of(text);
    if (!kind)
      throw InputError(
          file +
              ": is neither a launch command, an engine's start-up log, a bench result "
              "(JSON), a request log (CSV) nor a Prometheus export",
          {file, 0, 0});
    switch (*kind) {
      case Kind::command_line:
        read_command_line(text, file, draft);
        break;
      case Kind::startup_log:
        read_startup_log(text, file, draft);
        break;
      case Kind::bench_result:
        read_bench_result(text, file, draft);
        break;
      case Kind::request_log:
        read_request_log(text, file, options.keep_trace, draft);
        break;
      case Kind::prometheus:
        read_prometheus(text, file, draft);
        break;
    }
  }
  for (const auto& [path, value] : options.set)
    if (path == "model") draft.set("model", value, "--set");
  Imported out;
  out.scenario = Assembly(draft, options).run();
  for (const auto& entry : draft.entries())
    out.read.push_back(
        fmt::format("{}: {} ({})", entry.path, shown(entry.value), shown(entry.origin)));
  out.assumed = draft.assumed();
  out.not_represented = draft.not_represented();
  out.without_effect = draft.without_effect();
  out.observed = draft.observed;
  out.trace_csv = draft.trace_csv;
  return out;
}

}  // namespace servegrid::importer
