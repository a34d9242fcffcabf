#include "calibrate/kernel_fits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibrate/least_squares.hpp"
#include "roofline/kernel_forms.hpp"
#include "units/error.hpp"

namespace servegrid::calibrate {
namespace {

using namespace roofline;

// MLA of the models measured (DeepSeek V3 and its kin): latent 512, rotary 64, no-rope and value
// 128.
constexpr double mla_latent = 512, mla_rope = 64, mla_nope = 128, mla_value = 128;

// Share of whole waves in the tiled compute where it is not fitted: typical of the fits of it.
constexpr double gemm_waves = 0.2;

enum class Scale { fraction, microseconds, nanoseconds, gigabytes, plain };

struct Parameter {
  const char* name;
  Scale scale;
  double low, high, start;  // SI
  bool logarithmic;
};

const std::vector<Parameter>& parameters(Operator op) {
  static const Parameter t0{"t0", Scale::microseconds, 0.2e-6, 200e-6, 8e-6, true};
  static const Parameter ec{"ec", Scale::fraction, 0.02, 1.0, 0.5, true};
  static const Parameter eb{"eb", Scale::fraction, 0.02, 0.95, 0.7, true};
  static const std::map<Operator, std::vector<Parameter>> table = {
      // w or tk is fitted, the other one fixed: fit_group() tries both.
      {Operator::gemm,
       {t0,
        ec,
        eb,
        {"p", Scale::plain, 1, 8, 4, false},
        {"w", Scale::plain, 0, 1, 0.2, false},
        {"tk", Scale::nanoseconds, 1e-14, 1e-8, 3e-10, true}}},
      {Operator::prefill_attention, {t0, ec, {"q0", Scale::plain, 1, 4000, 200, true}, eb}},
      {Operator::decode_attention,
       {t0, {"t_seq", Scale::nanoseconds, 0.1e-9, 1e-6, 15e-9, true}, eb}},
      {Operator::mla_prefill, {t0, ec, eb}},
      {Operator::mla_decode,
       {t0, eb, ec, {"c_seq", Scale::nanoseconds, 0.1e-9, 1e-6, 10e-9, true}}},
      {Operator::moe,
       {t0,
        eb,
        ec,
        {"pad", Scale::plain, 0, 200, 50, false},
        {"ea", Scale::fraction, 0.02, 1.0, 0.3, true}}},
      {Operator::all_reduce,
       {{"a", Scale::microseconds, 0.5e-6, 200e-6, 5e-6, true},
        {"b1", Scale::gigabytes, 0.5e9, 2000e9, 100e9, true},
        {"a2", Scale::microseconds, 0.1e-6, 400e-6, 8e-6, true},
        {"b2", Scale::gigabytes, 0.5e9, 2000e9, 250e9, true}}},
  };
  return table.at(op);
}

// As written in a fit file; the value is read back from the text so that errors are those of the
// written numbers.
FittedNumber rounded(const Parameter& p, double value) {
  const double unit = p.scale == Scale::microseconds  ? 1e-6
                      : p.scale == Scale::nanoseconds ? 1e-9
                      : p.scale == Scale::gigabytes   ? 1e9
                                                      : 1;
  const char* suffix = p.scale == Scale::microseconds  ? " us"
                       : p.scale == Scale::nanoseconds ? " ns"
                       : p.scale == Scale::gigabytes   ? " GB/s"
                                                       : "";
  if (!p.logarithmic && value - p.low < 1e-3 * (p.high - p.low)) value = p.low;  // at its bound
  if (value < 1.1 * p.low && p.scale == Scale::nanoseconds) value = 0;           // none
  const std::string digits = fmt::format("{:.3g}", value / unit);
  return {p.name, std::stod(digits) * unit, fmt::format("{:g}{}", std::stod(digits), suffix), true};
}

KernelBase base_for(const GpuBase& gpu, Operator op, const std::string& dtype) {
  const bool attention = op != Operator::gemm && op != Operator::moe;
  const auto peak = gpu.peak.find(attention ? "bf16" : arithmetic(gpu, dtype));
  if (peak == gpu.peak.end()) throw InputError("GPU '" + gpu.name + "' has no bf16 peak");
  return {gpu.bandwidth, peak->second, gpu.processors};
}

// A row with all that does not depend on the parameters worked out.
struct Prepared {
  const KernelRow* row;
  double weight, activation;  // bytes per element
  double pairs, bytes;        // attention
};

Prepared prepare(Operator op, const KernelRow& row) {
  Prepared p{&row, 0, 0, 0, 0};
  if (op == Operator::all_reduce) return p;
  p.weight = weight_bytes(row.dtype);
  p.activation = activation_bytes(row.dtype);
  p.pairs = attended_pairs(row.q, row.context, row.window);
  const double tokens = row.context + row.q;
  if (op == Operator::prefill_attention) {
    const double cached = row.window > 0 ? std::min(row.context, row.window) : row.context;
    p.bytes =
        prefill_attention_bytes(row.heads, row.kv_heads, 2 * row.head_dim, row.q, cached, p.weight);
  } else if (op == Operator::mla_prefill) {
    p.bytes = 2 * tokens * row.heads * 2 * (mla_nope + mla_rope + mla_value);
  }
  return p;
}

double evaluate(Operator op, const KernelBase& base, const double* x, const Prepared& p) {
  const KernelRow& r = *p.row;
  switch (op) {
    case Operator::gemm: {
      const GemmFit f{x[0], x[1], x[2], x[3], x[4], 0, x[5]};
      return gemm_floor_seconds(f, r.k) +
             gemm_streaming_seconds(f, base, r.m, r.n, r.k, p.weight, p.activation);
    }
    case Operator::prefill_attention: {
      const PrefillAttentionFit f{x[0], x[1], x[2], x[3]};
      return f.t0 + r.batch * prefill_attention_seconds(f, base, r.heads, 2 * r.head_dim, r.q,
                                                        p.pairs, p.bytes);
    }
    case Operator::decode_attention: {
      const DecodeAttentionFit f{x[0], x[1], x[2]};
      const double context = r.window > 0 ? std::min(r.context, r.window) : r.context;
      return f.t0 + f.t_seq * r.batch * r.kv_heads +
             r.batch * context *
                 decode_attention_seconds_per_token(f, base, r.kv_heads, 2 * r.head_dim, p.weight);
    }
    case Operator::mla_prefill: {
      const MlaPrefillFit f{x[0], x[1], x[2]};
      const double flops = 2 * r.heads * (mla_nope + mla_rope + mla_value) * p.pairs;
      return f.t0 + r.batch * mla_prefill_seconds(f, base, flops, p.bytes);
    }
    case Operator::mla_decode: {
      const MlaDecodeFit f{x[0], x[1], x[2], x[3]};
      return f.t0 + f.c_seq * r.batch +
             r.batch * r.context *
                 mla_decode_seconds_per_token(f, base, r.heads, mla_latent, mla_rope, p.weight);
    }
    case Operator::moe: {
      const MoeFit f{x[0], x[1], x[2], x[3], x[4]};
      return f.t0 + moe_seconds(f, base, r.rank_tokens, r.touched, r.hidden, r.inter, p.weight,
                                r.matrices);
    }
    case Operator::all_reduce: {
      return all_reduce_seconds(AllReduceFit{x[0], x[1], x[2], x[3]}, r.bytes);
    }
  }
  return 0;
}

void set_errors(const GpuBase& gpu, const std::vector<const KernelRow*>& rows, KernelFit& fit) {
  std::vector<double> errors;
  errors.reserve(rows.size());
  for (const KernelRow* row : rows) {
    errors.push_back(std::fabs(predict(gpu, fit, *row) / row->seconds - 1));
  }
  fit.error = statistics(std::move(errors));
}

// Robust least squares of a table's parameters; those with a value in `fixed` (by name) keep it.
KernelFit fit_rows(const GpuBase& gpu, const KernelFile& file, const std::string& dtype,
                   const std::vector<const KernelRow*>& rows,
                   const std::map<std::string, double>& fixed) {
  const std::vector<Parameter>& table = parameters(file.op);
  const KernelBase base = base_for(gpu, file.op, dtype);
  std::vector<double> all(table.size());
  std::vector<std::size_t> free;
  std::vector<Bounds> bounds;
  std::vector<double> start;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Parameter& p = table[i];
    if (const auto it = fixed.find(p.name); it != fixed.end()) {
      all[i] = it->second;
      continue;
    }
    free.push_back(i);
    bounds.push_back({p.low, p.high, p.logarithmic});
    start.push_back(p.start);
  }
  std::vector<Prepared> prepared;
  prepared.reserve(rows.size());
  for (const KernelRow* row : rows) prepared.push_back(prepare(file.op, *row));
  const auto residuals = [&](const double* x, double* out) {
    for (std::size_t i = 0; i < free.size(); ++i) all[free[i]] = x[i];
    for (std::size_t i = 0; i < prepared.size(); ++i) {
      out[i] =
          std::log(evaluate(file.op, base, all.data(), prepared[i]) / prepared[i].row->seconds);
    }
  };
  const auto x = least_squares(bounds, start, prepared.size(), residuals);
  for (std::size_t i = 0; i < free.size(); ++i) all[free[i]] = x[i];
  KernelFit fit{file.engine, file.version, file.op, dtype, {}, 0, rows.size(), 0, {}, {}};
  for (std::size_t i = 0; i < table.size(); ++i) {
    fit.numbers.push_back(rounded(table[i], all[i]));
    fit.numbers.back().fitted = fixed.count(table[i].name) == 0;
  }
  set_errors(gpu, rows, fit);
  return fit;
}

KernelFit fit_group(const GpuBase& gpu, const KernelFile& file, const std::string& dtype,
                    const std::vector<const KernelRow*>& rows) {
  if (file.op != Operator::gemm) return fit_rows(gpu, file, dtype, rows, {});
  KernelFit waves = fit_rows(gpu, file, dtype, rows, {{"tk", 0}});
  KernelFit depth = fit_rows(gpu, file, dtype, rows, {{"w", gemm_waves}});
  const auto badness = [](const KernelFit& f) { return f.error.median + f.error.mean; };
  return badness(waves) < badness(depth) ? waves : depth;
}

struct Group {
  std::vector<const KernelRow*> rows;
  std::size_t total = 0;
};

std::vector<KernelFit> fit_all_reduce(const GpuBase& gpu, const KernelFile& file) {
  std::map<int, Group> groups;
  for (const KernelRow& row : file.rows) {
    Group& group = groups[row.gpus];
    ++group.total;
    if (in_range(file.op, row)) group.rows.push_back(&row);
  }
  std::vector<KernelFit> fits;
  for (const auto& [gpus, group] : groups) {
    if (group.rows.size() < min_all_reduce_rows) continue;
    KernelFit fit = fit_group(gpu, file, "", group.rows);
    fit.gpus = gpus;
    fit.kernel_source = group.rows.front()->kernel_source;
    fit.rows_total = group.total;
    fits.push_back(std::move(fit));
  }
  return fits;
}

}  // namespace

std::size_t fitted_numbers(const KernelFit& fit) {
  return static_cast<std::size_t>(std::count_if(fit.numbers.begin(), fit.numbers.end(),
                                                [](const FittedNumber& n) { return n.fitted; }));
}

ErrorStatistics statistics(std::vector<double> e) {
  ErrorStatistics s;
  if (e.empty()) return s;
  s.mean = std::accumulate(e.begin(), e.end(), 0.0) / static_cast<double>(e.size());
  std::sort(e.begin(), e.end());
  const auto at = [&](double q) {  // NumPy's linear rule
    const double place = q * static_cast<double>(e.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const double next = e[std::min(low + 1, e.size() - 1)];
    return e[low] + (place - static_cast<double>(low)) * (next - e[low]);
  };
  s.median = at(0.5);
  s.p90 = at(0.9);
  return s;
}

double predict(const GpuBase& gpu, const KernelFit& fit, const KernelRow& row) {
  std::vector<double> x;
  for (const FittedNumber& n : fit.numbers) x.push_back(n.value);
  return evaluate(fit.op, base_for(gpu, fit.op, fit.dtype), x.data(), prepare(fit.op, row));
}

bool belongs(const KernelFit& fit, const KernelRow& row) {
  return in_range(fit.op, row) && fit.gpus == row.gpus &&
         (fit.dtype.empty() || fit.dtype == row.dtype) &&
         (fit.kernel_source == "all" || fit.kernel_source == row.kernel_source);
}

std::vector<KernelFit> fit_file(const GpuBase& gpu, const KernelFile& file) {
  if (file.op == Operator::all_reduce) return fit_all_reduce(gpu, file);
  std::map<std::string, std::map<std::string, Group>> groups;  // dtype -> kernel source
  for (const KernelRow& row : file.rows) {
    Group& group = groups[row.dtype][row.kernel_source];
    ++group.total;
    if (in_range(file.op, row)) group.rows.push_back(&row);
  }
  std::vector<KernelFit> fits;
  for (const auto& [dtype, sources] : groups) {
    std::vector<KernelFit> of_dtype;
    for (const auto& [source, group] : sources) {
      if (group.rows.size() < min_rows) continue;
      KernelFit fit = fit_group(gpu, file, dtype, group.rows);
      fit.kernel_source = sources.size() == 1 ? "all" : source;
      fit.rows_total = group.total;
      of_dtype.push_back(std::move(fit));
    }
    // The kernel that the release picks most often comes first: the one that the step model uses.
    std::stable_sort(of_dtype.begin(), of_dtype.end(),
                     [](const KernelFit& a, const KernelFit& b) { return a.rows > b.rows; });
    std::move(of_dtype.begin(), of_dtype.end(), std::back_inserter(fits));
  }
  return fits;
}

}  // namespace servegrid::calibrate
