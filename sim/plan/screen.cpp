// From all candidates to those worth simulating, and what each of these sustains.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "plan/stages.hpp"
#include "units/error.hpp"

namespace servegrid::plan {

namespace {

// The bound counts no queueing and no tails; it is not tight, and it may be a little low where
// prefill shares a step with decode. Pruning by it leaves this margin.
constexpr double bound_margin = 1.15;
constexpr std::size_t first_wave = 3;  // simulated of each precision and source before pruning

struct Live {
  std::size_t candidate = 0;
  Bound bound;
  std::vector<Option> options;  // at the bound
  double least_latency = 0;
};

void reject(PlanResult& result, const Candidate& c, const std::string& stage,
            const std::string& reason, const std::string& nearest = {}) {
  result.rejected.push_back({c.label(), c.precision(), stage, reason, nearest});
}

std::string first_reason(const std::vector<Option>& options) {
  std::string out;
  for (const auto& o : options)
    if (!o.reason.empty() && out.find(o.reason) == std::string::npos)
      out += (out.empty() ? "" : "; ") + o.reason;
  return out;
}

double replicas_share(double load, int replicas) {
  return load / std::max(1, replicas);
}

// One replica at its share of the load: what the goal `latency` ranks by.
double latency_at(const PlanSpec& plan, const Demand& demand, const Candidate& c, double capacity,
                  const PlanOptions& options) {
  std::vector<Option> guesses;
  if (!score_options(plan, demand, c, capacity, 0, guesses)) return 0;
  int most = 0;
  for (const auto& o : guesses)
    if (o.rental) most = std::max(most, o.replicas);
  ProbeOptions probe;
  probe.seed = plan.seed;
  probe.requests = options.requests;
  return c.rig->measure(replicas_share(demand.load, most), plan.slo, probe).e2el_mean;
}

class Screening {
 public:
  Screening(const PlanSpec& plan, const PlanOptions& options, PlanResult& result)
      : plan_(plan), options_(options), result_(result) {}

  void run() {
    collect();
    simulate(pick_first());
    simulate(pick_rest());
    std::sort(result_.rows.begin(), result_.rows.end(),
              [](const Row& a, const Row& b) { return a.candidate < b.candidate; });
  }

 private:
  void collect() {
    for (std::size_t i = 0; i < result_.candidates.size(); ++i) {
      auto& c = result_.candidates[i];
      if (!c.reason.empty()) {
        reject(result_, c, c.stage, c.reason, c.nearest);
        continue;
      }
      Live live;
      live.candidate = i;
      live.bound = bound_of(*c.rig, plan_.slo);
      live.least_latency = live.bound.prefill + c.scenario.workload.output.mean *
                                                    to_seconds(c.rig->steps().decode(1).base);
      if (!score_options(plan_, result_.demand, c, live.bound.load * bound_margin,
                         live.least_latency, live.options)) {
        reject(result_, c, "offer", first_reason(live.options));
        continue;
      }
      live_.push_back(std::move(live));
    }
    waiting_.assign(live_.size(), true);
  }

  [[nodiscard]] const std::string precision(std::size_t k) const {
    return result_.candidates[live_[k].candidate].precision();
  }

  std::vector<std::size_t> pick_first() {
    std::vector<std::size_t> picked;
    for (std::size_t s = 0; s < result_.sources.size(); ++s)
      for (const auto& p : result_.precisions) {
        std::vector<std::size_t> order;
        for (std::size_t k = 0; k < live_.size(); ++k)
          if (precision(k) == p && live_[k].options[s].rental) order.push_back(k);
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
          return live_[a].options[s].score < live_[b].options[s].score;
        });
        for (std::size_t n = 0; n < std::min(first_wave, order.size()); ++n)
          if (waiting_[order[n]]) {
            waiting_[order[n]] = false;
            picked.push_back(order[n]);
          }
      }
    std::sort(picked.begin(), picked.end());
    return picked;
  }

  // Best score found so far under a source, within a precision.
  [[nodiscard]] double best(std::size_t s, const std::string& p) const {
    double score = std::numeric_limits<double>::infinity();
    for (const auto& row : result_.rows)
      if (result_.of(row).precision() == p && row.options[s].rental)
        score = std::min(score, row.options[s].score);
    return score;
  }

  std::vector<std::size_t> pick_rest() {
    std::vector<std::size_t> picked;
    for (std::size_t k = 0; k < live_.size(); ++k) {
      if (!waiting_[k]) continue;
      bool worth = false;
      std::string reason;
      for (std::size_t s = 0; s < result_.sources.size(); ++s) {
        const auto& o = live_[k].options[s];
        if (!o.rental) continue;
        const double limit = best(s, precision(k));
        worth = worth || o.score <= options_.keep * limit;
        if (reason.empty()) reason = pruned_text(live_[k], o, limit);
      }
      if (worth)
        picked.push_back(k);
      else
        reject(result_, result_.candidates[live_[k].candidate], "bound", reason);
    }
    return picked;
  }

  [[nodiscard]] std::string pruned_text(const Live& live, const Option& o, double limit) const {
    const std::string at = fmt::format("even at its closed-form bound of {:.4g} {} a replica ({})",
                                       live.bound.load, result_.demand.unit, live.bound.limited_by);
    switch (plan_.goal) {
      case Goal::cheapest:
        return fmt::format("costs at least {:.0f} {} a month {}: {:.1f}x the best of its precision",
                           o.score, plan_.currency, at, o.score / limit);
      case Goal::fewest_gpus:
        return fmt::format("takes at least {} GPUs {}: {:.1f}x the best", o.rental->gpus(), at,
                           o.score / limit);
      case Goal::latency:
        return fmt::format("an answer takes at least {:.2f} s: {:.1f}x the best", o.score,
                           o.score / limit);
      default:
        return fmt::format("serves at most {:.4g} {} {}: {:.2f} of the best", o.served,
                           result_.demand.unit, at, limit / o.score);
    }
  }

  void simulate(const std::vector<std::size_t>& picked) {
    const auto texts =
        run_pool("simulating candidates", picked.size(), options_, [&](std::size_t k) {
          const auto& c = result_.candidates[live_[picked[k]].candidate];
          CapacityOptions search;
          search.probe.seed = plan_.seed;
          search.probe.requests = options_.requests;
          search.tolerance = options_.tolerance;
          // A replica that would carry everything several times over need not be driven further.
          search.most = std::max(4.0, 4 * result_.demand.load);
          if (plan_.goal == Goal::goodput || plan_.goal == Goal::budget) search.most = 1e7;
          const Capacity found = find_capacity(*c.rig, plan_.slo, search);
          double latency = 0;
          if (found.load > 0 && plan_.goal == Goal::latency)
            latency = latency_at(plan_, result_.demand, c, found.load, options_);
          return nlohmann::json{{"capacity", to_text(found)}, {"latency", latency}}.dump();
        });
    for (std::size_t k = 0; k < picked.size(); ++k) {
      const auto& live = live_[picked[k]];
      const auto json = nlohmann::json::parse(texts[k]);
      add_row(live, capacity_from_text(json.at("capacity")), json.at("latency"));
    }
  }

  void add_row(const Live& live, const Capacity& found, double latency) {
    const auto& c = result_.candidates[live.candidate];
    if (found.load <= 0) {
      reject(result_, c, "service",
             fmt::format("{} already at {:.4g} {} a replica", found.missed, found.above,
                         result_.demand.unit));
      return;
    }
    Row row;
    row.candidate = live.candidate;
    row.capacity = found;
    row.bound = live.bound;
    row.latency = latency;
    if (score_options(plan_, result_.demand, c, found.load, latency, row.options))
      result_.rows.push_back(std::move(row));
    else
      reject(result_, c, "offer", first_reason(row.options));
  }

  const PlanSpec& plan_;
  const PlanOptions& options_;
  PlanResult& result_;
  std::vector<Live> live_;
  std::vector<bool> waiting_;
};

}  // namespace

void screen(const PlanSpec& plan, const PlanOptions& options, PlanResult& result) {
  Screening(plan, options, result).run();
}

}  // namespace servegrid::plan
