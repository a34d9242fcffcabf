#include "study/interval.hpp"

#include <algorithm>

namespace servegrid::study {

namespace {

// 90th percentiles of the ratio between prediction and measurement (the larger over the smaller,
// less 1) over 1,381 measured rows of `servegrid validate --leave-out gpu` and `--leave-out
// kernels` (docs/accuracy.md).
constexpr Bands inherited_floor{0.85, 0.29};
constexpr Bands data_sheet_floor{1.09, 0.45};

}  // namespace

Bands bands_of(const catalog::ServingCosts& costs, const std::string& trust, bool queues) {
  Bands bands{queues ? costs.ttft_queued_band : costs.ttft_band, costs.tpot_band};
  const auto at_least = [&](const Bands& floor) {
    bands.ttft = std::max(bands.ttft, floor.ttft);
    bands.tpot = std::max(bands.tpot, floor.tpot);
  };
  if (trust == "data sheet") at_least(data_sheet_floor);
  if (trust == "inherited" || trust == "what-if") at_least(inherited_floor);
  return bands;
}

std::vector<Interval> intervals_of(const Prediction& p, const Bands& bands) {
  std::vector<Interval> out;
  const double ttft_low = p.ttft_ms / (1 + bands.ttft), ttft_high = p.ttft_ms * (1 + bands.ttft);
  if (p.ttft_ms > 0) out.push_back({"mean_ttft_ms", ttft_low, ttft_high});
  if (p.tpot_ms > 0)
    out.push_back({"mean_tpot_ms", p.tpot_ms / (1 + bands.tpot), p.tpot_ms * (1 + bands.tpot)});
  if (p.throughput <= 0 || p.e2el_ms <= 0 || p.duration <= 0) return out;
  // Both errors the same way: they share the step model.
  const double decode = std::max(0.0, p.e2el_ms - p.ttft_ms);
  const double fast = ttft_low + decode / (1 + bands.tpot);
  const double slow = ttft_high + decode * (1 + bands.tpot);
  double low = 0, high = 0;
  if (p.closed) {
    low = p.throughput * (p.e2el_ms + p.think_ms) / (slow + p.think_ms);
    high = p.throughput * (p.e2el_ms + p.think_ms) / (fast + p.think_ms);
  } else if (p.queues) {
    low = p.throughput / (1 + bands.tpot);
    high = p.throughput * (1 + bands.tpot);
  } else {
    low = p.throughput * p.duration / (p.duration + 1e-3 * (slow - p.e2el_ms));
    high =
        p.throughput * p.duration / std::max(1e-3 * fast, p.duration - 1e-3 * (p.e2el_ms - fast));
  }
  out.push_back({"output_throughput", low, high});
  return out;
}

}  // namespace servegrid::study
