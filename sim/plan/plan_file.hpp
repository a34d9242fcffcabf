// A plan: who is to be served, how well, with what, for how much. Filled from plans/*.yaml.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "plan/objectives.hpp"

namespace servegrid::plan {

/// A kind of use with documented numbers (presets/*.yaml), overridden by what the plan says.
struct Preset {
  std::string name, title, source, date;
  std::int64_t turns = 1;
  std::int64_t history = 0, shared_prefix = 0;  // [tokens]
  double turn_input = 0, output = 0;            // means [tokens]
  double think_time = 0;                        // mean [s]
  std::string turn_input_yaml, output_yaml, think_time_yaml;
  double chats_per_day = 0;   // of a user
  double days_per_month = 0;  // with that load
  double peak_factor = 1;     // peak minutes over the mean of their hour
  std::array<double, 24> daily_curve{};
  std::string curve_text;
  Objectives slo;
  std::vector<catalog::Fact> facts;
};

/// Load in people's terms, or as a scenario's workload.
struct LoadSpec {
  std::optional<Preset> preset;  // with the plan's own values in it
  double users = 0, growth = 0;
  std::string workload_yaml;             // as in scenarios, the load of the whole fleet
  std::array<double, 24> daily_curve{};  // of a workload; all 1: the same at any hour
  double days_per_month = 365.0 / 12;
  bool flat = true;  // no curve was given
};

struct CandidateSpec {
  std::vector<std::string> gpus, engines;
  std::vector<int> tp = {1, 2, 4, 8}, pp = {1}, ep = {1}, dp = {1};
  std::vector<catalog::Format> weights;
  std::vector<std::string> kv = {"auto"};
  catalog::Overrides set;  // of every candidate
};

struct Constraints {
  bool cuda_only = false, whole_servers = false;
  double min_fp64 = 0;   // [FLOP/s] of a GPU, vector or matrix
  double max_power = 0;  // [W] at full board power, with PUE; 0 = none
  int max_gpus = 1024;   // of a plan
  int spare_nodes = 0;   // nodes (as rented) that may fail without missing the objectives
};

/// Buying in place of renting.
struct Ownership {
  std::map<std::string, double> gpu_price;  // by catalogue key, with its share of the server
  double months = 48;                       // of straight-line depreciation
  double staff_per_month = 0;
};

struct ApiPrice {
  std::string name;
  double input = 0, cached = 0, output = 0;  // per million tokens
};

enum class Goal { cheapest, budget, goodput, latency, fewest_gpus };
std::string_view name(Goal goal);

struct PlanSpec {
  std::string name, description, file;
  std::string model;
  LoadSpec load;
  Objectives slo;
  bool slo_from_preset = false;
  CandidateSpec candidates;
  Constraints constraints;
  std::vector<catalog::PriceSheet> sheets;
  std::vector<std::string> sheet_names;
  std::map<std::string, double> own_prices;  // GPU -> a month, at any count
  std::optional<Ownership> ownership;
  std::string currency = "USD";
  double power_price = 0, pue = 1, server_overhead = 1;  // [currency/kWh]
  double budget = 0;                                     // a month
  int gpus = 0;                                          // goal goodput: GPUs at hand
  std::optional<ApiPrice> api;
  double cached_weight = 0.1;  // cost of a cached input token over one that is prefilled
  Goal goal = Goal::cheapest;
  std::string router;  // empty: session-affinity for conversations, least-outstanding otherwise
  std::uint64_t seed = 1;
  std::string text;  // as read, extends and overrides applied

  [[nodiscard]] bool priced() const {
    return !sheets.empty() || !own_prices.empty() || ownership.has_value();
  }
};

/// Reads a preset file or name. Throws InputError.
Preset read_preset(const std::string& path_or_name, const std::string& beside = {});

/// Reads a plan file, or a name in plans/, with --set overrides. Throws InputError with
/// file:line:column.
PlanSpec read_plan(const std::string& path_or_name, const catalog::Overrides& overrides = {});
/// The same from YAML text; `file` is its name in messages.
PlanSpec read_plan_text(const std::string& text, const std::string& file,
                        const catalog::Overrides& overrides = {});

}  // namespace servegrid::plan
