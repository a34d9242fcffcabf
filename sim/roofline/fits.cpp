#include "roofline/fits.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "catalog/reader.hpp"

namespace servegrid::roofline {

namespace {

using catalog::Value;
using units::Dimension;

// GEMM floors above this contain activation quantisation that the benchmark ran eagerly and that a
// CUDA graph does not pay; they count as gemm_floor, the middle of those measured without
// (docs/step-model.md).
constexpr double gemm_floor_limit = 9e-6, gemm_floor = 4.5e-6;
// 16-bit kernels for MXFP4 experts (OpenAI's Triton ones, Marlin) ran their routing eagerly in
// vLLM's benchmark: floors of 39 to 69 us, where SGLang's Marlin has 20.
constexpr double mxfp4_floor_limit = 25e-6;
// Fits on small tensors that sit in the last-level cache exceed the memory's bandwidth.
constexpr double largest_bandwidth_fraction = 0.95;

double fraction(const Value& v) {
  return v.number(0.001, 10);
}

double seconds(const Value& v) {
  return v.quantity(Dimension::seconds, 0, 1);
}

double rate(const Value& v) {
  return v.quantity(Dimension::bytes_per_second, 1, 1e18);
}

void read_all_reduce(const Value& v, KernelFit& f) {
  f.gpus = static_cast<int>(v.at("gpus").integer(2, 4096));
  f.a = seconds(v.at("a"));
  f.b1 = rate(v.at("b1"));
  f.a2 = seconds(v.at("a2"));
  f.b2 = rate(v.at("b2"));
}

void read_numbers(const Value& v, KernelFit& f) {
  if (f.op == "all_reduce") return read_all_reduce(v, f);
  f.t0 = seconds(v.at("t0"));
  f.eb = std::min(fraction(v.at("eb")), largest_bandwidth_fraction);
  if (f.op == "gemm") {
    f.ec = fraction(v.at("ec"));
    f.p = v.at("p").number(1, 64);
    f.w = v.at("w").number(0, 1);
    if (const auto pad = v.find("pad"); pad.present()) f.pad = pad.number(0, 1e4);
    if (const auto tk = v.find("tk"); tk.present()) f.tk = seconds(tk);
    if (f.t0 > gemm_floor_limit) f.t0 = gemm_floor;
  } else if (f.op == "prefill_attention") {
    f.ec = fraction(v.at("ec"));
    f.q0 = v.at("q0").number(0, 1e6);
  } else if (f.op == "decode_attention") {
    f.t_seq = seconds(v.at("t_seq"));
  } else if (f.op == "mla_decode") {
    f.ec = fraction(v.at("ec"));
    f.c_seq = seconds(v.at("c_seq"));
  } else if (f.op == "mla_prefill") {
    f.ec = fraction(v.at("ec"));
  } else if (f.op == "moe") {
    f.ec = fraction(v.at("ec"));
    f.pad = v.at("pad").number(0, 1e5);
    f.ea = fraction(v.at("ea"));
    if (f.dtype == "w4a16-mxfp4") f.t0 = std::min(f.t0, mxfp4_floor_limit);
  } else {
    throw v.at("op").error("unknown operator '" + f.op +
                           "'; known: gemm, prefill_attention, decode_attention, mla_decode, "
                           "mla_prefill, moe, all_reduce");
  }
}

KernelFit read_kernel(const Value& v) {
  KernelFit f;
  f.engine = v.at("engine").text();
  f.op = v.at("op").text();
  if (const auto x = v.find("version"); x.present()) f.version = x.text();
  if (const auto x = v.find("dtype"); x.present()) f.dtype = canonical_dtype(x.text());
  if (const auto x = v.find("kernel_source"); x.present()) f.kernel_source = x.text();
  if (const auto x = v.find("rows"); x.present()) {
    f.rows = static_cast<int>(x.integer(0, 100000000));
  }
  if (const auto x = v.find("median_error"); x.present()) {
    f.median_error = x.quantity(Dimension::ratio);
  }
  for (const char* key : {"mean_error", "p90_error", "data"}) (void)v.find(key);  // for people
  read_numbers(v, f);
  v.no_unknown_keys();
  return f;
}

ServingFitRow read_serving(const Value& v) {
  ServingFitRow r;
  r.engine = v.at("engine").text();
  if (const auto x = v.find("gpu"); x.present()) r.gpu = x.text();
  if (const auto x = v.find("rows"); x.present()) {
    r.rows = static_cast<int>(x.integer(0, 100000000));
  }
  auto& c = r.costs;
  c.alpha = v.at("alpha").number(0, 100);
  c.group_per_layer = seconds(v.at("a_n"));
  c.per_step = seconds(v.at("h0"));
  c.per_sequence = seconds(v.at("hs"));
  c.prefill_per_layer = seconds(v.at("tlp"));
  c.prefill_factor = v.at("pf").number(0.01, 100);
  c.first_token = seconds(v.at("ttft0"));
  c.routing_skew = v.at("s").number(0.001, 10);
  c.first_token_steps = v.at("r").number(0, 1e4);
  c.origin = "fitted";
  if (const auto x = v.find("origin"); x.present()) c.origin = x.text();
  if (const auto x = v.find("tpot_band"); x.present()) c.tpot_band = x.number(0, 100);
  if (const auto x = v.find("ttft_band"); x.present()) c.ttft_band = x.number(0, 100);
  if (const auto x = v.find("ttft_queued_band"); x.present())
    c.ttft_queued_band = x.number(0, 1000);
  for (const char* key :
       {"version", "data", "date", "models", "median_error", "mean_error", "p90_error", "note"})
    (void)v.find(key);  // for people
  v.no_unknown_keys();
  return r;
}

std::string percent(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * x);
  return text;
}

}  // namespace

std::string canonical_dtype(std::string text) {
  for (char& c : text) {
    if (c == '_') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (text == "bfloat16" || text == "float16" || text == "fp16") return "bf16";
  return text;
}

FitFile read_fit_file(const std::string& path) {
  const Value root = Value::from_file(path);
  FitFile f;
  f.path = path;
  f.gpu = root.at("gpu").text();
  f.date = root.at("date").text();
  f.model_version = static_cast<int>(root.at("model_version").integer(1, 1000000));
  if (const Value base = root.find("base"); base.present()) {
    if (const auto x = base.find("bandwidth"); x.present()) f.bandwidth = rate(x);
    if (const auto x = base.find("bf16"); x.present()) f.bf16 = x.quantity(Dimension::flops);
    if (const auto x = base.find("fp8"); x.present()) f.fp8 = x.quantity(Dimension::flops);
    if (const auto x = base.find("fp4"); x.present()) f.fp4 = x.quantity(Dimension::flops);
    base.no_unknown_keys();
  }
  if (const Value kernels = root.find("kernels"); kernels.present()) {
    for (const Value& v : kernels.items()) f.kernels.push_back(read_kernel(v));
  }
  if (const Value serving = root.find("serving"); serving.present()) {
    for (const Value& v : serving.items()) f.serving.push_back(read_serving(v));
  }
  for (const char* key : {"source", "note", "data"}) (void)root.find(key);
  root.no_unknown_keys();
  return f;
}

namespace {

// The file as it was read last, unless it has changed since: the points of a sweep or a plan share
// one reading.
FitFile known_fit_file(const std::string& path) {
  struct Known {
    std::filesystem::file_time_type written;
    std::uintmax_t bytes = 0;
    FitFile file;
  };
  static std::mutex mutex;
  static std::map<std::string, Known> known;
  std::error_code none;  // what cannot be looked at is read, and says why
  const auto written = std::filesystem::last_write_time(path, none);
  const auto bytes = std::filesystem::file_size(path, none);
  const std::lock_guard lock(mutex);
  const auto found = known.find(path);
  if (!none && found != known.end() && found->second.written == written &&
      found->second.bytes == bytes) {
    return found->second.file;
  }
  FitFile file = read_fit_file(path);
  if (!none) known.insert_or_assign(path, Known{written, bytes, file});
  return file;
}

}  // namespace

Fits::Fits(const catalog::Gpu& gpu, std::string engine, const std::string& path)
    : gpu_(&gpu), engine_(std::move(engine)) {
  if (path.empty()) return;
  file_ = known_fit_file(path);
  present_ = true;
  inherited_ = file_.gpu != gpu.name && file_.gpu != gpu.fits;
}

bool Fits::overridden(const std::string& path) const {
  return std::find(gpu_->overridden.begin(), gpu_->overridden.end(), path) !=
         gpu_->overridden.end();
}

double Fits::bandwidth() const {
  const bool own = present_ && !inherited_ && !overridden("memory.bandwidth");
  return own && file_.bandwidth > 0 ? file_.bandwidth : gpu_->memory.bandwidth;
}

double Fits::peak(catalog::Format compute) const {
  const double profile = gpu_->native_peak(compute);
  if (!present_ || inherited_ || profile <= 0) return profile;
  const auto basis = [&](const char* key, double base) {
    return base > 0 && !overridden(std::string("peak.") + key) ? base : profile;
  };
  switch (compute) {
    case catalog::Format::bf16:
    case catalog::Format::fp16:
      return basis("bf16", file_.bf16);
    case catalog::Format::fp8:
    case catalog::Format::fp8_block:
    case catalog::Format::mxfp8:
      return basis("fp8", file_.fp8);
    case catalog::Format::nvfp4:
    case catalog::Format::mxfp4:
      return basis("fp4", file_.fp4);
    default:
      return profile;
  }
}

const KernelFit* Fits::best(const std::string& engine, const std::string& op,
                            const std::string& dtype, const KernelWanted& wanted) const {
  const auto& [gpus, gated, backend] = wanted;
  const KernelFit* found = nullptr;
  for (const auto& f : file_.kernels) {
    const bool same = f.engine == engine && f.op == op && f.gpus == gpus &&
                      (dtype.empty() || f.dtype.empty() || f.dtype == dtype);
    if (!backend.empty() && f.kernel_source.find(backend) == std::string::npos) continue;
    const bool for_nongated = f.kernel_source.find("nongated") != std::string::npos;
    if (for_nongated && gated) continue;
    if (for_nongated && same) return &f;
    if (same && (found == nullptr || f.rows > found->rows)) found = &f;
  }
  return found;
}

ChosenFit Fits::chosen(const KernelFit& f, const std::string& gpu, bool inherited) const {
  ChosenFit c{f, inherited ? Trust::inherited : Trust::measured, {}};
  if (inherited) {
    c.fit.ec *= gpu_->inherited_gemm;
    c.fit.eb = std::min(c.fit.eb * gpu_->inherited_bandwidth, largest_bandwidth_fraction);
    c.fit.ea *= gpu_->inherited_bandwidth;
  }
  const bool named = !f.kernel_source.empty() && f.kernel_source != "all";
  c.source = (inherited ? "inherited from " : "fit ") + gpu + "/" + f.engine + " " + f.op +
             (f.dtype.empty() ? "" : " " + f.dtype) + (named ? " " + f.kernel_source : "") + " (" +
             percent(f.median_error) + ", n " + std::to_string(f.rows) + ")";
  return c;
}

std::vector<std::string> Fits::engines_for(const std::string& op, const std::string& dtype) const {
  // Measured tables that do not show what serves (docs/step-model.md, "Borrowed kernels").
  const bool hopper = gpu_->architecture == "Hopper";
  const bool blackwell = gpu_->architecture.rfind("Blackwell", 0) == 0;
  if (engine_ == "vllm" && op == "gemm" && dtype == "fp8") return {"trtllm", "vllm", "sglang"};
  if (engine_ == "vllm" && op == "gemm" && dtype == "fp8-block") {
    return {"sglang", "vllm", "trtllm"};
  }
  if (engine_ == "vllm" && op == "all_reduce" && blackwell) return {"trtllm", "vllm", "sglang"};
  // vLLM's MLA tables are of eagerly run modules of 0.14 with floors of 150 us and more.
  if (engine_ == "vllm" && op.rfind("mla_", 0) == 0) return {"trtllm", "sglang", "vllm"};
  if (engine_ == "sglang" && op == "mla_decode" && dtype == "fp8" && hopper) {
    return {"trtllm", "sglang", "vllm"};
  }
  // TensorRT-LLM serves MXFP4 experts on Hopper with the Triton kernel that vLLM's table has.
  if (engine_ == "trtllm" && op == "moe" && hopper && dtype.find("mxfp4") != std::string::npos) {
    return {"trtllm", "vllm", "sglang"};
  }
  if (engine_ == "vllm" || engine_ == "atom") return {engine_, "vllm", "trtllm", "sglang"};
  if (engine_ == "sglang") return {"sglang", "trtllm", "vllm"};
  return {"trtllm", "sglang", "vllm"};
}

ChosenFit Fits::find(const std::string& op, const std::vector<std::string>& dtypes,
                     const KernelWanted& wanted) const {
  for (const auto& dtype : dtypes) {
    for (const auto& engine : engines_for(op, dtype)) {
      const KernelFit* f = best(engine, op, dtype, wanted);
      if (f != nullptr) return chosen(*f, file_.gpu, inherited_);
    }
  }
  if (!wanted.backend.empty()) {  // not measured: the usual kernel stands in
    ChosenFit c = find(op, dtypes, {wanted.gpus, wanted.gated, {}});
    if (c.trust == Trust::measured) c.trust = Trust::inherited;
    return c;
  }
  return {{}, Trust::data_sheet, "data sheet: achieved fractions of " + gpu_->name};
}

catalog::ServingCosts Fits::costs() const {
  const std::string gpu = inherited_ ? gpu_->name : std::string();
  for (const auto& row : file_.serving) {
    if (row.engine == engine_ && (row.gpu == gpu || (!inherited_ && row.gpu == file_.gpu)))
      return row.costs;
  }
  return {};
}

}  // namespace servegrid::roofline
