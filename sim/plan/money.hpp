// What a number of replicas costs: rented by a sheet, at an own price, or bought.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan_file.hpp"

namespace servegrid::plan {

/// One way to pay for a fleet.
struct Rental {
  std::string source;  // sheet, "own price", "ownership"
  std::string offer;   // title of the offer
  std::string kind;    // "list", "from", ...
  int node_gpus = 0;   // rented together
  int nodes = 0;       // spare ones included
  int spare = 0;
  double month = 0;  // without power
  double power = 0;  // a month, ownership only
  [[nodiscard]] int gpus() const { return node_gpus * nodes; }
  [[nodiscard]] double total() const { return month + power; }
};

/// The sources of prices of a plan, in the order given: sheets, then "own price", then
/// "ownership". "none" when the plan has no money in it.
std::vector<std::string> price_sources(const PlanSpec& plan);

/// The cheapest way to pay for `replicas` of `gpus` GPUs each under `source`; a replica stays
/// inside one node unless its stages (`pp`) may lie on several. Nothing, and the reason, when it is
/// not sold so. With the source "none" a node is a server of the GPU and costs nothing.
std::optional<Rental> rent(const PlanSpec& plan, const std::string& source, const catalog::Gpu& gpu,
                           int gpus, int pp, int replicas, std::string& reason);

/// The most replicas that a budget a month pays for under `source` (0 = none).
int affordable(const PlanSpec& plan, const std::string& source, const catalog::Gpu& gpu, int gpus,
               int pp, double budget);

/// How a fleet's month falls on its tokens: by the time the GPUs spend. Prefill time goes to input
/// tokens, of which a cached one weighs `cached_weight` of one that is prefilled; decode time goes
/// to output tokens; idle time is spread in proportion. The parts add up to the month.
struct TokenCosts {
  double input = 0, cached = 0, output = 0, total = 0;         // per million; 0 = no such tokens
  double input_month = 0, cached_month = 0, output_month = 0;  // of the month
};
struct TokenVolume {
  double input = 0, cached = 0, output = 0;  // tokens a month
  [[nodiscard]] double all() const { return input + cached + output; }
};
TokenCosts token_costs(double month, const TokenVolume& volume, double prefill_seconds,
                       double decode_seconds, double cached_weight);

/// What the volume costs at an API.
double api_month(const ApiPrice& api, const TokenVolume& volume);

}  // namespace servegrid::plan
