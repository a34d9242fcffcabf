#include "plan/energy.hpp"

#include <algorithm>
#include <array>

namespace servegrid::plan {

double watts_per_gpu(const catalog::Gpu& gpu, const Measured& m, int replicas,
                     const PowerLevels& levels) {
  const std::array<double, 5> level = {levels.compute, levels.memory, levels.fabric, levels.latency,
                                       levels.host};
  const double time = m.duration * replicas;
  if (time <= 0) return gpu.power * levels.idle;
  double share = levels.idle;
  for (std::size_t b = 0; b < level.size(); ++b)
    share += m.seconds_by_bound.at(b) / time * (level.at(b) - levels.idle);
  return gpu.power * std::min(1.0, share);
}

}  // namespace servegrid::plan
