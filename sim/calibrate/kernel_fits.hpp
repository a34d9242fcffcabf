// Which rows are fitted together, by which form, with which bounds; and what came out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrate/kernel_data.hpp"

namespace servegrid::calibrate {

/// Data-sheet values that efficiencies are relative to.
struct GpuBase {
  std::string name;                    // catalogue key, name of the fit file
  double bandwidth = 0;                // [B/s]
  std::map<std::string, double> peak;  // [FLOP/s] by arithmetic: bf16, fp8, int8, fp4
  double processors = 0;               // SMs or CUs
};

/// A fitted number with the unit in which fit files give it.
struct FittedNumber {
  std::string name;    // "t0", "ec", ...
  double value = 0;    // SI, rounded as written
  std::string text;    // "3.6 us", "0.84", "228 GB/s"
  bool fitted = true;  // false: fixed
};

struct ErrorStatistics {
  double median = 0, mean = 0, p90 = 0;  // of |predicted/measured - 1|
};

struct KernelFit {
  std::string engine, version;
  Operator op = Operator::gemm;
  std::string dtype;                     // empty for all-reduce
  std::string kernel_source;             // as the data name it; "all" when they name only one
  int gpus = 0;                          // all-reduce only
  std::size_t rows = 0, rows_total = 0;  // used, and measured
  std::vector<FittedNumber> numbers;
  ErrorStatistics error;
};

/// How many numbers of a fit were fitted.
std::size_t fitted_numbers(const KernelFit& fit);

/// Bytes per element of weights (activations 0) or KV entries by the names of fit files.
double weight_bytes(const std::string& dtype);
double activation_bytes(const std::string& dtype);
/// The arithmetic of a dtype on the GPU: a key of GpuBase::peak, bf16 where it has no such units.
std::string arithmetic(const GpuBase& gpu, const std::string& dtype);

/// True when the row is in the range that serving uses and the forms are for (docs/calibration.md).
bool in_range(Operator op, const KernelRow& row);

/// True when the fit was made from rows like this one.
bool belongs(const KernelFit& fit, const KernelRow& row);

/// Fits every (dtype, kernel source) of a file, the most frequent source of a dtype first. Groups
/// with fewer than `min_rows` usable rows are left out.
std::vector<KernelFit> fit_file(const GpuBase& gpu, const KernelFile& file);

/// Seconds that a fit predicts for a row.
double predict(const GpuBase& gpu, const KernelFit& fit, const KernelRow& row);

inline constexpr std::size_t min_rows = 20;
inline constexpr std::size_t min_all_reduce_rows = 8;

ErrorStatistics statistics(std::vector<double> absolute_errors);

}  // namespace servegrid::calibrate
