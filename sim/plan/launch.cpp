#include "plan/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "catalog/load.hpp"

namespace servegrid::plan {

namespace {

using catalog::Format;
using Kind = catalog::WorkloadSpec::Kind;

// A value as a shell word.
std::string quoted(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-_./:=,+@").find(c) != std::string_view::npos;
  });
  return plain ? text : "'" + text + "'";
}

struct Command {
  std::string text;
  void flag(const std::string& name) { text += " \\\n    " + name; }
  template <typename T>
  void flag(const std::string& name, const T& value) {
    text += fmt::format(" \\\n    {} {}", name, value);
  }
  void on(const std::string& yes, const std::string& no, bool value) { flag(value ? yes : no); }
};

// Formats that an engine applies when it loads 16-bit weights; others come with the checkpoint.
std::string quantisation_of(const catalog::Scenario& s, bool published) {
  if (published || s.weights == s.model.native_format) return {};
  return s.weights == Format::fp8 ? "fp8" : "";
}

std::string kv_word(const catalog::Scenario& s) {
  if (s.knobs.kv_cache == Format::fp8)
    return s.engine.policy == catalog::Policy::sglang ? "fp8_e4m3" : "fp8";
  return "auto";
}

std::string vllm(const catalog::Scenario& s, const std::string& checkpoint, bool published) {
  const auto& k = s.knobs;
  Command c{"vllm serve " + quoted(checkpoint)};
  c.flag("--tensor-parallel-size", s.parallel.tp);
  if (s.parallel.pp > 1) c.flag("--pipeline-parallel-size", s.parallel.pp);
  if (s.parallel.dp > 1) c.flag("--data-parallel-size", s.parallel.dp);
  if (s.parallel.ep > 1) c.flag("--enable-expert-parallel");
  c.flag("--dtype", "bfloat16");
  if (const auto q = quantisation_of(s, published); !q.empty()) c.flag("--quantization", q);
  c.flag("--kv-cache-dtype", kv_word(s));
  c.flag("--max-model-len", k.max_model_len);
  c.flag("--gpu-memory-utilization", fmt::format("{}", k.memory_fraction));
  c.flag("--max-num-seqs", k.max_num_seqs);
  c.flag("--max-num-batched-tokens", k.max_num_batched_tokens);
  c.flag("--block-size", k.block_size);
  c.on("--enable-prefix-caching", "--no-enable-prefix-caching", k.enable_prefix_caching);
  c.on("--enable-chunked-prefill", "--no-enable-chunked-prefill", k.enable_chunked_prefill);
  if (k.long_prefill_token_threshold > 0)
    c.flag("--long-prefill-token-threshold", k.long_prefill_token_threshold);
  return c.text;
}

std::string sglang(const catalog::Scenario& s, const std::string& checkpoint, bool published) {
  const auto& k = s.knobs;
  Command c{"python -m sglang.launch_server"};
  c.flag("--model-path", quoted(checkpoint));
  c.flag("--tp-size", s.parallel.tp);
  if (s.parallel.pp > 1) c.flag("--pp-size", s.parallel.pp);
  if (s.parallel.dp > 1) {
    c.flag("--dp-size", s.parallel.dp);
    c.flag("--enable-dp-attention");
  }
  if (s.parallel.ep > 1) c.flag("--ep-size", s.parallel.ep);
  c.flag("--dtype", "bfloat16");
  if (const auto q = quantisation_of(s, published); !q.empty()) c.flag("--quantization", q);
  c.flag("--kv-cache-dtype", kv_word(s));
  c.flag("--context-length", k.max_model_len);
  c.flag("--mem-fraction-static", fmt::format("{}", k.memory_fraction));
  c.flag("--max-running-requests", k.max_num_seqs);
  c.flag("--chunked-prefill-size", k.enable_chunked_prefill ? k.max_num_batched_tokens : -1);
  c.flag("--max-prefill-tokens", k.max_prefill_tokens);
  c.flag("--page-size", k.block_size);
  c.flag("--schedule-conservativeness", fmt::format("{}", k.schedule_conservativeness));
  if (!k.enable_prefix_caching) c.flag("--disable-radix-cache");
  if (!k.async_scheduling) c.flag("--disable-overlap-schedule");
  if (k.stream_interval > 1) c.flag("--stream-interval", k.stream_interval);
  return c.text;
}

std::string trtllm(const catalog::Scenario& s, const std::string& checkpoint) {
  const auto& k = s.knobs;
  std::string options = fmt::format(
      "cat > trtllm.yaml <<'END'\nkv_cache_config:\n  free_gpu_memory_fraction: {}\n  "
      "enable_block_reuse: {}\n  tokens_per_block: {}\n  dtype: {}\nenable_chunked_prefill: "
      "{}\nscheduler_config:\n  capacity_scheduler_policy: {}\nstream_interval: {}\n",
      k.memory_fraction, k.enable_prefix_caching, k.block_size, kv_word(s),
      k.enable_chunked_prefill, k.guaranteed_no_evict ? "GUARANTEED_NO_EVICT" : "MAX_UTILIZATION",
      k.stream_interval);
  if (s.parallel.dp > 1) options += "enable_attention_dp: true\n";
  Command c{options + "END\ntrtllm-serve " + quoted(checkpoint)};
  c.flag("--backend", "pytorch");
  c.flag("--tp_size", s.parallel.tp * s.parallel.dp);
  if (s.parallel.pp > 1) c.flag("--pp_size", s.parallel.pp);
  if (s.parallel.ep > 1) c.flag("--ep_size", s.parallel.ep);
  c.flag("--max_batch_size", k.max_num_seqs);
  c.flag("--max_num_tokens", k.max_num_batched_tokens);
  c.flag("--max_seq_len", k.max_model_len);
  c.flag("--extra_llm_api_options", "trtllm.yaml");
  return c.text;
}

}  // namespace

std::string checkpoint_of(const catalog::Scenario& s, bool& published) {
  for (const auto& c : s.model.checkpoints)
    if (c.format == s.weights && !c.id.empty()) {
      published = true;
      return c.id;
    }
  published = s.weights == s.model.native_format;
  std::string id;
  for (const auto& alias : s.model.aliases)
    if (alias.find('/') != std::string::npos &&
        (id.empty() || id.find("Instruct") == std::string::npos)) {
      const bool own = std::none_of(s.model.checkpoints.begin(), s.model.checkpoints.end(),
                                    [&](const catalog::Checkpoint& c) { return c.id == alias; });
      if (own && (id.empty() || alias.find("Instruct") != std::string::npos)) id = alias;
    }
  if (!published && s.weights != Format::fp8)  // quantised by oneself: no engine does it at loading
    return fmt::format("local/{}-{}", s.model.name, catalog::name(s.weights));
  return id.empty() ? s.model.name : id;
}

std::string launch_command(const catalog::Scenario& s) {
  bool published = false;
  const std::string checkpoint = checkpoint_of(s, published);
  switch (s.engine.policy) {
    case catalog::Policy::sglang:
      return sglang(s, checkpoint, published);
    case catalog::Policy::trtllm:
      return trtllm(s, checkpoint);
    case catalog::Policy::vllm_v1:
    case catalog::Policy::vllm_v0:
      return vllm(s, checkpoint, published);
    case catalog::Policy::atom:
      return fmt::format(
          "python -m atom.entrypoints.openai_server \\\n    --model {} \\\n    -tp {} \\\n    "
          "--kv_cache_dtype {}",
          quoted(checkpoint), s.parallel.tp, kv_word(s) == "auto" ? "bf16" : kv_word(s));
    default:
      return "# no server runs the policy of " + s.engine.name + ": it is for study only";
  }
}

std::string bench_command(const catalog::Scenario& s, double load, double rate,
                          const Objectives& objectives) {
  bool published = false;
  const auto& w = s.workload;
  Command c{"vllm bench serve --model " + quoted(checkpoint_of(s, published))};
  double input = w.prompt.mean;
  if (w.kind == Kind::conversations)  // the bench has no turns: one request of the mean turn
    input = static_cast<double>(w.history) + w.turn_input.mean +
            (static_cast<double>(w.turns) - 1) / 2 * (w.turn_input.mean + w.output.mean);
  const auto prefix = static_cast<double>(w.shared_prefix);
  c.flag("--dataset-name", "random");
  c.flag("--random-input-len", std::llround(std::max(1.0, input - prefix)));
  if (prefix > 0) c.flag("--random-prefix-len", std::llround(prefix));
  c.flag("--random-output-len", std::llround(w.output.mean));
  c.flag("--ignore-eos");
  const bool thinks = w.kind == Kind::conversations && w.think_time > 0 && rate > 0;
  const bool open = w.kind == Kind::open || thinks;
  if (open)
    c.flag("--request-rate", fmt::format("{:.4g}", thinks ? rate : load));
  else
    c.flag("--max-concurrency", std::llround(load));
  c.flag("--num-prompts",
         std::llround(std::clamp(open ? 300 * (thinks ? rate : load) : 10 * load, 500.0, 20000.0)));
  std::string goodput, percentiles;
  for (const auto& o : objectives) {
    if (o.metric != Metric::itl)
      goodput += fmt::format(" {}:{:.6g}", name(o.metric), o.limit * 1e3);
    if (o.percentile) {
      const std::string p = fmt::format("{:.6g}", *o.percentile);
      if (("," + percentiles + ",").find("," + p + ",") == std::string::npos)
        percentiles += (percentiles.empty() ? "" : ",") + p;
    }
  }
  c.flag("--percentile-metrics", "ttft,tpot,itl,e2el");
  if (!percentiles.empty()) c.flag("--metric-percentiles", percentiles);
  if (!goodput.empty()) c.flag("--goodput" + goodput);
  c.flag("--save-result");
  return c.text;
}

}  // namespace servegrid::plan
