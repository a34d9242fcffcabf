#include "calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <tuple>

#include "catalog/catalog.hpp"
#include "units/error.hpp"

namespace servegrid::calibrate {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& folder, bool folders) {
  std::error_code failed;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.is_directory(failed) == folders) names.push_back(entry.path().filename().string());
  }
  if (failed) throw InputError("cannot read the folder '" + folder + "': " + failed.message());
  std::sort(names.begin(), names.end());  // the order of a folder differs between machines
  return names;
}

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

void plot_rows(std::ostream& plot, const GpuBase& gpu, const KernelFile& file,
               const std::vector<KernelFit>& fits) {
  for (const KernelFit& f : fits) {
    if (f.engine != file.engine || f.version != file.version || f.op != file.op) continue;
    for (const KernelRow& r : file.rows) {
      if (!belongs(f, r)) continue;
      plot << fmt::format("{},{},{},{},{},{},{},{:.6g},{:.6g}\n", gpu.name, f.engine, f.version,
                          name(f.op), f.dtype, f.kernel_source, f.gpus, r.seconds * 1e6,
                          predict(gpu, f, r) * 1e6);
    }
  }
}

std::string existing_serving_section(const fs::path& path) {
  std::ifstream in(path);
  if (!in) return {};
  std::ostringstream text;
  text << in.rdbuf();
  return serving_section(text.str());
}

// Beside the target first, so that an interrupted run leaves the old file whole.
void write_file(const fs::path& path, const std::string& text) {
  const fs::path draft = path.string() + ".new";
  std::ofstream out(draft, std::ios::binary);
  out << text;
  out.close();
  std::error_code failed;
  if (out) fs::rename(draft, path, failed);
  if (!out || failed) throw RunError("cannot write '" + path.string() + "'");
}

std::vector<std::string> chosen_folders(const CalibrateOptions& options,
                                        const catalog::Catalog& catalog) {
  const std::vector<std::string> all = names_in(options.kernels, true);
  if (all.empty()) {
    throw InputError("'" + options.kernels + "' has no folder: expected one a GPU with CSV files");
  }
  if (options.gpus.empty()) return all;
  std::vector<std::string> chosen;
  for (const std::string& wanted : options.gpus) {
    const std::string name = catalog.gpu(wanted).name;
    const std::size_t before = chosen.size();
    for (const std::string& folder : all) {
      if (folder == wanted || catalog.gpu(folder).name == name) chosen.push_back(folder);
    }
    if (chosen.size() == before) {
      throw InputError("'" + options.kernels + "' has no measurements of '" + wanted + "'");
    }
  }
  return chosen;
}

}  // namespace

std::vector<KernelFile> read_kernel_folder(const std::string& folder,
                                           std::vector<std::string>* skipped) {
  std::vector<KernelFile> files;
  for (const std::string& file : names_in(folder, false)) {
    const auto parsed = parse_file_name(file);
    if (!parsed) {
      if (skipped != nullptr) skipped->push_back(file);
      continue;
    }
    const std::string path = (fs::path(folder) / file).string();
    std::ifstream in(path, std::ios::binary);
    if (!in) throw InputError("cannot read '" + path + "'");
    files.push_back(
        {parsed->engine, parsed->version, parsed->op, read_kernel_rows(in, path, parsed->op)});
  }
  return files;
}

std::vector<KernelFit> fit_gpu(const GpuBase& gpu, const std::vector<KernelFile>& files) {
  std::vector<KernelFit> fits;
  for (const KernelFile& file : files) {
    std::vector<KernelFit> of_file = fit_file(gpu, file);
    std::move(of_file.begin(), of_file.end(), std::back_inserter(fits));
  }
  std::stable_sort(fits.begin(), fits.end(), [](const KernelFit& a, const KernelFit& b) {
    return std::tie(a.engine, a.op) < std::tie(b.engine, b.op);
  });
  return fits;
}

int run_calibrate(const CalibrateOptions& options, std::ostream& out) {
  const catalog::Catalog catalog;
  const std::string date = options.date.empty() ? today() : options.date;
  std::ofstream plot;
  if (!options.plot.empty()) {
    plot.open(options.plot, std::ios::binary);
    if (!plot) throw InputError("cannot write '" + options.plot + "'");
    plot << "gpu,engine,version,op,dtype,kernel_source,gpus,measured_us,predicted_us\n";
  }
  const bool markdown = options.format == "markdown";
  if (!markdown && options.format != "table") {
    throw InputError("--format '" + options.format + "': expected table or markdown");
  }
  std::size_t numbers = 0, groups = 0, most = 0;
  for (const std::string& folder : chosen_folders(options, catalog)) {
    const GpuBase gpu = base_of(catalog.gpu(folder));
    std::vector<std::string> skipped;
    const auto files = read_kernel_folder((fs::path(options.kernels) / folder).string(), &skipped);
    const auto fits = fit_gpu(gpu, files);
    if (markdown) {
      print_markdown(out, gpu, fits, groups == 0);
    } else {
      print_table(out, gpu, fits);
      for (const std::string& file : skipped) out << gpu.name << ": not fitted: " << file << "\n";
    }
    for (const KernelFit& f : fits) {
      numbers += fitted_numbers(f);
      most = std::max(most, fitted_numbers(f));
    }
    groups += fits.size();
    for (const KernelFile& file : files) plot_rows(plot, gpu, file, fits);
    if (options.output.empty()) continue;
    std::error_code failed;
    fs::create_directories(options.output, failed);
    const fs::path path = fs::path(options.output) / (gpu.name + ".yaml");
    write_file(path, fit_file_text(gpu, fits, date, existing_serving_section(path)));
    if (!markdown) out << "wrote " << path.string() << "\n";
  }
  out << fmt::format("{}{} fitted numbers in {} fits, at most {} in one\n", markdown ? "\n" : "",
                     numbers, groups, most);
  if (!options.plot.empty() && !plot.flush()) throw RunError("cannot write '" + options.plot + "'");
  return static_cast<int>(Exit::done);
}

}  // namespace servegrid::calibrate
