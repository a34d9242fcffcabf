// Where the time of a run went, and what would have to give for it to go faster.
#pragma once

#include <string>
#include <vector>

#include "study/run.hpp"

namespace servegrid::study {

/// Averages over the timeline. Steps are attributed to what bounds their operators. `steps`: of
/// each pool.
Load load_of(const metrics::RunResult& result,
             const std::vector<const roofline::StepModel*>& steps);

/// The summary in the names of `vllm bench serve`, with ours after them.
metrics::Summary summary_of(const metrics::RunResult& result, const catalog::Scenario& scenario,
                            const Load& load, const metrics::Grouping& grouping, bool saturated);

/// What limits the run: "KV memory", "max_num_seqs", or what bounds most of the step time.
std::string binds_of(const metrics::RunResult& result, const catalog::Scenario& scenario,
                     const Load& load);

}  // namespace servegrid::study
