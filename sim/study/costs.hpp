// What a set-up costs to rent, by price sheet, and what its tokens then cost.
#pragma once

#include "study/compare.hpp"

namespace servegrid::study {

/// Fills costs and unpriced of `set_up`, whose throughput is known: a sheet each, or one of own
/// prices where every pool has one. Pools are rented one by one and add up.
void add_costs(SetUp& set_up, const Point& point, const catalog::Catalog& catalog);

}  // namespace servegrid::study
