// The best as whole fleets: how many replicas really, and what one fewer misses.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plan/energy.hpp"
#include "plan/stages.hpp"
#include "units/error.hpp"

namespace servegrid::plan {

namespace {

struct Checked {
  int replicas = 0;
  Measured at;
  std::string fewer;
  double capacity = 0;  // of a replica in the fleet, where the goal is to serve the most
};

class Fleet {
 public:
  Fleet(const PlanSpec& plan, const PlanOptions& options, const PlanResult& result, const Row& row)
      : plan_(plan), options_(options), result_(result), candidate_(result.of(row)) {}

  // The fewest replicas that hold with every seed, near the estimate.
  Checked settle(int estimate) {
    int replicas = std::max(1, estimate);
    std::string missed = misses(replicas);
    const int most = replicas + 3 + replicas / 5;
    if (missed.empty()) {
      while (replicas > 1 && (missed = misses(replicas - 1)).empty()) --replicas;
      if (replicas == 1) missed.clear();
    } else {
      std::string next;
      while (!(next = misses(replicas + 1)).empty() && replicas + 1 < most) {
        ++replicas;
        missed = next;
      }
      ++replicas;
    }
    return {replicas, at(replicas, result_.demand.load), missed, 0};
  }

  Checked fixed(int replicas, double estimate) {
    if (!serves_most(plan_.goal)) {
      const std::string missed = replicas > 1 ? misses(replicas - 1) : "";
      return {replicas, at(replicas, result_.demand.load), missed, 0};
    }
    const Rig rig(scenario(replicas));
    CapacityOptions search;
    search.probe = probe(0);
    search.tolerance = options_.tolerance / 2;
    search.guess = replicas * estimate;
    const Capacity found = find_capacity(rig, plan_.slo, search);
    const double load = found.load > 0 ? found.load : search.guess;
    return {replicas, at(replicas, load), "", found.load / replicas};
  }

 private:
  [[nodiscard]] catalog::Scenario scenario(int replicas) const {
    catalog::Scenario s = candidate_.scenario;
    s.replicas = replicas;
    return s;
  }

  [[nodiscard]] ProbeOptions probe(int seed) const {
    ProbeOptions p;
    p.seed = plan_.seed + static_cast<std::uint64_t>(seed);
    p.requests = 2 * options_.requests;
    return p;
  }

  [[nodiscard]] Measured at(int replicas, double load) const {
    ProbeOptions p = probe(0);
    p.attribution = true;
    return Rig(scenario(replicas)).measure(load, plan_.slo, p);
  }

  [[nodiscard]] std::string misses(int replicas) const {
    const Rig rig(scenario(replicas));
    for (int seed = 0; seed < options_.check_seeds; ++seed) {
      const Measured m = rig.measure(result_.demand.load, plan_.slo, probe(seed));
      if (!m.meets(plan_.slo)) return missed_text(m, plan_.slo);
    }
    return {};
  }

  const PlanSpec& plan_;
  const PlanOptions& options_;
  const PlanResult& result_;
  const Candidate& candidate_;
};

std::string to_text(const Checked& c) {
  return nlohmann::json{{"replicas", c.replicas},
                        {"at", plan::to_text(c.at)},
                        {"fewer", c.fewer},
                        {"capacity", c.capacity}}
      .dump();
}

}  // namespace

void check_finalists(const PlanSpec& plan, const PlanOptions& options, PlanResult& result) {
  std::vector<std::size_t> finalists;
  for (std::size_t s = 0; s < result.sources.size(); ++s)
    for (const auto& precision : result.precisions) {
      const auto order = result.ranked(s, precision);
      const auto n = std::min(order.size(), static_cast<std::size_t>(options.finalists));
      for (std::size_t k = 0; k < n; ++k)
        if (std::find(finalists.begin(), finalists.end(), order[k]) == finalists.end())
          finalists.push_back(order[k]);
    }
  const auto texts = run_pool("checking fleets", finalists.size(), options, [&](std::size_t k) {
    const Row& row = result.rows[finalists[k]];
    Fleet fleet(plan, options, result, row);
    int replicas = 0;
    for (const auto& o : row.options)
      if (o.rental) replicas = std::max(replicas, o.replicas);
    const bool settle = plan.goal == Goal::cheapest || plan.goal == Goal::fewest_gpus;
    return to_text(settle ? fleet.settle(replicas) : fleet.fixed(replicas, row.capacity.load));
  });
  for (std::size_t k = 0; k < finalists.size(); ++k) {
    Row& row = result.rows[finalists[k]];
    const auto json = nlohmann::json::parse(texts[k]);
    row.finalist = true;
    row.replicas = json.at("replicas");
    row.at = measured_from_text(json.at("at"));
    row.fewer = json.at("fewer");
    const Candidate& c = result.of(row);
    row.watts_per_gpu = watts_per_gpu(c.scenario.gpu, row.at, row.replicas);
    // The fleet decides: a replica in it carries this much.
    double capacity = json.at("capacity");
    if (!serves_most(plan.goal)) {
      const double load = result.demand.load;
      capacity = std::min(std::max(row.capacity.load, load / row.replicas),
                          row.replicas > 1 ? load / (row.replicas - 1) * (1 - 1e-6) : 1e300);
    }
    if (capacity > 0) score_options(plan, result.demand, c, capacity, row.latency, row.options);
    if (plan.ownership)
      for (auto& o : row.options)
        if (o.rental && o.source == "ownership") {
          o.rental->power = row.watts_per_gpu * o.rental->gpus() * plan.server_overhead * plan.pue /
                            1e3 * catalog::hours_per_month * plan.power_price;
          if (plan.goal == Goal::cheapest) o.score = o.rental->total();
        }
  }
}

}  // namespace servegrid::plan
