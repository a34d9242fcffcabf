// Every combination a plan allows, and why those that cannot be are out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plan/demand.hpp"
#include "plan/plan_file.hpp"
#include "plan/probe.hpp"

namespace servegrid::plan {

struct Candidate {
  std::string gpu, engine, kv;
  catalog::Parallelism parallel;
  catalog::Format weights = catalog::Format::bf16;
  std::string reason, nearest;  // why it is out; what would fit
  std::string stage;            // "constraint", "software", "memory", "offer", "bound", "service"
  catalog::Scenario scenario;   // one replica
  std::string scenario_text;    // what makes it
  std::unique_ptr<Rig> rig;     // of those that are in
  std::string attention;        // "may not fit", dequantised, ...

  [[nodiscard]] int gpus() const { return parallel.gpus(); }
  /// "b200 TP 2, fp8, vllm-0.24"
  [[nodiscard]] std::string label() const;
  /// "16-bit", "8-bit", "4-bit": plans are ranked within one.
  [[nodiscard]] std::string precision() const;
};

/// The scenario's text: `replicas` copies under the plan's workload.
std::string candidate_text(const PlanSpec& plan, const Demand& demand, const Candidate& candidate,
                           int replicas);

/// All combinations, in the order of the plan; those that are out carry the reason, the others a
/// rig. Throws InputError when there are too many, or for a value that means nothing.
std::vector<Candidate> candidates_of(const PlanSpec& plan, const Demand& demand);

}  // namespace servegrid::plan
