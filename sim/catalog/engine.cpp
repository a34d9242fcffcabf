#include "catalog/engine.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "catalog/load.hpp"

namespace servegrid::catalog {

using units::Dimension;

namespace {

MemoryRule load_rule(const Value& v) {
  MemoryRule r;
  choice(v.at("kind"), {"vllm", "sglang", "trtllm"});
  r.kind = v.at("kind").text();
  if (const Value x = v.find("sampler_bytes_per_logit"); x.present()) {
    r.sampler_bytes_per_logit = x.number(0, 1000);
  }
  if (const Value x = v.find("graphs_charged"); x.present()) r.graphs_charged = x.boolean();
  if (const Value x = v.find("context_charged"); x.present()) {
    r.context_charged = x.quantity(Dimension::bytes, 0, 1e12);
  }
  if (const Value x = v.find("nontorch_per_gpu"); x.present()) {
    r.nontorch_per_gpu = x.quantity(Dimension::bytes, 0, 1e12);
  }
  if (const Value x = v.find("printed_tokens"); x.present()) {
    choice(x, {"concurrency", "blocks"});
    r.printed_tokens = x.text();
  }
  v.no_unknown_keys();
  return r;
}

EngineProfile::SizeClass load_class(const Value& v, Policy policy) {
  EngineProfile::SizeClass c;
  if (const Value x = v.find("memory_at_least"); x.present()) {
    c.memory_at_least = x.quantity(Dimension::bytes, 0, 1e14);
  }
  c.except = texts_or(v, "except");
  // SGLang's dispatcher deals new requests out in turn (load_balance_method).
  if (policy == Policy::sglang) c.knobs.rank_balance = RankBalance::round_robin;
  read_knobs(v, policy, {"memory_at_least", "except"}, c.knobs);
  return c;
}

}  // namespace

const std::vector<std::string>& policy_names() {
  static const std::vector<std::string> names = {"vllm_v1", "sglang", "trtllm",       "vllm_v0",
                                                 "sarathi", "orca",   "static_batch", "atom"};
  return names;
}

EngineProfile load_engine(const Value& v, const std::string& name, const std::string& file) {
  EngineProfile e;
  e.name = name;
  e.file = file;
  text_or(v, "title");
  text_or(v, "note");
  e.engine = word(v.at("engine"));
  e.version = word(v.at("version"));
  e.date = word(v.at("date"));
  e.aliases = texts_or(v, "aliases");
  e.policy = static_cast<Policy>(choice(v.at("policy"), policy_names()));
  e.facts.push_back({"", "", word(v.at("source")), e.date, ""});
  e.memory = load_rule(v.at("memory"));
  const Value defaults = v.at("defaults");
  for (const Value& item : defaults.items()) {
    e.size_classes.push_back(load_class(item, e.policy));
    const std::size_t n = e.size_classes.size();
    if (n > 1 && e.size_classes[n - 1].memory_at_least > e.size_classes[n - 2].memory_at_least) {
      throw item.error("classes go from the largest memory to the smallest");
    }
  }
  if (e.size_classes.empty()) throw defaults.error("needs at least one class of defaults");
  if (e.size_classes.back().memory_at_least > 0 || !e.size_classes.back().except.empty()) {
    throw defaults.items().back().error("the last class has no condition: it is for all others");
  }
  for (Fact& fact : read_facts(v)) e.facts.push_back(std::move(fact));
  v.no_unknown_keys();
  return e;
}

Knobs EngineProfile::defaults_on(const Gpu& gpu) const {
  for (const SizeClass& c : size_classes) {
    const bool except = std::find(c.except.begin(), c.except.end(), gpu.name) != c.except.end();
    if (gpu.engine_bytes() >= c.memory_at_least && !except) return c.knobs;
  }
  return size_classes.empty() ? Knobs{} : size_classes.back().knobs;
}

namespace {

void add_range(std::vector<std::int64_t>& sizes, std::int64_t from, std::int64_t to,
               std::int64_t step, std::int64_t limit) {
  for (std::int64_t n = from; n < to && n <= limit; n += step) sizes.push_back(n);
}

// vllm/config/vllm.py of 2026-08: 1, 2, 4, by 8 below 256, by 16 to min(2 * max_num_seqs, 512; 1024
// on compute capability 10.x), never above the token budget.
std::vector<std::int64_t> vllm_graphs(const Knobs& knobs, const Gpu& gpu) {
  const std::int64_t cap = gpu.software.target.starts_with("sm_10") ? 1024 : 512;
  const std::int64_t limit = std::min({2 * knobs.max_num_seqs, cap, knobs.max_num_batched_tokens});
  std::vector<std::int64_t> sizes;
  for (const std::int64_t n : {1, 2, 4}) add_range(sizes, n, n + 1, 1, limit);
  add_range(sizes, 8, 256, 8, limit);
  add_range(sizes, 256, cap + 1, 16, limit);
  return sizes;
}

// sglang server_args.py of 2026-07: the largest batch by GPU memory, more under TP >= 4.
std::vector<std::int64_t> sglang_graphs(const Knobs& knobs, const Gpu& gpu, int tp) {
  const double gb = gpu.engine_bytes() / (1024.0 * 1024 * 1024);
  const std::int64_t cap = gb < 20    ? 8
                           : gb < 35  ? (tp >= 4 ? 80 : 24)
                           : gb < 60  ? (tp >= 4 ? 160 : 32)
                           : gb < 160 ? (tp >= 4 ? 512 : 256)
                                      : 512;
  const std::int64_t limit = std::min(cap, knobs.max_num_seqs);
  std::vector<std::int64_t> sizes;
  for (const std::int64_t n : {1, 2, 4, 8, 12}) add_range(sizes, n, n + 1, 1, limit);
  add_range(sizes, 16, 257, 8, limit);
  add_range(sizes, 272, 512, 16, limit);
  add_range(sizes, 512, cap + 1, 32, limit);
  return sizes;
}

}  // namespace

std::vector<std::int64_t> default_graph_sizes(Policy policy, const Knobs& knobs, const Gpu& gpu,
                                              int tp) {
  if (!knobs.graph_sizes.empty()) return knobs.graph_sizes;
  if (policy == Policy::vllm_v1) return vllm_graphs(knobs, gpu);
  if (policy == Policy::sglang) return sglang_graphs(knobs, gpu, tp);
  return {};  // stated by the profile, or none
}

}  // namespace servegrid::catalog
