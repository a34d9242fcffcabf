#include "plan/money.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace servegrid::plan {

namespace {

constexpr const char* own_price = "own price";
constexpr const char* ownership = "ownership";
constexpr const char* no_money = "none";

// Nodes of `count` GPUs that hold so many replicas; 0 = they cannot.
int nodes_for(int count, int gpus, int pp, int replicas) {
  if (gpus <= count) {
    const int each = count / gpus;
    return (replicas + each - 1) / each;
  }
  // Stages of a pipeline may lie on several nodes, a stage may not.
  if (pp == 1 || gpus % pp != 0 || gpus / pp > count) return 0;
  const int stages = count / (gpus / pp);  // on a node
  return (pp + stages - 1) / stages * replicas;
}

void consider(std::optional<Rental>& best, const Rental& rental) {
  const bool better = !best || rental.month < best->month ||
                      (rental.month == best->month && rental.gpus() < best->gpus());
  if (better) best = rental;
}

std::string counts_text(const std::vector<int>& counts) {
  std::string out;
  for (const int c : counts) out += (out.empty() ? "" : ", ") + std::to_string(c);
  return out;
}

std::optional<Rental> rent_by_sheet(const PlanSpec& plan, const catalog::PriceSheet& sheet,
                                    const catalog::Gpu& gpu, int gpus, int pp, int replicas,
                                    std::string& reason) {
  std::optional<Rental> best;
  std::string sold;
  for (const auto& offer : sheet.offers) {
    // A market median is nobody's offer.
    if (offer.gpu != gpu.name || offer.kind == "median") continue;
    sold += (sold.empty() ? "" : "; ") + offer.title + " in " + counts_text(offer.counts) +
            (offer.domain == 1 ? " without scale-up links" : "");
    for (const int count : offer.counts) {
      if (plan.constraints.whole_servers && count < gpu.fabric.domain && count < 8) continue;
      if (offer.domain > 0 && offer.domain < std::min(gpus / pp, count) && gpus > 1) continue;
      const int nodes = nodes_for(count, gpus, pp, replicas);
      if (nodes == 0) continue;
      Rental r{sheet.name,
               offer.title,
               offer.kind,
               count,
               nodes + plan.constraints.spare_nodes,
               plan.constraints.spare_nodes,
               0,
               0};
      r.month = r.nodes * offer.month(count);
      consider(best, r);
    }
  }
  if (!best)
    reason =
        sold.empty()
            ? fmt::format("{} has no offer of {}", sheet.name, gpu.name)
            : fmt::format("{} sells no {} GPUs in one scale-up domain{} ({})", sheet.name, gpus,
                          plan.constraints.whole_servers ? " as whole servers" : "", sold);
  return best;
}

std::optional<Rental> at_own_price(const PlanSpec& plan, const std::string& source,
                                   const catalog::Gpu& gpu, int gpus, int pp, int replicas,
                                   double per_gpu, std::string& reason) {
  // Any number is sold; a node is a server of that GPU where one may fail or only whole ones count.
  const int server = std::max(gpu.fabric.domain > 64 ? 72 : std::min(8, gpu.fabric.domain), 1);
  const bool whole = plan.constraints.whole_servers || plan.constraints.spare_nodes > 0;
  Rental r;
  r.source = source;
  r.offer = source == no_money ? gpu.title : gpu.title + " at " + source;
  r.kind = source;
  r.node_gpus = whole ? server : gpus;
  r.nodes = nodes_for(r.node_gpus, gpus, pp, replicas);
  if (gpus / pp > std::max(server, gpu.fabric.domain) || r.nodes == 0) {
    reason = fmt::format("{} GPUs do not share one scale-up domain of {}", gpus, gpu.name);
    return std::nullopt;
  }
  r.spare = plan.constraints.spare_nodes;
  r.nodes += r.spare;
  r.month = r.gpus() * per_gpu;
  return r;
}

}  // namespace

std::vector<std::string> price_sources(const PlanSpec& plan) {
  std::vector<std::string> out = plan.sheet_names;
  if (!plan.own_prices.empty()) out.emplace_back(own_price);
  if (plan.ownership) out.emplace_back(ownership);
  if (out.empty()) out.emplace_back(no_money);
  return out;
}

std::optional<Rental> rent(const PlanSpec& plan, const std::string& source, const catalog::Gpu& gpu,
                           int gpus, int pp, int replicas, std::string& reason) {
  for (const auto& sheet : plan.sheets)
    if (sheet.name == source) return rent_by_sheet(plan, sheet, gpu, gpus, pp, replicas, reason);
  if (source == no_money) return at_own_price(plan, source, gpu, gpus, pp, replicas, 0, reason);
  if (source == own_price) {
    const auto it = plan.own_prices.find(gpu.name);
    if (it != plan.own_prices.end())
      return at_own_price(plan, source, gpu, gpus, pp, replicas, it->second, reason);
    reason = "no own price of " + gpu.name + " was given";
    return std::nullopt;
  }
  const auto it = plan.ownership->gpu_price.find(gpu.name);
  if (it == plan.ownership->gpu_price.end()) {
    reason = "no purchase price of " + gpu.name + " was given";
    return std::nullopt;
  }
  auto rental = at_own_price(plan, source, gpu, gpus, pp, replicas,
                             it->second / plan.ownership->months, reason);
  if (rental) rental->month += plan.ownership->staff_per_month;
  return rental;
}

int affordable(const PlanSpec& plan, const std::string& source, const catalog::Gpu& gpu, int gpus,
               int pp, double budget) {
  std::string reason;
  int low = 0, high = std::max(1, plan.constraints.max_gpus / std::max(1, gpus)) + 1;
  while (high - low > 1) {  // the price grows with the replicas
    const int middle = low + (high - low) / 2;
    const auto rental = rent(plan, source, gpu, gpus, pp, middle, reason);
    (rental && rental->month <= budget ? low : high) = middle;
  }
  return low;
}

TokenCosts token_costs(double month, const TokenVolume& v, double prefill_seconds,
                       double decode_seconds, double cached_weight) {
  TokenCosts c;
  const double busy = prefill_seconds + decode_seconds;
  if (busy <= 0 || v.all() <= 0) return c;
  const double weighted = v.input + cached_weight * v.cached;
  const double prefill = weighted > 0 ? month * prefill_seconds / busy : 0;
  c.output_month = month - prefill;
  if (weighted > 0) {
    c.input_month = prefill * v.input / weighted;
    c.cached_month = prefill - c.input_month;
  }
  const auto per_million = [](double cost, double tokens) {
    return tokens > 0 ? cost / tokens * 1e6 : 0.0;
  };
  c.input = per_million(c.input_month, v.input);
  c.cached = per_million(c.cached_month, v.cached);
  c.output = per_million(c.output_month, v.output);
  c.total = per_million(month, v.all());
  return c;
}

double api_month(const ApiPrice& api, const TokenVolume& v) {
  return (api.input * v.input + api.cached * v.cached + api.output * v.output) / 1e6;
}

}  // namespace servegrid::plan
