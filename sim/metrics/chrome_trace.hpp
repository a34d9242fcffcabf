// A run as a Chrome trace (JSON), which ui.perfetto.dev opens: a process a replica with its steps
// and counters, and every request as queue, prefill and decode.
#pragma once

#include <functional>
#include <string_view>

#include "metrics/result.hpp"

namespace servegrid::metrics {

/// Hands the text over in pieces. Times are microseconds with three decimals.
void write_chrome_trace(const RunResult& result, int replicas,
                        const std::function<void(std::string_view)>& put);

}  // namespace servegrid::metrics
