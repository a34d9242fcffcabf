#include "cluster/simulate.hpp"

#include <limits>

#include "cluster/driver.hpp"

namespace servegrid::cluster {

metrics::RunResult simulate(const catalog::Scenario& scenario, const roofline::StepTimes& steps,
                            std::int64_t num_blocks, std::int64_t blocks_fixed,
                            const RunOptions& options) {
  Driver driver(scenario, steps, num_blocks, blocks_fixed, options);
  while (driver.run(std::numeric_limits<std::int64_t>::max())) {
  }
  return driver.take_result();
}

}  // namespace servegrid::cluster
