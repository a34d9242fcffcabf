#include "calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <tuple>

#include "calibrate/files.hpp"
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
    const fs::path path = fs::path(options.output) / (gpu.name + ".yaml");
    write_text(path.string(),
               fit_file_text(gpu, fits, date, serving_section(read_text(path.string()))));
    if (!markdown) out << "wrote " << path.string() << "\n";
  }
  out << fmt::format("{}{} fitted numbers in {} fits, at most {} in one\n", markdown ? "\n" : "",
                     numbers, groups, most);
  if (!options.plot.empty() && !plot.flush()) throw RunError("cannot write '" + options.plot + "'");
  return static_cast<int>(Exit::done);
}

}  // namespace servegrid::calibrate
