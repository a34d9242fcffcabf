#include "calibrate/files.hpp"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "units/error.hpp"

namespace servegrid::calibrate {

namespace fs = std::filesystem;

GpuBase base_of(const catalog::Gpu& gpu) {
  GpuBase base;
  base.name = gpu.fits.empty() ? gpu.name : gpu.fits;
  base.bandwidth = gpu.memory.bandwidth;
  base.peak = gpu.peak;
  base.processors = gpu.compute_units;
  if (base.bandwidth <= 0 || base.processors <= 0 || base.peak["bf16"] <= 0) {
    throw InputError(
        "the profile of '" + gpu.name +
        "' lacks memory.bandwidth, compute_units or peak.bf16: calibration needs them");
  }
  return base;
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return {};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_text(const std::string& path, const std::string& text) {
  std::error_code failed;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, failed);
  const std::string draft = path + ".new";
  std::ofstream out(draft, std::ios::binary);
  out << text;
  out.close();
  if (out) fs::rename(draft, path, failed);
  if (!out || failed) throw RunError("cannot write '" + path + "'");
}

}  // namespace servegrid::calibrate
