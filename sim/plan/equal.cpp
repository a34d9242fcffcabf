#include "plan/equal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "catalog/reader.hpp"
#include "units/error.hpp"

namespace servegrid::plan {

namespace {

constexpr std::array<const char*, 4> words = {"cost", "gpus", "memory", "power"};

// What one replica takes; below 0: cannot be had.
double replica_takes(const catalog::Scenario& s, Equal what, const catalog::PriceSheet* sheet) {
  const int gpus = s.parallel.gpus();
  switch (what) {
    case Equal::gpus:
      return gpus;
    case Equal::memory:
      return gpus * s.gpu.memory.label_bytes;
    case Equal::power:
      return gpus * s.gpu.power;
    case Equal::cost:
      break;
  }
  const catalog::Offer* offer = sheet->find(s.gpu.name, gpus);
  return offer == nullptr ? -1 : offer->month(gpus);
}

// The most replicas within the amount. GPUs that are only sold together hold several replicas.
Share share_of(const catalog::Scenario& s, Equal what, double amount,
               const catalog::PriceSheet* sheet) {
  Share share;
  share.each = replica_takes(s, what, sheet);
  if (share.each < 0) {
    share.reason =
        fmt::format("{} has no offer of {} x {}", sheet->name, s.parallel.gpus(), s.gpu.name);
    return share;
  }
  const int gpus = s.parallel.gpus();
  if (what != Equal::cost) {
    share.replicas = static_cast<int>(std::floor(amount / share.each * (1 + 1e-12)));
    share.total = share.replicas * share.each;
  } else {
    for (const auto& offer : sheet->offers) {
      if (offer.gpu != s.gpu.name || (offer.domain > 0 && offer.domain < gpus)) continue;
      for (const int count : offer.counts) {
        if (count < gpus) continue;
        const double price = offer.month(count);
        const double nodes = std::floor(amount / price * (1 + 1e-12));
        const int replicas = static_cast<int>(nodes) * (count / gpus);
        if (replicas > share.replicas ||
            (replicas == share.replicas && nodes * price < share.total)) {
          share.replicas = replicas;
          share.total = nodes * price;
        }
      }
    }
  }
  if (share.replicas == 0)
    share.reason = fmt::format("not one replica of {} x {} is within {}", gpus, s.gpu.name,
                               amount_text(what, amount, sheet != nullptr ? sheet->currency : ""));
  return share;
}

}  // namespace

Equal parse_equal(const std::string& word) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (word == words.at(i)) return static_cast<Equal>(i);
  throw InputError("--equal takes cost, gpus, memory or power, not '" + word + "'");
}

std::vector<Share> equal_shares(const std::vector<const catalog::Scenario*>& scenarios, Equal what,
                                double amount, const catalog::PriceSheet* sheet) {
  if (what == Equal::cost && sheet == nullptr)
    throw InputError("equal cost needs one price sheet: --prices NAME (there is no default)");
  double most = amount;
  if (most <= 0)
    for (const auto* s : scenarios) most = std::max(most, replica_takes(*s, what, sheet));
  std::vector<Share> out;
  out.reserve(scenarios.size());
  for (const auto* s : scenarios) out.push_back(share_of(*s, what, most, sheet));
  return out;
}

std::string amount_text(Equal what, double amount, const std::string& currency) {
  switch (what) {
    case Equal::cost:
      return fmt::format("{:.0f} {} a month", amount, currency);
    case Equal::gpus:
      return fmt::format("{:.0f} GPUs", amount);
    case Equal::memory:
      return fmt::format("{:.0f} GB of GPU memory", amount / 1e9);
    case Equal::power:
      return fmt::format("{:.1f} kW of GPU boards", amount / 1e3);
  }
  return {};
}

}  // namespace servegrid::plan
