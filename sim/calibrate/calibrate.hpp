// `servegrid calibrate`: measured kernels -> fit files.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "calibrate/kernel_fits.hpp"

namespace servegrid::calibrate {

struct CalibrateOptions {
  std::string kernels;            // --kernels: folder with one folder of CSV files a GPU
  std::vector<std::string> gpus;  // --gpu: folder names or catalogue names; empty = all
  std::string output;             // --output: folder of the fit files; empty = only the table
  std::string format = "table";   // --format: "table" (every fit) or "markdown" (medians for docs)
  std::string plot;               // --plot: CSV of predicted against measured, empty = none
  std::string date;               // written into the files; empty = today
};

/// Reads, fits, prints the residual table to `out` and writes `output`/NAME.yaml for each GPU,
/// keeping the `serving` section of a file that is there. Returns the exit code. Throws InputError
/// for a folder or file that cannot be read, a GPU that the catalogue does not know, or bad rows.
int run_calibrate(const CalibrateOptions& options, std::ostream& out);

/// The measurements of one GPU: every fitted operator's files in `folder`, by name; the names of
/// the files that hold other operators go to `skipped`.
std::vector<KernelFile> read_kernel_folder(const std::string& folder,
                                           std::vector<std::string>* skipped = nullptr);

/// All fits of a GPU, ordered by engine, operator and dtype.
std::vector<KernelFit> fit_gpu(const GpuBase& gpu, const std::vector<KernelFile>& files);

/// One line a fit, with its numbers.
void print_table(std::ostream& out, const GpuBase& gpu, const std::vector<KernelFit>& fits);

/// Median errors as rows of a Markdown table, one an engine, of the fit that the step model uses
/// for each operator and type; `header` prints the head first.
void print_markdown(std::ostream& out, const GpuBase& gpu, const std::vector<KernelFit>& fits,
                    bool header);

/// The fit file as text; `serving` is the serving section to keep, as it was.
std::string fit_file_text(const GpuBase& gpu, const std::vector<KernelFit>& fits,
                          const std::string& date, const std::string& serving);

/// The `serving:` section of a fit file's text, with its line end; empty when it has none.
std::string serving_section(const std::string& text);

}  // namespace servegrid::calibrate
