// What a run needs beside its scenario: the step model and the pool.
#pragma once

#include <memory>

#include "memory/ledger.hpp"
#include "study/run.hpp"
#include "units/error.hpp"

namespace servegrid::bench {

struct Prepared {
  catalog::Scenario scenario;
  std::unique_ptr<roofline::StepModel> steps;
  std::int64_t num_blocks = 0, blocks_fixed = 0;
};

inline Prepared prepare(const catalog::Scenario& scenario) {
  memory::Options options;
  options.context_tokens = study::conversation_tokens(scenario.workload);
  const memory::Ledger ledger = memory::size(scenario, options);
  if (!ledger.fits) throw RunError("bench: a case does not fit");
  Prepared out{scenario, study::step_model_of(scenario), ledger.num_blocks,
               ledger.blocks_per_request_fixed};
  out.scenario.knobs.block_size = ledger.block_tokens;
  return out;
}

}  // namespace servegrid::bench
