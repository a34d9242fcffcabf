#include "cluster/fleet.hpp"

#include <algorithm>

namespace servegrid::cluster {

namespace {

int domain_of(const catalog::Gpu& gpu) {
  return gpu.fabric.kind == catalog::FabricKind::none ? 1 : std::max(1, gpu.fabric.domain);
}

}  // namespace

Placement place(const std::vector<catalog::PoolSpec>& pools) {
  Placement out;
  int used = 0;  // of the last server
  const auto open_server = [&](int pool, int gpus) {
    out.servers.push_back({pool, out.gpus, gpus});
    out.gpus += gpus;
    used = 0;
  };
  for (std::size_t p = 0; p < pools.size(); ++p) {
    const catalog::PoolSpec& pool = pools[p];
    const int domain = domain_of(pool.gpu), gpus = pool.parallel.gpus();
    for (int r = 0; r < pool.replicas; ++r) {
      const bool fits =
          !out.servers.empty() &&
          pools[static_cast<std::size_t>(out.servers.back().pool)].gpu.name == pool.gpu.name &&
          out.servers.back().gpus - used >= gpus;
      if (!fits) open_server(static_cast<int>(p), domain);
      Place place;
      place.pool = static_cast<int>(p);
      place.first_gpu = out.servers.back().first_gpu + used;
      place.gpus = gpus;
      place.first_server = static_cast<int>(out.servers.size()) - 1;
      used += std::min(gpus, domain - used);
      for (int left = gpus - domain; left > 0; left -= domain) {
        open_server(static_cast<int>(p), domain);
        used = std::min(left, domain);
      }
      place.last_server = static_cast<int>(out.servers.size()) - 1;
      out.replicas.push_back(place);
    }
  }
  return out;
}

}  // namespace servegrid::cluster
