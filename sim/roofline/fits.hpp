// Fitted kernel times and serving costs of one GPU, read from hw_profiles/fits/*.yaml, and who
// stands in where a kernel was not measured: same engine, another engine on the same GPU, a
// relative's file, and last the fractions of the data sheet in the profile.
#pragma once

#include <string>
#include <vector>

#include "catalog/engine.hpp"
#include "catalog/gpu.hpp"
#include "roofline/kernel_forms.hpp"

namespace servegrid::roofline {

/// One line of `kernels`: all numbers an operator can have; each operator uses its own.
struct KernelFit {
  std::string engine, version, op, dtype, kernel_source;
  int rows = 0;
  double median_error = 0;
  double t0 = 0;                         // [s]
  double ec = 1, eb = 1, ea = 1;         // of peak, of bandwidth
  double p = 3, w = 0, q0 = 0, pad = 0;  // [1], [1], [tokens], [rows or tokens]
  double t_seq = 0, c_seq = 0, tk = 0;   // [s]
  int gpus = 0;                          // all_reduce
  double a = 0, b1 = 1, a2 = 0, b2 = 1;  // [s], [B/s]
};

struct ServingFitRow {
  std::string engine;
  std::string gpu;  // another GPU, that uses this file's kernels; empty = the file's own
  int rows = 0;
  catalog::ServingCosts costs;
};

struct FitFile {
  std::string path, gpu, date;
  int model_version = 0;
  // What the fractions are relative to; 0 = not written.
  double bandwidth = 0, bf16 = 0, fp8 = 0, fp4 = 0;
  std::vector<KernelFit> kernels;
  std::vector<ServingFitRow> serving;
};

/// Throws InputError with the place.
FitFile read_fit_file(const std::string& path);

/// How far a number can be trusted, worst last.
enum class Trust { measured, inherited, data_sheet };

/// A fit and where it is from. `fit` is meaningless when trust is data_sheet.
struct ChosenFit {
  KernelFit fit;
  Trust trust = Trust::data_sheet;
  std::string source;
};

/// Which of several kernels.
struct KernelWanted {
  int gpus = 0;         // all_reduce
  bool gated = true;    // experts with a gate
  std::string backend;  // part of the kernel's name; empty = any
};

/// The fits a (GPU, engine) uses.
class Fits {
 public:
  /// `path` empty: no file. The file is a relative's when its gpu is neither the GPU's name nor its
  /// `fits`.
  Fits(const catalog::Gpu& gpu, std::string engine, const std::string& path);

  /// First of `dtypes` (in order of preference) that this engine, else another one, has measured;
  /// of several kernels the one with most rows (an MoE kernel named "nongated" only for experts
  /// without a gate). A backend that was not measured: the usual kernel, labelled inherited.
  [[nodiscard]] ChosenFit find(const std::string& op, const std::vector<std::string>& dtypes,
                               const KernelWanted& wanted = {}) const;
  [[nodiscard]] catalog::ServingCosts costs() const;
  [[nodiscard]] bool inherited() const { return inherited_; }
  /// Bandwidth [B/s] and peak [FLOP/s] that the fractions apply to: of the fit file, scaled when
  /// the profile was overridden (--set) or belongs to a relative.
  [[nodiscard]] double bandwidth() const;
  [[nodiscard]] double peak(catalog::Format compute) const;

 private:
  [[nodiscard]] ChosenFit chosen(const KernelFit& fit, const std::string& gpu,
                                 bool inherited) const;
  [[nodiscard]] const KernelFit* best(const std::string& engine, const std::string& op,
                                      const std::string& dtype, const KernelWanted& wanted) const;
  [[nodiscard]] bool overridden(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> engines_for(const std::string& op,
                                                     const std::string& dtype) const;
  const catalog::Gpu* gpu_;
  std::string engine_;
  FitFile file_;
  bool present_ = false, inherited_ = false;
};

/// "bfloat16", "fp8_block" -> "bf16", "fp8-block": spelling of dtypes in fit files.
std::string canonical_dtype(std::string text);

}  // namespace servegrid::roofline
