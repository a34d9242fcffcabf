// Types and ranges of the measurements.
#include <array>

#include "calibrate/kernel_fits.hpp"
#include "units/error.hpp"

namespace servegrid::calibrate {
namespace {

struct Type {
  const char* name;
  double weight;           // bytes per element with scales
  double activation;       // bytes per element as the kernel reads them
  const char* arithmetic;  // with hardware units; bf16 without
};

constexpr std::array<Type, 12> types = {{
    {"bf16", 2, 2, "bf16"},
    {"fp8", 1, 1, "fp8"},
    {"fp8-block", 1 + 4.0 / 16384, 1 + 4.0 / 128, "fp8"},
    {"mxfp8", 1 + 1.0 / 32, 1 + 1.0 / 32, "fp8"},
    {"int8", 1, 1, "int8"},
    {"int8-wo", 1, 2, "bf16"},
    {"nvfp4", 0.5625, 0.5625, "fp4"},
    {"w4a16-nvfp4", 0.5625, 2, "bf16"},
    {"w4a16-mxfp4", 0.53125, 2, "bf16"},
    {"w4a8-mxfp4-mxfp8", 0.53125, 1.03125, "fp8"},
    {"int4-wo", 0.5625, 2, "bf16"},
    {"w4afp8", 0.5156, 1, "fp8"},
}};

const Type& type(const std::string& dtype) {
  for (const Type& t : types) {
    if (dtype == t.name) return t;
  }
  throw InputError("unknown type '" + dtype + "' of a kernel measurement");
}

}  // namespace

double weight_bytes(const std::string& dtype) {
  return type(dtype).weight;
}
double activation_bytes(const std::string& dtype) {
  return type(dtype).activation;
}

std::string arithmetic(const GpuBase& gpu, const std::string& dtype) {
  const std::string wanted = type(dtype).arithmetic;
  const auto it = gpu.peak.find(wanted);
  return it != gpu.peak.end() && it->second > 0 ? wanted : "bf16";
}

bool in_range(Operator op, const KernelRow& r) {
  switch (op) {
    case Operator::gemm:
      return r.n >= 1024 && r.k >= 1024 && r.m <= 16384;
    case Operator::prefill_attention:
      return r.window == 0 && r.q >= 16 && r.head_dim >= 64 && r.head_dim <= 256 &&
             r.heads >= r.kv_heads;
    case Operator::decode_attention:
      return r.window == 0 && r.head_dim == 128 && r.heads >= 4 * r.kv_heads &&
             r.heads <= 16 * r.kv_heads;
    case Operator::moe:
      return r.moe_tp * r.moe_ep <= 16 && r.experts / r.moe_ep >= 8;
    case Operator::all_reduce:
      // Outside a CUDA graph the launch dominates: not what a decode step pays.
      return r.kernel_source.find("eager") == std::string::npos;
    case Operator::mla_prefill:
    case Operator::mla_decode:
      return true;
  }
  return false;
}

}  // namespace servegrid::calibrate
