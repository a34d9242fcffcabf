// The text that an engine's /metrics answers, with vllm:* names: counters since its start, gauges
// of that moment.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "import/import.hpp"
#include "import/words.hpp"
#include "units/error.hpp"

namespace servegrid::importer {

namespace {

std::string label(std::string_view labels, std::string_view key) {
  const auto rest = after(labels, std::string(key) + "=\"");
  return std::string(rest.substr(0, rest.find('"')));
}

class Export {
 public:
  Export(const std::string& file, Draft& draft) : file_(file), draft_(draft) {}

  void run(const std::string& text) {
    for (const auto line : lines_of(text)) one(line);
    if (!any_) throw InputError(file_ + ": has no vllm:* metric", {file_, 0, 0});
    finish();
  }

 private:
  void one(std::string_view line) {
    if (line.rfind("vllm:", 0) != 0) return;
    any_ = true;
    const auto brace = line.find('{'), end = line.rfind('}');
    std::string name(line.substr(5, std::min(brace, line.find(' ')) - 5));
    const std::string_view labels = brace == std::string_view::npos || end == std::string_view::npos
                                        ? std::string_view{}
                                        : line.substr(brace + 1, end - brace - 1);
    const auto value = leading_number(line.substr(
        end == std::string_view::npos ? std::min(line.find(' '), line.size()) : end + 1));
    if (const auto model = label(labels, "model_name"); !model.empty() && model_.empty())
      model_ = model;
    if (name == "cache_config_info") config(labels);
    if (value) sums_[name] += *value;
  }

  void config(std::string_view labels) {
    const auto take = [&](const char* key, const char* path) {
      const std::string value = label(labels, key);
      if (!value.empty() && value != "None")
        draft_.set(path,
                   value == "True"    ? "true"
                   : value == "False" ? "false"
                                      : value,
                   fmt::format("{}: cache_config_info {}", file_, key));
    };
    take("block_size", "engine.block_size");
    take("num_gpu_blocks", "memory.num_gpu_blocks");
    take("gpu_memory_utilization", "engine.gpu_memory_utilization");
    take("enable_prefix_caching", "engine.enable_prefix_caching");
    take("cache_dtype", "engine.kv_cache_dtype");
  }

  [[nodiscard]] std::optional<double> mean(const std::string& histogram) const {
    const auto sum = sums_.find(histogram + "_sum"), count = sums_.find(histogram + "_count");
    if (sum == sums_.end() || count == sums_.end() || count->second <= 0) return std::nullopt;
    return sum->second / count->second;
  }

  [[nodiscard]] double gauge(const std::string& name) const {
    const auto it = sums_.find(name);
    return it == sums_.end() ? 0 : it->second;
  }

  void finish() {
    draft_.set("engine.profile", "vllm", file_);
    if (!model_.empty()) draft_.set("model", model_, file_ + ": model_name");
    const auto prompt = mean("request_prompt_tokens"), output = mean("request_generation_tokens");
    const double in_system = gauge("num_requests_running") + gauge("num_requests_waiting");
    if (prompt && output && *prompt >= 1 && *output >= 1) {
      draft_.set("workload.closed.concurrent",
                 fmt::format("{:.0f}", std::max(1.0, std::round(in_system))),
                 file_ + ": num_requests_running + num_requests_waiting");
      draft_.set("workload.closed.prompt", fmt::format("{:.0f} tokens", std::round(*prompt)),
                 file_ + ": request_prompt_tokens");
      draft_.set("workload.closed.output", fmt::format("{:.0f} tokens", std::round(*output)),
                 file_ + ": request_generation_tokens");
      draft_.set("workload.requests",
                 fmt::format("{:.0f}", std::max(200.0, 10 * std::round(in_system))), file_);
      draft_.assume(
          "as many requests at once as at the moment of the export, each of the mean length");
    } else {
      draft_.cannot(
          "no lengths of requests in the export (request_prompt_tokens, "
          "request_generation_tokens)");
    }
    const double hits = gauge("prefix_cache_hits_total") + gauge("gpu_prefix_cache_hits_total"),
                 queries =
                     gauge("prefix_cache_queries_total") + gauge("gpu_prefix_cache_queries_total");
    if (hits > 0 && queries > 0)
      draft_.cannot(
          fmt::format("prefix cache hits of {:.0f} %: which requests share what is not in "
                      "the export; give shared_prefix or a conversation",
                      100 * hits / queries));
    const std::map<std::string, std::string> latencies = {
        {"time_to_first_token_seconds", "mean_ttft_ms"},
        {"time_per_output_token_seconds", "mean_itl_ms"},
        {"inter_token_latency_seconds", "mean_itl_ms"},
        {"e2e_request_latency_seconds", "mean_e2el_ms"}};
    for (const auto& [histogram, name] : latencies)
      if (const auto v = mean(histogram)) draft_.observed.emplace_back(name, *v * 1e3);
    if (sums_.count("num_preemptions_total") > 0)
      draft_.observed.emplace_back("preemptions", gauge("num_preemptions_total"));
  }

  std::string file_;
  Draft& draft_;
  bool any_ = false;
  std::string model_;
  std::map<std::string, double> sums_;
};

}  // namespace

void read_prometheus(const std::string& text, const std::string& file, Draft& draft) {
  Export(file, draft).run(text);
}

}  // namespace servegrid::importer
