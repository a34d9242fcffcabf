// One GPU against one GPU is rarely the question: replicas so that set-ups cost, weigh or draw the
// same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.hpp"

namespace servegrid::plan {

enum class Equal { cost, gpus, memory, power };

/// "cost", "gpus", "memory", "power"; throws InputError for another word.
Equal parse_equal(const std::string& word);

struct Share {
  int replicas = 0;
  double each = 0, total = 0;  // of the resource: a month's price, GPUs, bytes, watts
  std::string reason;          // why there is none
};

/// Replicas of each scenario (its own are ignored) so that none takes more than `amount`, or, when
/// that is 0, than one replica of the largest. `sheet`: prices, for cost. A scenario of which not
/// one replica fits carries the reason.
std::vector<Share> equal_shares(const std::vector<const catalog::Scenario*>& scenarios, Equal what,
                                double amount, const catalog::PriceSheet* sheet);

/// "19,900 USD a month", "8 GPUs", "2304 GB", "11.2 kW"
std::string amount_text(Equal what, double amount, const std::string& currency);

}  // namespace servegrid::plan
