// The knobs by the engines' own names, one table a policy.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>

#include "catalog/load.hpp"
#include "catalog/scenario_load.hpp"
#include "catalog/tree.hpp"

namespace servegrid::catalog {

namespace {

using units::Dimension;

struct Knob {
  std::string name;
  std::function<void(const Value&, Knobs&)> read;
  std::function<std::string(const Knobs&)> write;
};

Knob whole(const char* name, std::int64_t Knobs::*field, std::int64_t low, std::int64_t high) {
  return {name, [=](const Value& v, Knobs& k) { k.*field = v.integer(low, high); },
          [=](const Knobs& k) { return fmt::format("{}", k.*field); }};
}

Knob flag(const char* name, bool Knobs::*field) {
  return {name, [=](const Value& v, Knobs& k) { k.*field = v.boolean(); },
          [=](const Knobs& k) { return k.*field ? "true" : "false"; }};
}

Knob ratio(const char* name, double Knobs::*field, double low) {
  return {name, [=](const Value& v, Knobs& k) { k.*field = v.quantity(Dimension::ratio, low, 1); },
          [=](const Knobs& k) { return fmt::format("{}", k.*field); }};
}

// "auto" is the model's 16-bit type: weights of fewer bits keep a 16-bit KV cache.
Knob kv_cache() {
  return {"kv_cache_dtype",
          [](const Value& v, Knobs& k) {
            k.kv_cache = v.text() == "auto" ? Format::bf16 : read_format(v);
          },
          [](const Knobs& k) { return std::string(name(k.kv_cache)); }};
}

Knob graphs(const char* name) {
  return {name,
          [](const Value& v, Knobs& k) {
            k.graph_sizes.clear();
            for (const Value& item : v.items()) {
              k.graph_sizes.push_back(item.integer(1, 1'000'000));
              const std::size_t n = k.graph_sizes.size();
              if (n > 1 && k.graph_sizes[n - 1] <= k.graph_sizes[n - 2]) {
                throw item.error("graph sizes must rise");
              }
            }
          },
          [](const Knobs& k) {
            std::string out = "[";
            for (const std::int64_t n : k.graph_sizes) {
              out += (out.size() > 1 ? ", " : "") + std::to_string(n);
            }
            return out + "]";
          }};
}

// -1 is how SGLang switches chunking off.
Knob sglang_chunk() {
  return {"chunked_prefill_size",
          [](const Value& v, Knobs& k) {
            const std::int64_t n = v.integer(-1, 1'000'000'000);
            if (n == 0) throw v.error("must be a number of tokens, or -1 for no chunks");
            k.enable_chunked_prefill = n > 0;
            k.max_num_batched_tokens = n > 0 ? n : k.max_prefill_tokens;
          },
          [](const Knobs& k) {
            return std::to_string(k.enable_chunked_prefill ? k.max_num_batched_tokens : -1);
          }};
}

Knob capacity_policy() {
  return {"capacity_scheduler_policy",
          [](const Value& v, Knobs& k) {
            k.guaranteed_no_evict = choice(v, {"MAX_UTILIZATION", "GUARANTEED_NO_EVICT"}) == 1;
          },
          [](const Knobs& k) {
            return k.guaranteed_no_evict ? "GUARANTEED_NO_EVICT" : "MAX_UTILIZATION";
          }};
}

// Kernels that the calibration data name; any other would be ignored.
Knob moe_backend(const char* name) {
  static const std::vector<std::string> known = {"auto", "triton", "marlin", "cutlass", "trtllm"};
  return {name, [](const Value& v, Knobs& k) { k.moe_backend = known[choice(v, known)]; },
          [](const Knobs& k) { return k.moe_backend; }};
}

Knob conservativeness() {
  return {"schedule_conservativeness",
          [](const Value& v, Knobs& k) { k.schedule_conservativeness = v.number(0, 100); },
          [](const Knobs& k) { return fmt::format("{}", k.schedule_conservativeness); }};
}

// Two words of the engine for a flag: the first means false.
Knob either(const char* name, const char* no, const char* yes, bool Knobs::*field) {
  return {name,
          [=](const Value& v, Knobs& k) {
            k.*field = choice(v, {no, yes}) == 1;
          },
          [=](const Knobs& k) { return k.*field ? yes : no; }};
}

Knob swap_space() {
  return {"swap_space",
          [](const Value& v, Knobs& k) { k.swap_space = v.quantity(Dimension::bytes, 0, 1e14); },
          [](const Knobs& k) { return fmt::format("{} B", k.swap_space); }};
}

// Backends of vLLM (config/parallel.py, 2026-08); "auto" is our default: the channel fitted to
// measured serving, whose backends were not recorded.
Knob all2all_backend() {
  static const std::vector<std::string> names = {"auto", "allgather_reducescatter",
                                                 "deepep_high_throughput", "deepep_low_latency"};
  return {"all2all_backend",
          [](const Value& v, Knobs& k) { k.all_to_all = static_cast<AllToAll>(choice(v, names)); },
          [](const Knobs& k) { return names[static_cast<std::size_t>(k.all_to_all)]; }};
}

// SGLang's moe_a2a_backend, with deepep_mode for the kernels (server_args.py, 2026-07).
Knob moe_a2a_backend() {
  static const std::vector<std::string> names = {"auto", "none", "deepep"};
  return {"moe_a2a_backend",
          [](const Value& v, Knobs& k) { k.all_to_all = static_cast<AllToAll>(choice(v, names)); },
          [](const Knobs& k) {
            return names[std::min<std::size_t>(2, static_cast<std::size_t>(k.all_to_all))];
          }};
}

Knob deepep_mode() {
  return {"deepep_mode",
          [](const Value& v, Knobs& k) {
            const int mode = choice(v, {"normal", "low_latency"});
            if (k.all_to_all < AllToAll::deepep_normal) {
              if (mode == 0) return;  // the default, written out
              throw v.error("needs moe_a2a_backend: deepep");
            }
            k.all_to_all = mode == 1 ? AllToAll::deepep_low_latency : AllToAll::deepep_normal;
          },
          [](const Knobs& k) {
            return k.all_to_all == AllToAll::deepep_low_latency ? "low_latency" : "normal";
          }};
}

Knob load_balance_method() {
  static const std::vector<std::string> names = {"round_robin", "total_requests", "total_tokens"};
  return {"load_balance_method",
          [](const Value& v, Knobs& k) {
            k.rank_balance = static_cast<RankBalance>(1 + choice(v, names));
          },
          [](const Knobs& k) {
            return names[static_cast<std::size_t>(k.rank_balance) -
                         (k.rank_balance == RankBalance::least_loaded ? 0 : 1)];
          }};
}

constexpr std::int64_t many_tokens = 1'000'000'000, many_requests = 10'000'000;

const std::vector<Knob>& vllm_knobs() {
  static const std::vector<Knob> knobs = {
      whole("max_num_seqs", &Knobs::max_num_seqs, 1, many_requests),
      whole("max_num_batched_tokens", &Knobs::max_num_batched_tokens, 1, many_tokens),
      ratio("gpu_memory_utilization", &Knobs::memory_fraction, 0.01),
      whole("block_size", &Knobs::block_size, 1, 65536),
      flag("enable_prefix_caching", &Knobs::enable_prefix_caching),
      flag("enable_chunked_prefill", &Knobs::enable_chunked_prefill),
      whole("long_prefill_token_threshold", &Knobs::long_prefill_token_threshold, 0, many_tokens),
      flag("scheduler_reserve_full_isl", &Knobs::reserve_full_isl),
      ratio("watermark", &Knobs::watermark, 0),
      whole("max_model_len", &Knobs::max_model_len, 0, many_tokens),
      kv_cache(),
      flag("async_scheduling", &Knobs::async_scheduling),
      either("scheduling_policy", "fcfs", "priority", &Knobs::by_priority),
      all2all_backend(),
      moe_backend("moe_backend"),
      graphs("cudagraph_capture_sizes"),
  };
  return knobs;
}

const std::vector<Knob>& sglang_knobs() {
  static const std::vector<Knob> knobs = {
      whole("max_running_requests", &Knobs::max_num_seqs, 1, many_requests),
      whole("max_prefill_tokens", &Knobs::max_prefill_tokens, 1, many_tokens),
      sglang_chunk(),
      ratio("mem_fraction_static", &Knobs::memory_fraction, 0.01),
      whole("page_size", &Knobs::block_size, 1, 65536),
      flag("enable_radix_cache", &Knobs::enable_prefix_caching),
      conservativeness(),
      whole("context_length", &Knobs::max_model_len, 0, many_tokens),
      kv_cache(),
      flag("enable_overlap_schedule", &Knobs::async_scheduling),
      either("schedule_policy", "fcfs", "lpm", &Knobs::longest_prefix),
      flag("enable_priority_scheduling", &Knobs::by_priority),
      whole("stream_interval", &Knobs::stream_interval, 1, 1'000'000),
      moe_a2a_backend(),
      deepep_mode(),
      load_balance_method(),
      whole("scheduler_recv_interval", &Knobs::scheduler_recv_interval, 1, 1'000'000),
      moe_backend("moe_runner_backend"),
      graphs("cuda_graph_bs"),
  };
  return knobs;
}

const std::vector<Knob>& trtllm_knobs() {
  static const std::vector<Knob> knobs = {
      whole("max_batch_size", &Knobs::max_num_seqs, 1, many_requests),
      whole("max_num_tokens", &Knobs::max_num_batched_tokens, 1, many_tokens),
      ratio("free_gpu_memory_fraction", &Knobs::memory_fraction, 0.01),
      whole("tokens_per_block", &Knobs::block_size, 1, 65536),
      flag("enable_block_reuse", &Knobs::enable_prefix_caching),
      flag("enable_chunked_prefill", &Knobs::enable_chunked_prefill),
      whole("max_seq_len", &Knobs::max_model_len, 0, many_tokens),
      kv_cache(),
      capacity_policy(),
      whole("stream_interval", &Knobs::stream_interval, 1, 1'000'000),
      whole("batch_wait_timeout_iters", &Knobs::batch_wait_timeout_iters, 0, 1'000'000),
      ratio("batch_wait_max_tokens_ratio", &Knobs::batch_wait_max_tokens_ratio, 0),
      moe_backend("moe_backend"),
      graphs("cuda_graph_batch_sizes"),
  };
  return knobs;
}

const std::vector<Knob>& vllm_v0_knobs() {
  static const std::vector<Knob> knobs = {
      whole("max_num_seqs", &Knobs::max_num_seqs, 1, many_requests),
      whole("max_num_batched_tokens", &Knobs::max_num_batched_tokens, 1, many_tokens),
      ratio("gpu_memory_utilization", &Knobs::memory_fraction, 0.01),
      whole("block_size", &Knobs::block_size, 1, 65536),
      flag("enable_prefix_caching", &Knobs::enable_prefix_caching),
      ratio("watermark", &Knobs::watermark, 0),
      either("preemption_mode", "recompute", "swap", &Knobs::swap_preempted),
      swap_space(),
      whole("max_model_len", &Knobs::max_model_len, 0, many_tokens),
      kv_cache(),
      graphs("cudagraph_capture_sizes"),
  };
  return knobs;
}

const std::vector<Knob>& sarathi_knobs() {
  static const std::vector<Knob> knobs = {
      whole("max_num_seqs", &Knobs::max_num_seqs, 1, many_requests),
      whole("chunk_size", &Knobs::max_num_batched_tokens, 1, many_tokens),
      ratio("gpu_memory_utilization", &Knobs::memory_fraction, 0.01),
      whole("block_size", &Knobs::block_size, 1, 65536),
      ratio("watermark", &Knobs::watermark, 0),
      whole("max_model_len", &Knobs::max_model_len, 0, many_tokens),
      kv_cache(),
  };
  return knobs;
}

// Orca and static batches: what they hold is max_model_len tokens for each of max_num_seqs.
const std::vector<Knob>& reserving_knobs() {
  static const std::vector<Knob> knobs = {
      whole("max_num_seqs", &Knobs::max_num_seqs, 1, many_requests),
      ratio("gpu_memory_utilization", &Knobs::memory_fraction, 0.01),
      whole("block_size", &Knobs::block_size, 1, 65536),
      whole("max_model_len", &Knobs::max_model_len, 0, many_tokens),
      kv_cache(),
  };
  return knobs;
}

const std::vector<Knob>& atom_knobs() {
  static const std::vector<Knob> knobs = {
      whole("max_num_seqs", &Knobs::max_num_seqs, 1, many_requests),
      whole("max_num_batched_tokens", &Knobs::max_num_batched_tokens, 1, many_tokens),
      ratio("gpu_memory_utilization", &Knobs::memory_fraction, 0.01),
      whole("block_size", &Knobs::block_size, 1, 65536),
      flag("enable_prefix_caching", &Knobs::enable_prefix_caching),
      flag("enable_chunked_prefill", &Knobs::enable_chunked_prefill),
      whole("long_prefill_token_threshold", &Knobs::long_prefill_token_threshold, 0, many_tokens),
      whole("max_model_len", &Knobs::max_model_len, 0, many_tokens),
      kv_cache(),
      graphs("cudagraph_capture_sizes"),
  };
  return knobs;
}

const std::vector<Knob>& knobs_of(Policy policy) {
  switch (policy) {
    case Policy::vllm_v1:
      return vllm_knobs();
    case Policy::sglang:
      return sglang_knobs();
    case Policy::trtllm:
      return trtllm_knobs();
    case Policy::vllm_v0:
      return vllm_v0_knobs();
    case Policy::sarathi:
      return sarathi_knobs();
    case Policy::orca:
    case Policy::static_batch:
      return reserving_knobs();
    case Policy::atom:
      return atom_knobs();
  }
  return vllm_knobs();
}

constexpr std::array all_policies = {Policy::vllm_v1,      Policy::sglang,  Policy::trtllm,
                                     Policy::vllm_v0,      Policy::sarathi, Policy::orca,
                                     Policy::static_batch, Policy::atom};

}  // namespace

namespace {

// What the older engines have no knob for because they do not have it.
void switch_off(Policy policy, Knobs& knobs) {
  const bool old = policy == Policy::vllm_v0 || policy == Policy::sarathi ||
                   policy == Policy::orca || policy == Policy::static_batch;
  if (old || policy == Policy::atom) knobs.async_scheduling = false;
  if (old && policy != Policy::vllm_v0) knobs.enable_prefix_caching = false;
}

}  // namespace

void read_knobs(const Value& v, Policy policy, const std::vector<std::string>& skip, Knobs& knobs) {
  switch_off(policy, knobs);
  for (const std::string& key : skip) (void)v.find(key);
  // In the order of the table, so that a knob may depend on one before it whatever the file's
  // order.
  for (const Knob& knob : knobs_of(policy)) {
    if (const Value x = v.find(knob.name); x.present()) knob.read(x, knobs);
  }
  v.no_unknown_keys();
}

std::vector<std::pair<std::string, std::string>> write_knobs(const Knobs& knobs, Policy policy) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Knob& knob : knobs_of(policy)) out.emplace_back(knob.name, knob.write(knobs));
  return out;
}

bool is_knob(const std::string& path) {
  const std::string name = path.substr(0, path.find('.'));
  if (is_speculation_key(name)) return true;
  for (const Policy policy : all_policies) {
    for (const Knob& knob : knobs_of(policy)) {
      if (knob.name == name) return true;
    }
  }
  return false;
}

std::string length_knob(Policy policy) {
  if (policy == Policy::sglang) return "context_length";
  return policy == Policy::trtllm ? "max_seq_len" : "max_model_len";
}

std::string graph_knob(Policy policy) {
  return knobs_of(policy).back().name;  // the last of each table that has one
}

}  // namespace servegrid::catalog
