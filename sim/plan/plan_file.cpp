#include "plan/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "catalog/load.hpp"
#include "catalog/scenario_load.hpp"
#include "plan/plan_reader.hpp"

namespace servegrid::plan {

using catalog::Value;
using catalog::word;
using units::Dimension;

namespace {

constexpr std::array<std::string_view, 5> goal_names = {"cheapest", "budget", "goodput", "latency",
                                                        "fewest-gpus"};
constexpr std::size_t most_values = 64;  // of one axis of the candidates

/// One value or a list of them.
std::vector<Value> values_of(const Value& v) {
  std::vector<Value> out = v.is_list() ? v.items() : std::vector<Value>{v};
  if (out.empty()) throw v.error("needs at least one value");
  if (out.size() > most_values) throw v.error("has more than 64 values");
  return out;
}

template <typename F>
auto located(const Value& v, F get) {
  try {
    return get();
  } catch (const InputError& e) {
    if (e.where().line == 0) throw v.error(e.what());
    throw;
  }
}

void numbers(const Value& map, const char* key, std::vector<int>& to) {
  const Value v = map.find(key);
  if (!v.present()) return;
  to.clear();
  for (const Value& item : values_of(v)) to.push_back(static_cast<int>(item.integer(1, 4096)));
}

void load_load(const Value& v, const std::string& beside, LoadSpec& load) {
  const Value preset = v.find("preset"), users = v.find("users"), workload = v.find("workload");
  if (workload.present() == (preset.present() || users.present()))
    throw v.error(
        "a load is 'workload' as in a scenario (of the whole fleet), or people: 'preset' and "
        "'users'");
  if (workload.present()) {
    Value w = workload.clone();
    if (!w.find("requests").present()) w.set("requests", "1000", "load.workload");
    (void)catalog::load_workload(w, beside);
    load.workload_yaml = w.flow();
    const Value curve = v.find("daily_curve"), hours = v.find("working_hours");
    if (curve.present() && hours.present())
      throw hours.error("give 'working_hours' or 'daily_curve', not both");
    load.flat = !curve.present() && !hours.present();
    load.daily_curve.fill(1);
    if (curve.present()) load.daily_curve = load_curve(curve);
    if (hours.present()) load.daily_curve = load_hours(hours);
    if (const Value x = v.find("days_per_month"); x.present())
      load.days_per_month = x.number(0.1, 31);
    if (const Value x = v.find("growth"); x.present())
      throw x.error("growth belongs to 'users'; the workload is already the load to plan for");
    v.no_unknown_keys();
    return;
  }
  if (!preset.present())
    throw v.error("needs a 'preset': chat, rag, code, agent, summarise, reasoning, or a file");
  if (!users.present()) throw v.error("needs 'users': how many people");
  load.preset = located(preset, [&] { return read_preset(word(preset), beside); });
  load.users = users.number(1, 1e9);
  if (const Value x = v.find("growth"); x.present())
    load.growth = x.quantity(Dimension::ratio, 0, 100);
  read_preset_values(v, *load.preset);
  load.daily_curve = load.preset->daily_curve;
  load.days_per_month = load.preset->days_per_month;
  load.flat = false;
  v.no_unknown_keys();
}

void load_candidates(const Value& v, const catalog::Catalog& catalog, CandidateSpec& c) {
  const Value gpus = v.at("gpu");
  for (const Value& item : values_of(gpus))
    c.gpus.push_back(located(item, [&] { return catalog.gpu(word(item)).name; }));
  if (const Value x = v.find("engine"); x.present()) {
    for (const Value& item : values_of(x))
      c.engines.push_back(located(item, [&] { return catalog.engine(word(item)).name; }));
  } else {
    throw v.error("needs 'engine': vllm, sglang, trtllm, or a version such as vllm-0.24");
  }
  numbers(v, "tp", c.tp);
  numbers(v, "pp", c.pp);
  numbers(v, "ep", c.ep);
  numbers(v, "dp", c.dp);
  const Value weights = v.at("weights");
  for (const Value& item : values_of(weights)) c.weights.push_back(catalog::read_format(item));
  if (const Value x = v.find("kv"); x.present()) {
    c.kv.clear();
    for (const Value& item : values_of(x)) {
      if (item.text() != "auto") (void)catalog::read_format(item);
      c.kv.push_back(item.text());
    }
  }
  if (const Value x = v.find("set"); x.present())
    for (const auto& [path, value] : x.entries())
      c.set.emplace_back(path, value.is_scalar() ? value.text() : value.flow());
  v.no_unknown_keys();
}

void load_constraints(const Value& v, Constraints& c) {
  if (const Value x = v.find("cuda_only"); x.present()) c.cuda_only = x.boolean();
  if (const Value x = v.find("whole_servers"); x.present()) c.whole_servers = x.boolean();
  if (const Value x = v.find("min_fp64"); x.present())
    c.min_fp64 = x.quantity(Dimension::flops, 0, 1e18);
  if (const Value x = v.find("max_power"); x.present())
    c.max_power = x.quantity(Dimension::watts, 1, 1e12);
  if (const Value x = v.find("max_gpus"); x.present())
    c.max_gpus = static_cast<int>(x.integer(1, 100'000));
  if (const Value x = v.find("spare_nodes"); x.present())
    c.spare_nodes = static_cast<int>(x.integer(0, 1000));
  v.no_unknown_keys();
}

/// "35000 USD" or, for tokens, "0.60 USD/M".
double load_sum(const Value& v, const std::string& currency, const std::string& per) {
  const std::string text = v.text();
  double number = 0;
  const std::size_t used = units::scan_number(text, number);
  std::string unit = used > 0 ? text.substr(used) : "";
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  if (used == 0 || unit != currency + per || !(number >= 0) || number > 1e12)
    throw v.error(fmt::format("expected a sum such as '0.60 {}{}'", currency, per));
  return number;
}

void load_ownership(const Value& v, const catalog::Catalog& catalog, PlanSpec& plan) {
  Ownership own;
  for (const auto& [gpu, price] : v.at("gpu_price").entries())
    own.gpu_price[located(price, [&, name = gpu] { return catalog.gpu(name).name; })] =
        load_sum(price, plan.currency, "");
  const Value months = v.at("depreciation_months");
  own.months = months.number(1, 240);
  if (const Value x = v.find("staff"); x.present())
    own.staff_per_month = catalog::load_money(x, plan.currency);
  v.no_unknown_keys();
  plan.ownership = own;
}

void load_money_part(const Value& v, const catalog::Catalog& catalog, PlanSpec& plan) {
  if (const Value x = v.find("prices"); x.present()) {
    for (const Value& item : values_of(x)) {
      plan.sheets.push_back(located(item, [&] { return catalog.prices(word(item)); }));
      plan.sheet_names.push_back(plan.sheets.back().name);
      if (plan.sheets.back().currency != plan.sheets.front().currency)
        throw item.error("is in another currency than the sheet before it");
      plan.currency = plan.sheets.front().currency;
    }
  }
  if (const Value x = v.find("currency"); x.present()) {
    if (!plan.sheets.empty() && word(x) != plan.currency)
      throw x.error("is not the currency of the price sheets");
    plan.currency = word(x);
  }
  if (const Value x = v.find("price"); x.present())
    for (const auto& [gpu, price] : x.entries())
      plan.own_prices[located(price, [&, name = gpu] { return catalog.gpu(name).name; })] =
          catalog::load_money(price, plan.currency);
  if (const Value x = v.find("ownership"); x.present()) load_ownership(x, catalog, plan);
  if (const Value x = v.find("power_price"); x.present())
    plan.power_price = load_sum(x, plan.currency, "/kWh");
  if (const Value x = v.find("pue"); x.present()) plan.pue = x.number(1, 5);
  if (const Value x = v.find("server_overhead"); x.present()) plan.server_overhead = x.number(1, 5);
  if (const Value x = v.find("budget"); x.present())
    plan.budget = catalog::load_money(x, plan.currency);
  if (const Value x = v.find("cached_weight"); x.present()) plan.cached_weight = x.number(0, 1);
  if (const Value x = v.find("api"); x.present()) {
    ApiPrice api;
    api.name = catalog::text_or(x, "name", "the API");
    api.input = load_sum(x.at("input"), plan.currency, "/M");
    api.output = load_sum(x.at("output"), plan.currency, "/M");
    api.cached = api.input;
    if (const Value c = x.find("cached"); c.present())
      api.cached = load_sum(c, plan.currency, "/M");
    x.no_unknown_keys();
    plan.api = api;
  }
}

void check(const Value& v, const PlanSpec& plan) {
  const bool money = plan.goal == Goal::cheapest || plan.goal == Goal::budget;
  if (money && !plan.priced())
    throw v.error(
        "this goal needs money: 'prices: [sheet]' (servegrid catalog lists the sheets), 'price: "
        "{b200: 3.10 USD/h}', or 'ownership'; there is no default sheet, they differ by up to "
        "1.8x");
  if (plan.goal == Goal::budget && plan.budget <= 0)
    throw v.error("the goal 'budget' needs 'budget: 20000 USD/month'");
  if (plan.goal == Goal::goodput && plan.gpus <= 0)
    throw v.error("the goal 'goodput' needs 'gpus: 8', the GPUs at hand");
  if (plan.load.preset && plan.load.preset->turns > 1) {
    const bool bounded = std::any_of(plan.slo.begin(), plan.slo.end(), [](const Objective& o) {
      return o.metric == Metric::tpot || o.metric == Metric::e2el || o.metric == Metric::itl;
    });
    if (!bounded)
      throw v.error(
          "conversations need an objective for tpot, itl or e2el: how long an answer takes decides "
          "how many people wait at once");
  }
}

PlanSpec load_plan(Value v, const std::string& name, const std::string& file) {
  const std::string beside = std::filesystem::path(file).parent_path().string();
  const catalog::Catalog catalog(beside);
  PlanSpec plan;
  plan.name = name;
  plan.file = file;
  plan.description = catalog::text_or(v, "description");
  const Value model = v.at("model");
  plan.model = located(model, [&] { return catalog.model(word(model)).name; });
  if (word(model).ends_with(".yaml")) plan.model = word(model);
  load_load(v.at("load"), beside, plan.load);
  if (const Value slo = v.find("slo"); slo.present()) {
    plan.slo = load_slo(slo);
  } else if (plan.load.preset) {
    plan.slo = plan.load.preset->slo;
    plan.slo_from_preset = true;
  } else {
    throw v.error("needs 'slo: [p99 ttft <= 2 s, ...]': a workload has no objectives of its own");
  }
  load_candidates(v.at("candidates"), catalog, plan.candidates);
  if (const Value x = v.find("constraints"); x.present()) load_constraints(x, plan.constraints);
  load_money_part(v, catalog, plan);
  if (const Value x = v.find("goal"); x.present())
    plan.goal = static_cast<Goal>(
        catalog::choice(x, std::vector<std::string>(goal_names.begin(), goal_names.end())));
  if (const Value x = v.find("gpus"); x.present())
    plan.gpus = static_cast<int>(x.integer(1, 100'000));
  if (const Value x = v.find("router"); x.present()) plan.router = word(x);
  if (const Value x = v.find("seed"); x.present())
    plan.seed = static_cast<std::uint64_t>(x.integer(0, INT64_MAX));
  v.no_unknown_keys();
  check(v, plan);
  plan.text = v.dump();
  return plan;
}

void apply(Value& v, const catalog::Overrides& overrides) {
  for (const auto& [path, value] : overrides)
    v.set(path, value, fmt::format("--set {}={}", path, value));
}

}  // namespace

std::string_view name(Goal goal) {
  return goal_names.at(static_cast<std::size_t>(goal));
}

PlanSpec read_plan(const std::string& path_or_name, const catalog::Overrides& overrides) {
  const catalog::Catalog catalog;
  std::string path = path_or_name;
  std::error_code ignored;
  const bool file = path.ends_with(".yaml") || path.ends_with(".yml") ||
                    std::filesystem::is_regular_file(path, ignored);
  if (!file) path = catalog.locate("plans", path, {});
  const std::string stem = std::filesystem::path(path).stem().string();
  Value v = catalog.extended("plans", Value::from_file(path), path);
  apply(v, overrides);
  return load_plan(v, stem, path);
}

PlanSpec read_plan_text(const std::string& text, const std::string& file,
                        const catalog::Overrides& overrides) {
  Value v = Value::from_text(text, file);
  apply(v, overrides);
  return load_plan(v, "command-line", file);
}

}  // namespace servegrid::plan
