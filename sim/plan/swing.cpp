// Sensitivity: what one replica of the chosen plan sustains when one thing changes by a fifth.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "plan/stages.hpp"
#include "units/error.hpp"

namespace servegrid::plan {

namespace {

struct Change {
  std::string what;
  std::vector<std::string> paths;  // set together
};

// Overrides of the text of a candidate; the paths that a profile lacks are left out.
const std::vector<Change>& hardware_changes() {
  static const std::vector<Change> changes = {
      {"memory bandwidth", {"gpu.memory.bandwidth"}},
      {"memory capacity", {"gpu.memory.label", "gpu.memory.driver", "gpu.memory.torch"}},
      {"FLOPS", {"gpu.peak.bf16", "gpu.peak.fp8", "gpu.peak.int8", "gpu.peak.fp6", "gpu.peak.fp4"}},
      {"fabric rate", {"gpu.fabric.link_bandwidth"}},
      {"fabric latency", {"gpu.achieved.collective_latency"}},
      {"NIC rate", {"gpu.nic.bandwidth"}},
      {"host link", {"gpu.host.bandwidth"}},
  };
  return changes;
}

struct Variant {
  std::size_t swing = 0;
  bool high = false;
  catalog::Scenario scenario;
  double step_scale = 1;
};

// Lengths scaled by a factor, whatever their distribution.
void scale(catalog::LengthSpec& length, double factor) {
  length.mean = std::max(1.0, std::round(length.mean * factor));
  length.low = std::max(1.0, std::round(length.low * factor));
  length.high = std::max(1.0, std::round(length.high * factor));
  length.limit =
      static_cast<std::int64_t>(std::llround(static_cast<double>(length.limit) * factor));
}

class Tornado {
 public:
  Tornado(const PlanSpec& plan, const PlanOptions& options, PlanResult& result)
      : plan_(plan),
        options_(options),
        result_(result),
        chosen_(result.rows[*result.chosen]),
        candidate_(result.of(chosen_)) {}

  void run() {
    load_changes();
    for (const auto& change : hardware_changes()) hardware(change);
    // The unchanged set-up, searched like the others: all ratios are to it.
    variants_.push_back({swings_.size(), false, candidate_.scenario, 1});
    const auto texts =
        run_pool("varying the chosen plan", variants_.size(), options_, [&](std::size_t k) {
          const Variant& v = variants_[k];
          try {
            const Rig rig(v.scenario);
            CapacityOptions search;
            search.probe.seed = plan_.seed;
            search.probe.requests = options_.requests;
            search.probe.step_scale = v.step_scale;
            search.tolerance = options_.tolerance / 2;
            search.guess = chosen_.capacity.load;
            return fmt::format("{:.17g}", find_capacity(rig, plan_.slo, search).load);
          } catch (const InfeasibleError&) {
            return std::string("0");
          }
        });
    double base = 0;
    for (std::size_t k = 0; k < variants_.size(); ++k)
      if (variants_[k].swing == swings_.size()) base = std::stod(texts[k]);
    if (base <= 0) return;
    for (std::size_t k = 0; k < variants_.size(); ++k) {
      if (variants_[k].swing == swings_.size()) continue;
      auto& s = swings_[variants_[k].swing];
      (variants_[k].high ? s.high : s.low) = std::stod(texts[k]) / base;
    }
    for (auto& s : swings_) s.premium = std::max(s.low, s.high) - 1;
    std::stable_sort(swings_.begin(), swings_.end(), [](const Swing& a, const Swing& b) {
      return std::abs(a.high - a.low) > std::abs(b.high - b.low);
    });
    result_.swings = swings_;
  }

 private:
  Swing& add(const std::string& what, const std::string& path, const std::string& low,
             const std::string& high) {
    swings_.push_back({what, path, low, high, 1, 1, 0});
    return swings_.back();
  }

  void vary(bool high, const catalog::Scenario& s, double step_scale = 1) {
    variants_.push_back({swings_.size() - 1, high, s, step_scale});
  }

  void lengths(const std::string& what, const std::string& path,
               const std::function<void(catalog::WorkloadSpec&, double)>& change) {
    add(what, path, "-20 %", "+20 %");
    for (const bool high : {false, true}) {
      catalog::Scenario s = candidate_.scenario;
      change(s.workload, high ? 1.2 : 0.8);
      vary(high, s);
    }
  }

  void load_changes() {
    const bool turns =
        candidate_.scenario.workload.kind == catalog::WorkloadSpec::Kind::conversations;
    lengths("output length", "output", [](auto& w, double f) { scale(w.output, f); });
    if (turns)
      lengths("new tokens a turn", "turn_input", [](auto& w, double f) { scale(w.turn_input, f); });
    else
      lengths("prompt length", "prompt", [](auto& w, double f) {
        scale(w.prompt, f);
        w.shared_prefix = static_cast<std::int64_t>(static_cast<double>(w.shared_prefix) * f);
      });
    if (turns || candidate_.scenario.workload.shared_prefix > 0) {
      add("prefix hits", "engine prefix caching", "none", "as is");
      catalog::Scenario s = candidate_.scenario;
      s.knobs.enable_prefix_caching = false;
      vary(false, s);
    }
    const double band = candidate_.rig->steps().costs().tpot_band;
    add("efficiency (step time)", "the model's own error",
        fmt::format("{:.0f} % slower", band * 100),
        fmt::format("{:.0f} % faster", (1 - 1 / (1 + band)) * 100));
    vary(false, candidate_.scenario, 1 + band);
    vary(true, candidate_.scenario, 1 / (1 + band));
  }

  void hardware(const Change& change) {
    const std::string folder = std::filesystem::path(plan_.file).parent_path().string();
    const std::string file = (folder.empty() ? "" : folder + "/") + "candidate.yaml";
    std::vector<catalog::Scenario> sides;
    for (const char* side : {"-20%", "+20%"}) {
      catalog::Overrides set = plan_.candidates.set;
      for (const auto& path : change.paths) {
        catalog::Overrides one = set;
        one.emplace_back(path, side);
        try {  // a profile need not have every value
          static_cast<void>(catalog::read_scenario_text(candidate_.scenario_text, file, one));
          set = one;
        } catch (const InputError&) {
        }
      }
      if (set.size() == plan_.candidates.set.size()) return;
      sides.push_back(catalog::read_scenario_text(candidate_.scenario_text, file, set));
    }
    add(change.what, change.paths.front(), "-20 %", "+20 %");
    vary(false, sides[0]);
    vary(true, sides[1]);
  }

  const PlanSpec& plan_;
  const PlanOptions& options_;
  PlanResult& result_;
  const Row& chosen_;
  const Candidate& candidate_;
  std::vector<Swing> swings_;
  std::vector<Variant> variants_;
};

}  // namespace

void swing(const PlanSpec& plan, const PlanOptions& options, PlanResult& result) {
  if (!result.chosen) return;
  Tornado tornado(plan, options, result);
  tornado.run();
}

}  // namespace servegrid::plan
