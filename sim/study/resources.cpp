#include "study/resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "catalog/cluster.hpp"
#include "metrics/result.hpp"
#include "units/error.hpp"
#include "workload/trace_size.hpp"

namespace servegrid::study {

namespace {

// Memory of the platform and of a replica, measured; docs/cluster.md.
constexpr double bytes_per_gpu = 20'000;
// Beside its record: its place in the driver and three latencies that are sorted.
constexpr double bytes_beside_record = 64;

}  // namespace

Resources resources_of(const catalog::Scenario& s, std::int64_t tokens, bool records) {
  Resources out;
  double output = s.workload.output.mean;
  out.requests = static_cast<double>(s.workload.requests);
  if (s.workload.kind == catalog::WorkloadSpec::Kind::trace) {
    const workload::TraceSize size = workload::size_of_trace(s.workload);
    out.requests = static_cast<double>(size.requests_at_most);
    output = size.mean_output;
  }
  // The timeline keeps an epoch for each step that holds prefill, and one or two until the next.
  const double chunk =
      static_cast<double>(std::max<std::int64_t>(1, s.knobs.max_num_batched_tokens));
  double epochs = std::ceil(static_cast<double>(tokens) / chunk) + 2;
  out.bytes_per_request = sizeof(metrics::RequestRecord) + bytes_beside_record +
                          epochs * metrics::bytes_of_packed_epoch;
  double together = 0;
  for (const catalog::PoolSpec& pool : catalog::pools_of(s)) {
    out.gpus += static_cast<double>(pool.replicas) * pool.parallel.gpus();
    together += static_cast<double>(pool.knobs.max_num_seqs) * pool.replicas;
  }
  out.bytes_of_platform = out.gpus * bytes_per_gpu;
  if (s.workload.concurrent > 0)
    together = std::min(together, static_cast<double>(s.workload.concurrent));
  const double each = output / s.speculation.tokens_per_step();
  out.single_steps = out.requests * each / std::max(1.0, together);
  // Drawn acceptance goes step by step, and every step is an epoch of the timeline.
  if (s.speculation.sampled) {
    out.bytes_per_request += each / std::max(1.0, together) * metrics::bytes_of_packed_epoch;
  }
  if (!records) out.bytes_per_request = 0;
  return out;
}

void check_resources(const catalog::Scenario& scenario, std::int64_t tokens, bool leap,
                     bool records, bool stops) {
  Resources r = resources_of(scenario, tokens, records);
  constexpr double gib = 1024.0 * 1024 * 1024;
  if (stops) r.requests = r.single_steps = 0;
  if (r.bytes() > max_simulation_bytes) {
    const bool requests = r.requests * r.bytes_per_request >= r.bytes_of_platform;
    const double room =
        max_simulation_bytes - (requests ? r.bytes_of_platform : r.requests * r.bytes_per_request);
    std::string advice =
        requests ? fmt::format(
                       "at most {:.0f} fit: --num-prompts N or --set workload.requests=N; "
                       "run --no-requests-table keeps no record of each; --max-memory SIZE stops "
                       "with what it had",
                       std::floor(std::max(0.0, room) / r.bytes_per_request))
                 : fmt::format("at most {:.0f} GPUs fit: --replicas N or --set replicas=N",
                               std::floor(std::max(0.0, room) / bytes_per_gpu));
    throw InputError(fmt::format(
        "too large to simulate: {:.0f} requests x up to {:.0f} B (their record and the steps of a "
        "prompt) + {:.0f} GPUs x {:.0f} B = {:.1f} GiB, above the limit of {:.0f} GiB\n"
        "  {}",
        r.requests, r.bytes_per_request, r.gpus, bytes_per_gpu, r.bytes() / gib,
        max_simulation_bytes / gib, advice));
  }
  if (scenario.speculation.sampled && r.single_steps > max_single_steps) {
    throw InputError(fmt::format(
        "too long with drawn acceptance: at least {:.3g} steps, one event each, above the limit of "
        "{:.0e}\n  speculation: {{mode: expected}} leaps over them",
        r.single_steps, max_single_steps));
  }
  if (!leap && r.single_steps > max_single_steps) {
    throw InputError(
        fmt::format("too long without leaps: at least {:.3g} steps, one event each, above the "
                    "limit of {:.0e}\n  leave --no-leap out: the result is the same bit for bit",
                    r.single_steps, max_single_steps));
  }
}

cluster::Limits with_memory_limit(cluster::Limits limits) {
  if (limits.any() && limits.bytes <= 0) limits.bytes = max_simulation_bytes;
  return limits;
}

}  // namespace servegrid::study
