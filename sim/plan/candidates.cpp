#include "plan/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "model/deployment.hpp"
#include "model/format_support.hpp"
#include "units/error.hpp"

namespace servegrid::plan {

namespace {

constexpr std::size_t most_candidates = 20'000;

// The first line of a reader's message, without the place in a text that nobody wrote.
std::string reason_of(const std::string& message) {
  std::string line = message.substr(0, message.find('\n'));
  const std::string_view file = "candidate.yaml:";
  if (const auto at = line.find(file); at != std::string::npos) {
    const auto space = line.find(' ', at);
    if (space != std::string::npos) line = line.substr(space + 1);
  }
  return line;
}

void drop(Candidate& c, const std::string& stage, const std::string& reason) {
  c.stage = stage;
  c.reason = reason;
}

bool meets_constraints(const PlanSpec& plan, const catalog::Gpu& gpu, Candidate& c) {
  const auto& k = plan.constraints;
  if (k.cuda_only && gpu.software.stack != "CUDA") {
    drop(c, "constraint", "CUDA only: " + gpu.name + " runs " + gpu.software.stack);
  } else if (k.min_fp64 > 0) {
    double best = 0;
    for (const char* kind : {"fp64", "fp64_matrix"})
      if (const auto it = gpu.peak.find(kind); it != gpu.peak.end())
        best = std::max(best, it->second);
    if (best < k.min_fp64)
      drop(c, "constraint",
           fmt::format("FP64 {:.4g} TFLOPS is below the {:.4g} asked for", best / 1e12,
                       k.min_fp64 / 1e12));
  }
  if (c.reason.empty() && c.gpus() > k.max_gpus)
    drop(c, "constraint", fmt::format("one replica takes {} GPUs, above {}", c.gpus(), k.max_gpus));
  return c.reason.empty();
}

void build(const PlanSpec& plan, const Demand& demand, Candidate& c) {
  const std::string folder = std::filesystem::path(plan.file).parent_path().string();
  c.scenario_text = candidate_text(plan, demand, c, 1);
  try {
    c.scenario = catalog::read_scenario_text(
        c.scenario_text, (folder.empty() ? "" : folder + "/") + "candidate.yaml",
        plan.candidates.set);
    model::check(model::deployment_of(c.scenario));
  } catch (const InfeasibleError& e) {
    return drop(c, "software", reason_of(e.what()));
  } catch (const InputError& e) {
    return drop(c, "software", reason_of(e.what()));
  }
  try {
    c.rig = std::make_unique<Rig>(c.scenario);
  } catch (const InfeasibleError& e) {
    const std::string message = e.what();
    const auto cut = message.find("; ");
    drop(c, "memory", message.substr(0, cut));
    if (cut != std::string::npos) c.nearest = message.substr(cut + 2);
    return;
  }
  if (c.rig->ledger().may_not_fit) c.attention = "may not fit: inside the reserve's band";
  const std::string how = model::weights_text(c.scenario);
  if (how.find('(') != std::string::npos) c.attention += (c.attention.empty() ? "" : "; ") + how;
}

}  // namespace

std::string Candidate::label() const {
  std::string text = fmt::format("{} TP {}", gpu, parallel.tp);
  if (parallel.pp > 1) text += fmt::format(" PP {}", parallel.pp);
  if (parallel.ep > 1) text += fmt::format(" EP {}", parallel.ep);
  if (parallel.dp > 1) text += fmt::format(" DP {}", parallel.dp);
  text += fmt::format(", {}", catalog::name(weights));
  if (kv != "auto") text += " KV " + kv;
  return text + ", " + engine;
}

std::string Candidate::precision() const {
  const double bytes = catalog::nominal_bytes(weights);
  return bytes >= 2 ? "16-bit" : bytes >= 1 ? "8-bit" : bytes > 0.5 ? "6-bit" : "4-bit";
}

std::string candidate_text(const PlanSpec& plan, const Demand& demand, const Candidate& c,
                           int replicas) {
  const std::string router = !plan.router.empty()  ? plan.router
                             : demand.counts_users ? "session-affinity"
                                                   : "least-outstanding";
  std::string text = fmt::format(
      "model: {}\nweights: {}\nreplica: {{gpu: {}, tp: {}, pp: {}, ep: {}, dp: {}}}\nreplicas: "
      "{}\nrouter: {}\nengine: {{profile: {}",
      plan.model, catalog::name(c.weights), c.gpu, c.parallel.tp, c.parallel.pp, c.parallel.ep,
      c.parallel.dp, replicas, router, c.engine);
  if (c.kv != "auto") text += ", kv_cache_dtype: " + c.kv;
  return text + fmt::format("}}\nworkload: {}\nseed: {}\n", demand.workload_yaml, plan.seed);
}

std::vector<Candidate> candidates_of(const PlanSpec& plan, const Demand& demand) {
  const auto& spec = plan.candidates;
  const std::size_t all = spec.gpus.size() * spec.engines.size() * spec.weights.size() *
                          spec.kv.size() * spec.tp.size() * spec.pp.size() * spec.ep.size() *
                          spec.dp.size();
  if (all > most_candidates)
    throw InputError(
        fmt::format("the plan has {} candidates, above the limit of {}", all, most_candidates));
  const catalog::Catalog catalog(std::filesystem::path(plan.file).parent_path().string());
  std::vector<Candidate> out;
  for (const auto weights : spec.weights)
    for (const auto& name : spec.gpus) {
      const catalog::Gpu gpu = catalog.gpu(name);
      for (const auto& engine : spec.engines)
        for (const auto& kv : spec.kv)
          for (const int tp : spec.tp)
            for (const int pp : spec.pp)
              for (const int ep : spec.ep)
                for (const int dp : spec.dp) {
                  Candidate c;
                  c.gpu = name;
                  c.engine = engine;
                  c.kv = kv;
                  c.parallel = {tp, pp, ep, dp};
                  c.weights = weights;
                  if (meets_constraints(plan, gpu, c)) build(plan, demand, c);
                  out.push_back(std::move(c));
                }
    }
  return out;
}

}  // namespace servegrid::plan
