#include "metrics/series.hpp"

#include <algorithm>

namespace servegrid::metrics {

std::vector<SeriesPart> series_of(const RunResult& result, int replicas, std::size_t parts) {
  const double whole = to_seconds(result.end);
  if (result.timeline.empty() || whole <= 0) return {};
  const double width = whole / static_cast<double>(parts);
  std::vector<SeriesPart> out(parts);
  for (std::size_t i = 0; i < parts; ++i) out[i].start = static_cast<double>(i) * width;
  for (const Epoch& e : result.timeline) {
    const Ticks n = e.steps;
    const double start = to_seconds(e.start);
    const double length = to_seconds(n * e.first_step + e.step_growth * (n * (n - 1) / 2));
    if (!(length > 0)) continue;
    const double tokens = static_cast<double>(e.steps) * static_cast<double>(e.sequences);
    auto part = static_cast<std::size_t>(std::max(0.0, start / width));
    for (double at = start; at < start + length && part < parts; ++part) {
      const double end = std::min(start + length, static_cast<double>(part + 1) * width);
      const double seconds = std::max(0.0, end - at);
      SeriesPart& p = out[part];
      p.busy += seconds;
      p.running += seconds * static_cast<double>(e.running);
      p.waiting += seconds * static_cast<double>(e.waiting);
      p.kv += seconds * static_cast<double>(e.blocks_used);
      p.output_tokens += tokens * seconds / length;
      at = end;
    }
  }
  const auto pool = static_cast<double>(std::max<std::int64_t>(1, result.num_blocks)) * replicas;
  for (SeriesPart& p : out) {
    p.running /= width;
    p.waiting /= width;
    p.kv /= width * pool;
    p.busy /= width * replicas;
    p.output_tokens /= width;
  }
  return out;
}

}  // namespace servegrid::metrics
