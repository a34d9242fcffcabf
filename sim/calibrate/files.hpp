// Files and profiles, as both stages of calibration use them.
#pragma once

#include <string>

#include "calibrate/kernel_fits.hpp"
#include "catalog/gpu.hpp"

namespace servegrid::calibrate {

/// Throws InputError when the profile lacks bandwidth, processors or the bf16 peak.
GpuBase base_of(const catalog::Gpu& gpu);

/// Today in UTC, "2026-12-01".
std::string today();

/// The whole file; empty when there is none.
std::string read_text(const std::string& path);

/// Writes beside the target first, so that an interrupted run leaves the old file whole. Creates
/// the folder. Throws RunError.
void write_text(const std::string& path, const std::string& text);

}  // namespace servegrid::calibrate
