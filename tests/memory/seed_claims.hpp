// What the test of the articles' claims asks the catalogue, the sizing rules and the price sheets.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "memory/ledger.hpp"
#include "model/parameters.hpp"
#include "units/error.hpp"

namespace servegrid::seed {

using catalog::Format;
using memory::Rule;

inline const catalog::Catalog& data() {
  static const catalog::Catalog catalog;
  return catalog;
}
inline const catalog::PriceSheet& per_gpu() {
  static const auto sheet = data().prices("per-gpu-2026-11");
  return sheet;
}
inline const catalog::PriceSheet& servers() {
  static const auto sheet = data().prices("servers-2026-11");
  return sheet;
}

inline catalog::Gpu gpu(const std::string& name) {
  return data().gpu(name);
}
/// GB.
inline double label(const std::string& name) {
  return gpu(name).memory.label_bytes / 1e9;
}
inline double bandwidth(const std::string& name) {
  return gpu(name).memory.bandwidth / 1e12;
}
inline double peak(const std::string& name, const std::string& arithmetic) {
  return gpu(name).peak.at(arithmetic) / 1e12;
}
/// Both directions of all links, GB/s: how vendors quote it.
inline double scale_up(const std::string& name) {
  return 2 * gpu(name).fabric.one_way() / 1e9;
}
inline bool has(const std::string& name, Format f) {
  const auto formats = gpu(name).hardware_formats;
  return std::find(formats.begin(), formats.end(), f) != formats.end();
}

/// List price of n GPUs a month.
inline double month(const catalog::PriceSheet& sheet, const std::string& name, int n) {
  const std::string key = gpu(name).name;
  for (const auto& offer : sheet.offers) {
    const bool market = offer.kind == "from" || offer.kind == "median";
    if (gpu(offer.gpu).name == key && !market && offer.counts.back() >= n && offer.month(n) > 0 &&
        (sheet.name == per_gpu().name || offer.counts.back() == 8 || n == 1)) {
      if (n > 1 && offer.counts.back() == 1) continue;
      if (n == 1 && sheet.name == servers().name && offer.counts.back() != 1) continue;
      return offer.month(n);
    }
  }
  return -1;
}
inline double price(const std::string& name, int n = 1) {
  return month(per_gpu(), name, n);
}
inline double server(const std::string& name, int n = 8) {
  return month(servers(), name, n);
}

inline memory::Ledger sized(const std::string& model, const std::string& name, Format weights,
                            Rule rule, std::int64_t context = 8192, Format kv = Format::bf16) {
  catalog::Scenario s;
  s.model = data().model(model);
  s.gpu = gpu(name);
  s.weights = weights;
  s.knobs.kv_cache = kv;
  s.engine.engine = s.engine.memory.kind = "vllm";
  memory::Options o;
  o.rule = rule;
  o.nominal_parameters = true;  // the articles count by the number in the name
  o.context_tokens = context;
  return memory::size(s, o);
}

inline double group(const std::string& model, const std::string& name, Format f,
                    Rule rule = Rule::articles) {
  return sized(model, name, f, rule).gpus_needed;
}
inline double cost(const std::string& model, const std::string& name, Format f) {
  return price(name, 1) * group(model, name, f);
}
inline double need(const std::string& model, Format f) {  // GB
  return 1.2 * data().model(model).nominal_billions * catalog::nominal_bytes(f);
}
inline double conversations(const std::string& name, Format weights, Rule rule,
                            std::int64_t context, Format kv = Format::bf16) {
  return sized("llama-3.1-70b", name, weights, rule, context, kv).conversations;
}
inline double kv_per_token(Format kv) {
  return sized("llama-3.1-70b", "b200", Format::bf16, Rule::weights_only, 8192, kv)
      .kv_bytes_per_token_per_gpu;
}
/// Public offers of others, $ per GPU-hour, in the order of the sheet.
inline std::vector<double> market(const std::string& name, const std::string& kind) {
  std::vector<double> out;
  for (const auto& offer : per_gpu().offers) {
    if (gpu(offer.gpu).name == gpu(name).name && offer.kind == kind) {
      out.push_back(offer.month(1) / catalog::hours_per_month);
    }
  }
  return out;
}
inline double median_h100() {
  return market("h100", "median").at(0);
}
/// Down to the next price that ends in 9.
inline double ends_in_nine(double p) {
  return std::floor((p - 9) / 10) * 10 + 9;
}
/// Time of one token that reads `gb`, ms.
inline double read_ms(double gb, const std::string& name) {
  return gb / bandwidth(name);
}
inline double power_of_two(double n) {
  return std::exp2(std::ceil(std::log2(std::ceil(n))));
}
inline double engine_refused(const std::string& engine, const std::string& name) {
  model::Deployment d;
  d.model = data().model("llama-3.1-8b");
  d.gpu = gpu(name);
  d.engine = engine;
  try {
    model::check(d);
  } catch (const InfeasibleError&) {
    return 1;
  }
  return 0;
}

inline constexpr const char* m70 = "llama-3.1-70b";
inline constexpr const char* m405 = "llama-3.1-405b";
inline constexpr const char* ds = "deepseek-v3";
inline constexpr const char* rtx = "rtx-pro-6000";
inline constexpr Format bf16 = Format::bf16, fp8 = Format::fp8, fp4 = Format::nvfp4;
inline constexpr Rule only = Rule::weights_only, articles = Rule::articles;
inline constexpr std::int64_t k8 = 8192, k128 = 131072;

struct Claim {
  const char* id;
  double stated;
  double step;  // rounding of the stated value: nearest multiple; 0 = exact; < 0 = relative
  std::function<double()> value;
};

inline bool holds(const Claim& c) {
  const double v = c.value();
  if (c.step == 0) return std::abs(v - c.stated) <= 1e-9 * std::max(1.0, std::abs(c.stated));
  if (c.step < 0) return std::abs(v / c.stated - 1) <= -c.step;
  return std::abs(v - c.stated) <= c.step / 2 * (1 + 1e-9);
}

inline void check(const std::vector<Claim>& claims) {
  std::set<std::string> seen;
  for (const Claim& c : claims) {
    INFO(c.id << ": stated " << c.stated << ", computed " << c.value());
    CHECK(holds(c));
    seen.insert(c.id);
  }
  CHECK(seen.size() > 5);
}

}  // namespace servegrid::seed
