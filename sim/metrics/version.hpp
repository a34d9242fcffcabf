// Versions stamped into every result.
#pragma once

namespace servegrid::metrics {

inline constexpr int format_version = 1;  // of result files
inline constexpr int model_version = 1;   // rises when an answer moves; see CHANGELOG

}  // namespace servegrid::metrics
