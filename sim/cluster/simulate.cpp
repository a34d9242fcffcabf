#include "cluster/simulate.hpp"

#include <limits>

#include "cluster/driver.hpp"
#include "units/error.hpp"

namespace servegrid::cluster {

metrics::RunResult simulate(const catalog::Scenario& scenario, const std::vector<PoolModel>& pools,
                            const RunOptions& options) {
  Driver driver(scenario, pools, options);
  while (driver.next_event() != no_event) {
    driver.run(std::numeric_limits<std::int64_t>::max(), no_event);
    if (!driver.take_flows().empty()) {
      throw RunError("a transfer of KV caches needs links: simulate on SimGrid");
    }
  }
  return driver.take_result();
}

metrics::RunResult simulate(const catalog::Scenario& scenario, const roofline::StepTimes& steps,
                            std::int64_t num_blocks, std::int64_t blocks_fixed,
                            const RunOptions& options) {
  return simulate(scenario, {PoolModel{&steps, num_blocks, blocks_fixed, 0, 0, 0, 0}}, options);
}

}  // namespace servegrid::cluster
