// How a set-up is started on a real engine, with every flag that the plan depends on, and the
// benchmark that would check it.
#pragma once

#include <string>

#include "catalog/scenario.hpp"
#include "plan/objectives.hpp"

namespace servegrid::plan {

/// The checkpoint to serve: the published one of the weights format, else the model's own id.
/// `published` is false when no checkpoint of that format is known.
std::string checkpoint_of(const catalog::Scenario& scenario, bool& published);

/// `vllm serve ...`, `python -m sglang.launch_server ...` or `trtllm-serve ...` of one replica.
std::string launch_command(const catalog::Scenario& scenario);

/// `vllm bench serve ...` at that load (requests/s or users). Users who think between requests are
/// no closed loop of the bench: they become arrivals at `rate` requests/s.
std::string bench_command(const catalog::Scenario& scenario, double load, double rate,
                          const Objectives& objectives);

}  // namespace servegrid::plan
