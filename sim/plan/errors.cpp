// The model errs: by how much is known from runs left out of its fit (tpot_band, ttft_band). Draws
// of that error give an interval of replicas and how often each plan wins.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "plan/stages.hpp"
#include "workload/random.hpp"

namespace servegrid::plan {

namespace {

// A band is the half-width of a 90 % interval: 1.645 standard deviations, of the logarithm.
constexpr double normal_90 = 1.645;
// Share of the variance that all set-ups have in common: one step model, one kind of fit. The rest
// is drawn once for each GPU and engine, so that two plans on one stack err together.
constexpr double shared_variance = 0.5;
constexpr std::array<double, 6> grid = {0.1, 0.25, 0.4, 0.6, 0.75, 0.9};  // of the capacity

double factor_of(double band, double z) {
  return std::exp(z * std::log1p(band) / normal_90);
}

// How far a measurement is from its objectives: above 1 it misses.
double strain(const Measured& m, const Objectives& objectives, double ttft_scale) {
  if (m.backlog || m.rejected || m.counted == 0) return std::numeric_limits<double>::infinity();
  double worst = 1e-9;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const double scale = objectives[i].metric == Metric::ttft ? ttft_scale : 1;
    if (!std::isnan(m.latencies[i]))
      worst = std::max(worst, m.latencies[i] * scale / objectives[i].limit);
  }
  return worst;
}

// The largest load within the objectives along a curve of rising load; between the last point that
// holds and the first that does not, linear in the logarithm of the strain. 0 = not even the least.
double load_within(const std::vector<CurvePoint>& curve, const Objectives& objectives,
                   double ttft_scale) {
  double held = 0, held_strain = 0;
  for (const auto& point : curve) {
    const double s = strain(point.measured, objectives, ttft_scale);
    if (s <= 1) {
      held = point.load;
      held_strain = s;
      continue;
    }
    if (held <= 0) return 0;
    const double share =
        std::isinf(s) ? 0.5 : std::log(1 / held_strain) / std::log(s / held_strain);
    return held + (point.load - held) * std::clamp(share, 0.0, 1.0);
  }
  return held;
}

std::string curve_text(const Rig& rig, const Objectives& objectives, const ProbeOptions& probe,
                       double capacity, const std::vector<Measured>& known) {
  std::vector<Measured> all = known;
  const bool users = rig.counts_users();
  for (const double share : grid) {
    const double load = users ? std::max(1.0, std::round(share * capacity)) : share * capacity;
    const bool there =
        std::any_of(all.begin(), all.end(), [&](const Measured& m) { return m.load == load; });
    if (!there) all.push_back(rig.measure(load, objectives, probe));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Measured& a, const Measured& b) { return a.load < b.load; });
  nlohmann::json out = nlohmann::json::array();
  for (const auto& m : all) out.push_back(to_text(m));
  return out.dump();
}

std::vector<CurvePoint> curve_of(const std::string& text) {
  std::vector<CurvePoint> out;
  for (const auto& point : nlohmann::json::parse(text)) {
    Measured m = measured_from_text(point);
    const double load = m.load;
    out.push_back({load, std::move(m)});
  }
  return out;
}

// Per-replica capacity of a finalist as a function of the error.
struct Response {
  std::array<double, 3> scales{};  // of the step time: fast, as predicted, slow
  std::array<std::vector<CurvePoint>, 3> curves;
  double fleet = 1;  // what the fleet showed over what one replica did

  [[nodiscard]] double capacity(const Objectives& objectives, double scale, double ttft) const {
    std::array<double, 3> at{};
    for (std::size_t i = 0; i < 3; ++i) at.at(i) = load_within(curves.at(i), objectives, ttft);
    // Linear in the logarithms; past the ends, the nearest slope goes on.
    const std::size_t i = scale <= scales[1] ? 0 : 1;
    if (at.at(i + 1) <= 0) return scale < scales.at(i + 1) ? at.at(i) * fleet : 0;
    if (at.at(i) <= 0) return 0;
    const double slope =
        std::log(at.at(i + 1) / at.at(i)) / std::log(scales.at(i + 1) / scales.at(i));
    return fleet * at.at(i) * std::exp(slope * std::log(scale / scales.at(i)));
  }
};

double normal(const workload::Stream& stream, std::int64_t index) {
  auto generator = stream.at(index);
  return boost::random::normal_distribution<double>()(generator);
}

class Drawing {
 public:
  Drawing(const PlanSpec& plan, const PlanOptions& options, PlanResult& result)
      : plan_(plan), options_(options), result_(result) {
    for (std::size_t i = 0; i < result.rows.size(); ++i)
      if (result.rows[i].finalist) finalists_.push_back(i);
  }

  void run() {
    if (finalists_.empty()) return;
    respond();
    std::vector<std::vector<int>> replicas(finalists_.size());
    std::vector<std::vector<double>> capacities(finalists_.size());
    for (int d = 0; d < options_.draws; ++d)
      for (std::size_t k = 0; k < finalists_.size(); ++k) {
        const double c = draw(k, d);
        capacities[k].push_back(c);
        if (c > 0)
          replicas[k].push_back(
              static_cast<int>(std::min(1e8, std::ceil(result_.demand.load / c - 1e-9))));
      }
    for (std::size_t k = 0; k < finalists_.size(); ++k) {
      serve_interval(k, capacities[k]);
      interval(k, replicas[k]);
    }
    count_wins(capacities);
  }

 private:
  // Three curves of each finalist: steps as fast as the band allows, as predicted, as slow.
  void respond() {
    const auto texts =
        run_pool("bounding the error", finalists_.size() * 3, options_, [&](std::size_t job) {
          const Row& row = result_.rows[finalists_[job / 3]];
          const auto& rig = *result_.of(row).rig;
          ProbeOptions probe;
          probe.seed = plan_.seed;
          probe.requests = options_.requests;
          probe.step_scale = scale_of(row, job % 3);
          if (job % 3 == 1)
            return curve_text(rig, plan_.slo, probe, row.capacity.load, row.capacity.probes);
          CapacityOptions search;
          search.probe = probe;
          search.tolerance = options_.tolerance;
          search.guess = row.capacity.load / probe.step_scale;
          const Capacity found = find_capacity(rig, plan_.slo, search);
          return curve_text(rig, plan_.slo, probe, std::max(found.load, search.guess / 10),
                            found.probes);
        });
    responses_.resize(finalists_.size());
    for (std::size_t job = 0; job < texts.size(); ++job) {
      Row& row = result_.rows[finalists_[job / 3]];
      Response& r = responses_[job / 3];
      r.scales.at(job % 3) = scale_of(row, job % 3);
      r.curves.at(job % 3) = curve_of(texts[job]);
      if (job % 3 != 1) continue;
      row.curve = r.curves[1];
      const double alone = load_within(row.curve, plan_.slo, 1);
      if (alone <= 0 || row.replicas <= 0) continue;
      if (serves_most(plan_.goal)) {  // the fleet itself was driven to its capacity
        for (const auto& o : row.options)
          if (o.rental && o.replicas == row.replicas) r.fleet = o.served / o.replicas / alone;
        continue;
      }
      // The fleet holds with row.replicas and not with one fewer: its capacity lies between.
      const double least = result_.demand.load / row.replicas;
      const double most = row.replicas > 1 ? result_.demand.load / (row.replicas - 1) : 1e300;
      r.fleet = std::clamp(alone, least, most * (1 - 1e-9)) / alone;
    }
  }

  [[nodiscard]] double scale_of(const Row& row, std::size_t which) const {
    const double band = result_.of(row).rig->steps().costs().tpot_band;
    return which == 0 ? 1 / (1 + band) : which == 1 ? 1 : 1 + band;
  }

  double draw(std::size_t k, int d) const {
    const Row& row = result_.rows[finalists_[k]];
    const Candidate& c = result_.of(row);
    const auto& costs = c.rig->steps().costs();
    const std::string stack = c.gpu + "/" + c.scenario.engine.engine;
    const auto z = [&](const std::string& what) {
      const double shared = normal(workload::Stream(plan_.seed, "error " + what), d);
      const double own = normal(workload::Stream(plan_.seed, "error " + what + " " + stack), d);
      return std::sqrt(shared_variance) * shared + std::sqrt(1 - shared_variance) * own;
    };
    const double steps = factor_of(costs.tpot_band, z("tpot"));
    const double ttft = factor_of(costs.ttft_band, z("ttft"));
    // TTFT already moves with the steps; only what is beyond that is left.
    return responses_[k].capacity(plan_.slo, steps, std::max(0.05, ttft / steps));
  }

  // What the fleet serves, 5 % to 95 % of the draws.
  void serve_interval(std::size_t k, std::vector<double> capacities) {
    Row& row = result_.rows[finalists_[k]];
    std::sort(capacities.begin(), capacities.end());
    const auto last = static_cast<double>(capacities.size() - 1);
    row.served_low = row.replicas * capacities[static_cast<std::size_t>(std::floor(0.05 * last))];
    row.served_high = row.replicas * capacities[static_cast<std::size_t>(std::ceil(0.95 * last))];
  }

  void interval(std::size_t k, std::vector<int>& replicas) {
    Row& row = result_.rows[finalists_[k]];
    row.hopeless = 1 - static_cast<double>(replicas.size()) / options_.draws;
    if (replicas.empty() || serves_most(plan_.goal)) return;
    std::sort(replicas.begin(), replicas.end());
    const auto last = static_cast<double>(replicas.size() - 1);
    row.low = replicas[static_cast<std::size_t>(std::floor(0.05 * last))];
    row.high = replicas[static_cast<std::size_t>(std::ceil(0.95 * last))];
  }

  void count_wins(const std::vector<std::vector<double>>& capacities) {
    for (std::size_t s = 0; s < result_.sources.size(); ++s)
      for (const auto& precision : result_.precisions) {
        std::vector<std::size_t> order;
        for (const auto i : result_.ranked(s, precision)) {
          const auto k = std::find(finalists_.begin(), finalists_.end(), i) - finalists_.begin();
          if (static_cast<std::size_t>(k) < finalists_.size())
            order.push_back(static_cast<std::size_t>(k));
        }
        for (int d = 0; d < options_.draws; ++d) {
          double best = std::numeric_limits<double>::infinity();
          std::size_t winner = finalists_.size();
          for (const auto k : order) {  // of two that cost the same, the better ranked
            const Row& row = result_.rows[finalists_[k]];
            const double c = capacities[k][static_cast<std::size_t>(d)];
            if (c <= 0) continue;
            const double score = score_of(row, c, s);
            if (score < best) {
              best = score;
              winner = k;
            }
          }
          if (winner < finalists_.size())
            result_.rows[finalists_[winner]].options.at(s).wins += 1.0 / options_.draws;
        }
      }
  }

  // Many draws need the same number of replicas: each is priced once.
  double score_of(const Row& row, double capacity, std::size_t s) {
    const double infinity = std::numeric_limits<double>::infinity();
    if (plan_.goal != Goal::cheapest && plan_.goal != Goal::fewest_gpus) {
      std::vector<Option> options;
      score_options(plan_, result_.demand, result_.of(row), capacity, row.latency, options);
      return options.at(s).rental ? options.at(s).score : infinity;
    }
    const auto replicas =
        static_cast<int>(std::min(1e8, std::ceil(result_.demand.load / capacity - 1e-9)));
    const auto key = std::pair(row.candidate, replicas);
    auto it = priced_.find(key);
    if (it == priced_.end()) {
      std::vector<Option> options;
      score_options(plan_, result_.demand, result_.of(row), capacity, row.latency, options);
      std::vector<double> scores;
      for (const auto& o : options) scores.push_back(o.rental ? o.score : infinity);
      it = priced_.emplace(key, scores).first;
    }
    return it->second.at(s);
  }

  const PlanSpec& plan_;
  const PlanOptions& options_;
  PlanResult& result_;
  std::vector<std::size_t> finalists_;
  std::vector<Response> responses_;
  std::map<std::pair<std::size_t, int>, std::vector<double>> priced_;
};

}  // namespace

void draw_errors(const PlanSpec& plan, const PlanOptions& options, PlanResult& result) {
  Drawing(plan, options, result).run();
}

}  // namespace servegrid::plan
