#include "catalog/scenario.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "catalog/load.hpp"
#include "catalog/names.hpp"
#include "catalog/relative.hpp"
#include "catalog/scenario_load.hpp"
#include "catalog/tree.hpp"
#include "catalog/workload_load.hpp"

namespace servegrid::catalog {

using units::Dimension;

namespace {

constexpr std::int64_t max_gpus = 1'000'000;

/// Runs `get`, giving errors without a place the place of `v`.
template <typename F>
auto located(const Value& v, F get) {
  try {
    return get();
  } catch (const InputError& e) {
    if (e.where().line == 0 && !e.where().file.starts_with("--set")) throw v.error(e.what());
    throw;
  }
}

int parallel(const Value& replica, const char* key) {
  const Value x = replica.find(key);
  return x.present() ? static_cast<int>(x.integer(1, 65536)) : 1;
}

void check_tensor_parallel(const Value& tp, const Scenario& s) {
  const int n = s.parallel.tp;
  const auto divide = [&](int count, const char* what) {
    if (count > 0 && count % n != 0) {
      throw tp.error(
          fmt::format("tp {} does not divide the {} {} of {}", n, count, what, s.model.name));
    }
  };
  for (const LayerGroup& group : s.model.layers) {
    const Attention& a = group.attention;
    divide(a.heads, "attention heads");
    divide(a.linear_value_heads, "linear-attention heads");
    if (a.kind == AttentionKind::full || a.kind == AttentionKind::window) {
      if (a.kv_heads > 0 && n < a.kv_heads) divide(a.kv_heads, "KV heads");
      if (a.kv_heads > 0 && n > a.kv_heads && n % a.kv_heads != 0) {
        throw tp.error(fmt::format("tp {} is no multiple of the {} KV heads of {}", n, a.kv_heads,
                                   s.model.name));
      }
    }
  }
}

}  // namespace

void load_replica(const Value& replica, const Catalog& catalog, const Overrides& overrides,
                  Scenario& s) {
  const Value gpu = replica.at("gpu");
  s.gpu = located(gpu, [&] { return catalog.gpu(word(gpu), overrides); });
  s.parallel = {parallel(replica, "tp"), parallel(replica, "pp"), parallel(replica, "ep"),
                parallel(replica, "dp")};
  if (const Value x = replica.find("expert_imbalance"); x.present()) {
    s.parallel.expert_imbalance = x.number(1, 1000);
    if (s.parallel.ep == 1) throw x.error("experts are spread over ranks only under ep");
    if (s.parallel.expert_imbalance > s.parallel.ep) {
      throw x.error(fmt::format("the busiest of {} ranks has at most {} times the mean",
                                s.parallel.ep, s.parallel.ep));
    }
  }
  replica.no_unknown_keys();
  const Parallelism& p = s.parallel;
  const auto gpus = static_cast<std::int64_t>(p.tp) * p.pp * p.dp;
  if (gpus * s.replicas > max_gpus) {
    throw replica.error(fmt::format("takes {} GPUs; the limit is {}", gpus * s.replicas, max_gpus));
  }
  check_tensor_parallel(replica.find("tp"), s);
  if (p.pp > s.model.depth()) {
    throw replica.find("pp").error(
        fmt::format("{} stages for the {} layers of {}", p.pp, s.model.depth(), s.model.name));
  }
  if (p.ep == 1) return;
  const Value ep = replica.find("ep");
  int experts = 0;
  for (const LayerGroup& g : s.model.layers) experts = std::max(experts, g.mlp.experts);
  if (experts == 0) throw ep.error(fmt::format("{} has no experts to spread", s.model.name));
  if (p.tp * p.dp % p.ep != 0) {
    throw ep.error(fmt::format("ep {} does not divide tp x dp = {}", p.ep, p.tp * p.dp));
  }
  if (p.ep > experts) throw ep.error(fmt::format("ep {} is above the {} experts", p.ep, experts));
}

namespace {

/// vLLM's own adjustments of defaults that were not asked for (vllm/engine/arg_utils.py, 2026-08).
void adjust_vllm(const Value& engine, Knobs& k) {
  const auto asked = [&](const char* key) { return engine.is_map() && engine.find(key).present(); };
  if (!asked("max_num_batched_tokens")) {
    if (!k.enable_chunked_prefill) {
      k.max_num_batched_tokens = std::max(k.max_num_batched_tokens, k.max_model_len);
    }
    k.max_num_batched_tokens = std::min(k.max_num_batched_tokens, k.max_num_seqs * k.max_model_len);
  }
  if (!asked("max_num_seqs")) k.max_num_seqs = std::min(k.max_num_seqs, k.max_num_batched_tokens);
  if (k.max_num_seqs > k.max_num_batched_tokens) {
    throw engine.find("max_num_seqs")
        .error(fmt::format("max_num_seqs {} is above max_num_batched_tokens {}", k.max_num_seqs,
                           k.max_num_batched_tokens));
  }
  if (!k.enable_chunked_prefill && k.max_num_batched_tokens < k.max_model_len) {
    throw engine.find("max_num_batched_tokens")
        .error(fmt::format("without chunked prefill it must hold max_model_len = {} tokens",
                           k.max_model_len));
  }
}

// vllm/config.py of 2024: without chunked prefill the budget holds the longest prompt.
void adjust_vllm_v0(const Value& engine, Knobs& k) {
  if (!engine.is_map() || !engine.find("max_num_batched_tokens").present()) {
    k.max_num_batched_tokens = std::max<std::int64_t>(k.max_model_len, 2048);
  } else if (k.max_num_batched_tokens < k.max_model_len) {
    throw engine.find("max_num_batched_tokens")
        .error(fmt::format("it must hold max_model_len = {} tokens: this policy has no chunked "
                           "prefill",
                           k.max_model_len));
  }
}

bool refuses(const std::string& says) {
  return says == "no" || says == "false" || says.starts_with("no:") || says.starts_with("no ");
}

void check_runs(const Value& at, const Scenario& s) {
  const auto it = s.gpu.software.engines.find(s.engine.engine);
  if (it == s.gpu.software.engines.end()) return;
  const std::string& says = it->second;
  if (refuses(says)) {
    std::string runs;
    for (const auto& [engine, how] : s.gpu.software.engines) {
      if (!refuses(how)) runs += (runs.empty() ? "" : ", ") + engine;
    }
    throw at.error(fmt::format("{} does not run on {} ({}){}", s.engine.engine, s.gpu.title,
                               printable(says), runs.empty() ? "" : "; these do: " + runs));
  }
}

/// Knobs written as "x2" or "+20%" become so much of the engine's default on that GPU.
Value with_defaults(const Value& engine, const Knobs& defaults, Policy policy) {
  Value out = engine;
  for (const auto& [knob, value] : write_knobs(defaults, policy)) {
    const Value x = out.find(knob);
    if (!x.present() || !x.is_scalar()) continue;
    const double factor = relative_factor(x.text());
    if (factor <= 0) continue;
    const std::string changed = scaled(value, factor);
    if (changed.empty() || value == "0") {
      throw x.error(fmt::format("the default of {}, '{}', is no number to change by {}", knob,
                                value, printable(x.text())));
    }
    out.set(knob, changed, x.path() + "=" + x.text());
  }
  return out;
}

}  // namespace

void load_engine_part(const Value& written, const Catalog& catalog, const Overrides& overrides,
                      Scenario& s) {
  const Value profile = written.is_map() ? written.at("profile") : written;
  s.engine = located(profile, [&] { return catalog.engine(word(profile), overrides); });
  check_runs(profile, s);
  Knobs& k = s.knobs = s.engine.defaults_on(s.gpu);
  const Value engine = written.is_map() ? with_defaults(written, k, s.engine.policy) : written;
  if (engine.is_map()) {
    std::vector<std::string> other = speculation_keys(s.engine.policy);
    other.emplace_back("profile");
    read_knobs(engine, s.engine.policy, other, k);
  }
  const std::string longest = length_knob(s.engine.policy);
  if (k.max_model_len == 0) k.max_model_len = s.model.max_context;
  if (k.max_model_len > s.model.max_context) {
    const bool asked = engine.is_map() && engine.find(longest).present();
    if (asked) {
      throw engine.find(longest).error(fmt::format("{} {} is above the {} tokens of {}", longest,
                                                   k.max_model_len, s.model.max_context,
                                                   s.model.name));
    }
    k.max_model_len = s.model.max_context;
  }
  if (s.engine.policy == Policy::vllm_v1) adjust_vllm(engine, k);
  if (s.engine.policy == Policy::vllm_v0) adjust_vllm_v0(engine, k);
  // Whole prompts in one step: what a step may hold is as long as the longest.
  if (s.engine.policy == Policy::orca || s.engine.policy == Policy::static_batch) {
    k.max_num_batched_tokens = k.max_model_len;
  }
  if (!engine.is_map() || !engine.find(graph_knob(s.engine.policy)).present()) {
    k.graph_sizes = default_graph_sizes(s.engine.policy, k, s.gpu, s.parallel.tp);
  }
}

void load_memory_part(const Value& v, Scenario& s) {
  if (const Value x = v.find("num_gpu_blocks"); x.present()) {
    s.num_gpu_blocks = x.integer(1, 1'000'000'000'000);
  }
  const auto bytes = [&](const char* key, std::optional<double>& to) {
    if (const Value x = v.find(key); x.present()) to = x.quantity(Dimension::bytes, 0, 1e15);
  };
  bytes("kv_bytes", s.kv_bytes);
  bytes("reserve", s.reserve_bytes);
  bytes("weights", s.weights_bytes);
  s.cache_tiers.clear();
  const Value host = v.find("host_cache"), disk = v.find("disk_cache");
  const auto tier = [&](const Value& t, double bandwidth) {
    if (!t.present()) return;
    if (!s.knobs.enable_prefix_caching) throw t.error("the engine's prefix cache is off");
    CacheTierSpec spec{t.at("size").quantity(Dimension::bytes, 1, 1e16), bandwidth};
    if (const Value x = t.find("bandwidth"); x.present() || bandwidth <= 0) {
      spec.bandwidth = t.at("bandwidth").quantity(Dimension::bytes_per_second, 1, 1e14);
    }
    t.no_unknown_keys();
    s.cache_tiers.push_back(spec);
  };
  tier(host, s.gpu.host_bandwidth);
  tier(disk, 0);
  if (disk.present() && !host.present()) throw disk.error("a disk lies behind a 'host_cache'");
  v.no_unknown_keys();
}

namespace {

void load_prices_part(const Value& v, const Catalog& catalog, Scenario& s) {
  for (const Value& item : v.items()) {
    const std::string name = word(item);
    const PriceSheet sheet = located(item, [&] { return catalog.prices(name); });
    s.prices.push_back(is_path(name) ? name : sheet.name);
  }
}

}  // namespace

void load_model_part(const Value& v, const Catalog& catalog, const Overrides& overrides,
                     Scenario& s) {
  if (const Value model = v.find("model"); model.present()) {
    s.model = located(model, [&] { return catalog.model(word(model), overrides); });
    s.weights = s.model.native_format;
  }
  if (const Value x = v.find("weights"); x.present()) s.weights = read_format(x);
}

Scenario load_scenario(const Value& v, const Catalog& catalog, const ProfileOverrides& profiles,
                       const std::string& name, const std::string& file) {
  Scenario s;
  s.name = name;
  s.file = file;
  s.description = text_or(v, "description");
  if (const Value x = v.find("overrides"); x.present()) (void)x.entries();
  const bool pools = v.find("pools").present();
  if (!pools) (void)v.at("model");
  load_model_part(v, catalog, profiles.model, s);
  if (!pools) {
    if (const Value x = v.find("replicas"); x.present()) {
      s.replicas = static_cast<int>(x.integer(1, max_gpus));
    }
    load_replica(v.at("replica"), catalog, profiles.gpu, s);
    load_engine_part(v.at("engine"), catalog, profiles.engine, s);
    load_speculation(v.at("engine"), v.find("speculation"), catalog, s);
    if (const Value x = v.find("memory"); x.present()) load_memory_part(x, s);
  }
  if (const Value x = v.find("prices"); x.present()) load_prices_part(x, catalog, s);
  load_cluster(v, catalog, profiles, s);
  s.workload = load_workload(v.at("workload"), folder_of(file));
  if (const Value x = v.find("slo"); x.present()) load_slo(x, s.slo);
  if (const Value x = v.find("seed"); x.present()) {
    s.seed = static_cast<std::uint64_t>(x.integer(0, INT64_MAX));
  }
  if (const Value x = v.find("sweep"); x.present()) s.sweep = load_sweep(x);
  v.no_unknown_keys();
  s.resolved_yaml = resolved_text(s, profiles);
  return s;
}

ScenarioText open_scenario(const std::string& path_or_name) {
  std::string path = path_or_name;
  std::error_code ignored;
  if (!is_path(path) && !std::filesystem::is_regular_file(path, ignored)) {
    if (path.find('/') == std::string::npos && !std::filesystem::exists(path, ignored)) {
      path = Catalog().locate("scenarios", path, {});
    }
  }
  const Value top = Value::from_file(path);
  return {Catalog(folder_of(path)).extended("scenarios", top, path), stem_of(path), path,
          folder_of(path)};
}

ScenarioText open_text(const std::string& text, const std::string& file) {
  const Value top = Value::from_text(text, file);
  return {Catalog(folder_of(file)).extended("scenarios", top, file), stem_of(file), file,
          folder_of(file)};
}

Scenario read_scenario(const std::string& path_or_name, const Overrides& overrides) {
  ScenarioText text = open_scenario(path_or_name);
  ProfileOverrides profiles;
  read_overrides(text.value, profiles);
  apply_overrides(text.value, overrides, "--set ", profiles);
  return load_scenario(text.value, Catalog(text.beside), profiles, text.name, text.file);
}

Scenario read_scenario_text(const std::string& text, const std::string& file,
                            const Overrides& overrides) {
  ScenarioText opened = open_text(text, file);
  ProfileOverrides profiles;
  read_overrides(opened.value, profiles);
  apply_overrides(opened.value, overrides, "--set ", profiles);
  return load_scenario(opened.value, Catalog(opened.beside), profiles, opened.name, opened.file);
}

}  // namespace servegrid::catalog
