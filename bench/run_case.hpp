// What a run needs beside its scenario: the step models and KV pools of its replicas.
#pragma once

#include "study/run.hpp"

namespace servegrid::bench {

inline study::PoolModels prepare(const catalog::Scenario& scenario) {
  return study::models_of(scenario, study::conversation_tokens(scenario.workload));
}

}  // namespace servegrid::bench
