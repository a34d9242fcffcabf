// What a calibration prints.
#include <fmt/format.h>

#include <array>
#include <ostream>

#include "calibrate/calibrate.hpp"

namespace servegrid::calibrate {
namespace {

struct Column {
  const char* title;
  Operator op;
  const char* dtype;
};

constexpr std::array<Column, 13> columns = {{{"GEMM bf16", Operator::gemm, "bf16"},
                                             {"fp8", Operator::gemm, "fp8"},
                                             {"fp8-block", Operator::gemm, "fp8-block"},
                                             {"nvfp4", Operator::gemm, "nvfp4"},
                                             {"MoE bf16", Operator::moe, "bf16"},
                                             {"fp8-block", Operator::moe, "fp8-block"},
                                             {"nvfp4", Operator::moe, "nvfp4"},
                                             {"mxfp4", Operator::moe, "w4a8-mxfp4-mxfp8"},
                                             {"prefill bf16", Operator::prefill_attention, "bf16"},
                                             {"prefill fp8", Operator::prefill_attention, "fp8"},
                                             {"decode bf16", Operator::decode_attention, "bf16"},
                                             {"decode fp8", Operator::decode_attention, "fp8"},
                                             {"MLA decode bf16", Operator::mla_decode, "bf16"}}};
constexpr std::array<int, 3> group_sizes = {2, 4, 8};

// The first of a type is the most frequent kernel: what the step model uses.
std::string median(const std::vector<KernelFit>& fits, const std::string& engine, Operator op,
                   const std::string& dtype, int gpus) {
  for (const KernelFit& f : fits) {
    if (f.engine == engine && f.op == op && f.dtype == dtype && f.gpus == gpus) {
      return fmt::format("{:.1f}", 100 * f.error.median);
    }
  }
  return "-";
}

}  // namespace

void print_table(std::ostream& out, const GpuBase& gpu, const std::vector<KernelFit>& fits) {
  out << fmt::format("{:<14} {:<7} {:<17} {:<13} {:>6} {:>6} {:>7} {:>7} {:>7}  {}\n", "gpu",
                     "engine", "operator", "type", "rows", "of", "median", "mean", "p90",
                     "fitted numbers; kernel");
  for (const KernelFit& f : fits) {
    std::string numbers;
    for (const FittedNumber& n : f.numbers) {
      numbers += fmt::format("{}{} {}", numbers.empty() ? "" : ", ", n.name, n.text);
    }
    const std::string type =
        f.op == Operator::all_reduce ? std::to_string(f.gpus) + " GPUs" : f.dtype;
    out << fmt::format(
        "{:<14} {:<7} {:<17} {:<13} {:>6} {:>6} {:>6.1f}% {:>6.1f}% {:>6.1f}%  {}; {}\n", gpu.name,
        f.engine, name(f.op), type, f.rows, f.rows_total, 100 * f.error.median, 100 * f.error.mean,
        100 * f.error.p90, numbers, f.kernel_source);
  }
}

void print_markdown(std::ostream& out, const GpuBase& gpu, const std::vector<KernelFit>& fits,
                    bool header) {
  if (header) {
    out << "| GPU | engine |";
    for (const Column& c : columns) out << " " << c.title << " |";
    for (const int n : group_sizes) out << " all-reduce " << n << " |";
    out << "\n|---|---|";
    for (std::size_t i = 0; i < columns.size() + group_sizes.size(); ++i) out << "---|";
    out << "\n";
  }
  std::string engine;
  for (const KernelFit& f : fits) {  // ordered by engine
    if (f.engine == engine) continue;
    engine = f.engine;
    out << "| " << gpu.name << " | " << engine << " |";
    for (const Column& c : columns) out << " " << median(fits, engine, c.op, c.dtype, 0) << " |";
    for (const int n : group_sizes) {
      out << " " << median(fits, engine, Operator::all_reduce, "", n) << " |";
    }
    out << "\n";
  }
}

}  // namespace servegrid::calibrate
