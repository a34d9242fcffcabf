#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "jobs/fork_pool.hpp"
#include "plan/stages.hpp"
#include "study/run_jobs.hpp"
#include "units/error.hpp"

namespace servegrid::plan {

std::vector<std::string> run_pool(const std::string& what, std::size_t n,
                                  const PlanOptions& options,
                                  const std::function<std::string(std::size_t)>& job) {
  std::vector<std::string> out;
  if (n == 0) return out;
  std::size_t done = 0;
  jobs::Options pool;
  if (options.progress) {
    options.progress(what, 0, n);
    pool.done = [&](std::size_t, const jobs::Outcome&) { options.progress(what, ++done, n); };
  }
  for (auto& outcome : jobs::run_in_workers(n, study::workers_of(options.jobs), job, pool)) {
    if (!outcome.ok) throw RunError(what + " failed: " + outcome.error);
    out.push_back(std::move(outcome.bytes));
  }
  return out;
}

namespace {

int replicas_for(double load, double capacity) {
  const double needed = std::ceil(load / capacity - 1e-9);
  return static_cast<int>(std::clamp(needed, 1.0, 1e8));
}

// Replicas by the goal; 0, with the reason, when there is no way.
int replicas_of(const PlanSpec& plan, const Demand& demand, const Candidate& c, double capacity,
                const std::string& source, std::string& reason) {
  const int needed = replicas_for(demand.load, capacity);
  const auto& gpu = c.scenario.gpu;
  const int each = c.gpus();
  if (plan.goal == Goal::cheapest || plan.goal == Goal::fewest_gpus) return needed;
  int most = (plan.gpus > 0 ? plan.gpus : plan.constraints.max_gpus) / each;
  if (most == 0) reason = fmt::format("one replica takes {} GPUs, {} are at hand", each, plan.gpus);
  if (plan.budget > 0) {
    const int paid = affordable(plan, source, gpu, each, c.parallel.pp, plan.budget);
    if (paid == 0) {
      const auto one = rent(plan, source, gpu, each, c.parallel.pp, 1, reason);
      if (one)
        reason = fmt::format("one replica costs {:.0f} {} a month, above the budget of {:.0f}",
                             one->month, plan.currency, plan.budget);
    }
    most = std::min(most, paid);
  }
  if (plan.goal == Goal::latency && most > 0 && most < needed) {
    reason = fmt::format("the load needs {} replicas, {} are possible", needed, most);
    return 0;
  }
  return most;
}

std::string over_limits(const PlanSpec& plan, const Candidate& c, const Rental& rental) {
  const auto& k = plan.constraints;
  if (rental.gpus() > k.max_gpus)
    return fmt::format("takes {} GPUs, above the {} allowed", rental.gpus(), k.max_gpus);
  const double watts = rental.gpus() * c.scenario.gpu.power * plan.server_overhead * plan.pue;
  if (k.max_power > 0 && watts > k.max_power)
    return fmt::format("{:.1f} kW at full power, above the cap of {:.1f} kW", watts / 1e3,
                       k.max_power / 1e3);
  return {};
}

}  // namespace

bool score_options(const PlanSpec& plan, const Demand& demand, const Candidate& c, double capacity,
                   double latency, std::vector<Option>& options) {
  bool any = false;
  options.clear();
  for (const auto& source : price_sources(plan)) {
    Option o;
    o.source = source;
    o.replicas = replicas_of(plan, demand, c, capacity, source, o.reason);
    if (o.replicas > 0)
      o.rental = rent(plan, source, c.scenario.gpu, c.gpus(), c.parallel.pp, o.replicas, o.reason);
    if (o.rental) {
      o.reason = over_limits(plan, c, *o.rental);
      if (!o.reason.empty()) o.rental.reset();
    }
    if (o.rental) {
      o.served = o.replicas * capacity;
      switch (plan.goal) {
        case Goal::cheapest:
          o.score = o.rental->total();
          break;
        case Goal::fewest_gpus:
          o.score = o.rental->gpus() * (1 + 1e-9 * std::min(1e6, o.rental->total()));
          break;
        case Goal::budget:
        case Goal::goodput:
          o.score = 1 / o.served;
          break;
        case Goal::latency:
          o.score = latency;
          break;
      }
      any = true;
    }
    options.push_back(o);
  }
  return any;
}

TokenVolume volume_of(const Demand& demand, const Measured& at) {
  const double seconds = demand.peak_seconds();
  return {at.input_rate * seconds, at.cached_rate * seconds, at.output_rate * seconds};
}

std::vector<std::size_t> PlanResult::ranked(std::size_t source,
                                            const std::string& precision) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (of(rows[i]).precision() == precision && rows[i].options.at(source).rental) out.push_back(i);
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    const auto& x = rows[a].options.at(source);
    const auto& y = rows[b].options.at(source);
    if (x.score != y.score) return x.score < y.score;
    // At one price: fewer GPUs, then more head-room.
    if (x.rental->gpus() != y.rental->gpus()) return x.rental->gpus() < y.rental->gpus();
    return x.served > y.served;
  });
  return out;
}

namespace {

void add_costs(const PlanSpec& plan, const PlanResult& result, const Row& row, Option& o) {
  if (!o.rental || plan.goal == Goal::goodput || !plan.priced()) return;
  const Measured& m = row.finalist ? row.at : row.capacity.at;
  // Estimates scale one replica at its capacity to the load.
  const double scale = row.finalist || m.request_rate <= 0 ? 1 : result.demand.load / m.load;
  Measured peak = m;
  peak.input_rate *= scale;
  peak.cached_rate *= scale;
  peak.output_rate *= scale;
  const TokenVolume volume = volume_of(result.demand, peak);
  const double month = o.rental->total();
  o.daily = token_costs(month, volume, m.prefill_seconds, m.decode_seconds, plan.cached_weight);
  const Measured& full = row.capacity.at;
  const double seconds = catalog::hours_per_month * 3600 * o.replicas;
  const TokenVolume most = {full.input_rate * seconds, full.cached_rate * seconds,
                            full.output_rate * seconds};
  o.full = token_costs(month, most, full.prefill_seconds, full.decode_seconds, plan.cached_weight);
  if (plan.api && volume.all() > 0) {
    const double at_api = api_month(*plan.api, volume);
    o.break_even = at_api > 0 ? month / at_api * volume.all() : 0;
  }
}

}  // namespace

void rank(const PlanSpec& plan, PlanResult& result) {
  for (std::size_t s = 0; s < result.sources.size(); ++s)
    for (const auto& precision : result.precisions) {
      int place = 0;
      for (const auto i : result.ranked(s, precision)) {
        auto& option = result.rows[i].options.at(s);
        option.rank = ++place;
        add_costs(plan, result, result.rows[i], option);
      }
    }
  result.chosen.reset();
  for (const auto& precision : result.precisions) {
    for (std::size_t s = 0; s < result.sources.size() && !result.chosen; ++s)
      if (const auto order = result.ranked(s, precision); !order.empty())
        result.chosen = order.front();
    if (result.chosen) break;
  }
}

PlanResult make_plan(const PlanSpec& plan, const PlanOptions& options) {
  PlanResult result;
  result.demand = demand_of(plan);
  result.sources = price_sources(plan);
  result.candidates = candidates_of(plan, result.demand);
  for (const auto& c : result.candidates)
    if (std::find(result.precisions.begin(), result.precisions.end(), c.precision()) ==
        result.precisions.end())
      result.precisions.push_back(c.precision());
  screen(plan, options, result);
  rank(plan, result);
  check_finalists(plan, options, result);
  rank(plan, result);
  draw_errors(plan, options, result);
  if (result.chosen) result.volume = volume_of(result.demand, result.rows[*result.chosen].at);
  if (options.sensitivity) swing(plan, options, result);
  return result;
}

}  // namespace servegrid::plan
