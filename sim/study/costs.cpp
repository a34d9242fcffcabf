#include "study/costs.hpp"

#include <algorithm>
#include <optional>

namespace servegrid::study {
namespace {

struct Rent {
  int sold = 0;
  double sold_per_month = 0;
};

// `gpus` in replicas of `group`: together, or as so many of the largest unit sold.
std::optional<Rent> by_sheet(const catalog::PriceSheet& sheet, const std::string& gpu, int gpus,
                             int group) {
  if (const catalog::Offer* offer = sheet.find(gpu, gpus)) {
    Rent rent{offer->counts.empty() ? gpus : offer->counts.back(), offer->month(gpus)};
    for (const int count : offer->counts)
      if (count >= gpus) rent.sold = std::min(rent.sold, count);
    rent.sold = std::max(rent.sold, gpus);
    return rent;
  }
  std::optional<Rent> best;
  for (const catalog::Offer& offer : sheet.offers) {
    if (offer.gpu != gpu || offer.counts.empty() || offer.counts.back() < group) continue;
    if (offer.domain > 0 && offer.domain < group) continue;
    const int unit = offer.counts.back(), replicas = unit / group * group;
    const int units = (gpus + replicas - 1) / replicas;
    const Rent rent{units * unit, units * offer.month(unit)};
    if (!best || rent.sold_per_month < best->sold_per_month) best = rent;
  }
  return best;
}

bool own_price(const PoolPrice& pool) {
  return pool.per_gpu_month > 0;
}

// False when a pool has neither a price of its own nor an offer.
bool add_pool(Cost& cost, const PoolPrice& pool, const catalog::PriceSheet* sheet) {
  std::optional<Rent> rent;
  if (own_price(pool)) {
    rent = Rent{pool.gpus, pool.gpus * pool.per_gpu_month};
  } else if (sheet != nullptr) {
    rent = by_sheet(*sheet, pool.gpu, pool.gpus, pool.group);
  }
  if (!rent) return false;
  const double used = rent->sold_per_month * pool.gpus / rent->sold;
  cost.sold += rent->sold;
  cost.sold_per_month += rent->sold_per_month;
  cost.per_month += used;
  cost.pools.emplace_back(pool.name, used);
  return true;
}

}  // namespace

void add_costs(SetUp& s, const Point& p, const catalog::Catalog& catalog) {
  std::vector<PoolPrice> pools = p.pools;
  if (pools.empty()) pools.push_back({"", p.gpu, p.all_gpus(), p.gpus, 0});
  const auto add = [&](Cost cost, const catalog::PriceSheet* sheet) {
    for (const PoolPrice& pool : pools) {
      if (!add_pool(cost, pool, sheet)) {
        s.unpriced.push_back(cost.sheet);
        return;
      }
    }
    if (p.pools.empty()) cost.pools.clear();
    const double tokens_a_month = s.best_tokens_per_second * catalog::hours_per_month * 3600;
    cost.per_million_tokens = tokens_a_month > 0 ? cost.per_month / tokens_a_month * 1e6 : 0;
    s.costs.push_back(cost);
  };
  if (std::all_of(pools.begin(), pools.end(), own_price)) {
    Cost cost;
    cost.sheet = "own prices";
    cost.currency = p.currency;
    return add(cost, nullptr);
  }
  const bool mixed = std::any_of(pools.begin(), pools.end(), own_price);
  for (const auto& name : p.prices.empty() ? catalog.price_names() : p.prices) {
    const catalog::PriceSheet sheet = catalog.prices(name);
    Cost cost;
    cost.sheet = sheet.name;
    cost.currency = sheet.currency;
    if (mixed && sheet.currency != p.currency) {  // their sum would be of neither
      s.unpriced.push_back(sheet.name);
      continue;
    }
    add(cost, &sheet);
  }
}

}  // namespace servegrid::study
