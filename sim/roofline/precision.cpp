#include "roofline/precision.hpp"

#include "units/error.hpp"

namespace servegrid::roofline {

using catalog::Format;

namespace {

double activation_bytes(Format compute) {
  switch (compute) {
    case Format::fp8:
    case Format::fp8_block:
    case Format::mxfp8:
    case Format::int8:
    case Format::nvfp4:
    case Format::mxfp4:
    case Format::mxfp6:
      return catalog::bytes_per_element(compute);
    default:
      return 2;
  }
}

bool sixteen_bit(Format f) {
  return f == Format::bf16 || f == Format::fp16;
}

std::vector<std::string> gemm_dtypes(Format f, bool native) {
  if (sixteen_bit(f) || f == Format::fp32) return {"bf16"};
  const std::string own = canonical_dtype(std::string(catalog::name(f)));
  if (!native) return {"w4a16-" + own, own == "nvfp4" ? "w4a16" : "int4-wo", "bf16"};
  switch (f) {
    case Format::fp8:
      return {"fp8"};
    case Format::fp8_block:
      return {"fp8-block", "fp8"};
    case Format::mxfp8:
      return {"mxfp8", "fp8-block", "fp8"};
    case Format::int8:
      return {"int8", "fp8"};
    case Format::nvfp4:
      return {"nvfp4"};
    case Format::mxfp4:
      return {"mxfp4", "nvfp4"};
    case Format::mxfp6:
      return {"mxfp6", "fp8"};
    default:
      return {own, "bf16"};
  }
}

std::vector<std::string> moe_dtypes(Format f, bool native) {
  if (sixteen_bit(f) || f == Format::fp32) return {"bf16"};
  switch (f) {
    case Format::fp8:
      return native ? std::vector<std::string>{"fp8", "fp8-block"}
                    : std::vector<std::string>{"bf16"};
    case Format::fp8_block:
    case Format::mxfp8:
      return native ? std::vector<std::string>{"fp8-block", "fp8"}
                    : std::vector<std::string>{"bf16"};
    case Format::nvfp4:
      return native ? std::vector<std::string>{"nvfp4", "w4a8-mxfp4-mxfp8"}
                    : std::vector<std::string>{"w4a16-nvfp4", "w4a16-mxfp4", "int4-wo", "bf16"};
    case Format::mxfp4:
      return native ? std::vector<std::string>{"w4a8-mxfp4-mxfp8", "w4a16-mxfp4", "nvfp4"}
                    : std::vector<std::string>{"w4a16-mxfp4", "int4-wo", "bf16"};
    case Format::int4_g32:
    case Format::int4_g128:
      return {"int4-wo", "w4a16-mxfp4", "bf16"};
    case Format::int8:
      return {"int8", "fp8", "bf16"};
    default:
      return {"bf16"};
  }
}

}  // namespace

Format part_format(const model::Deployment& d, const std::string& part) {
  for (const auto& p : d.model.parts_for(d.weights)) {
    if (p.part == part) return p.format;
  }
  if (part == "embedding" || part == "head" || part == "router") return Format::bf16;
  return d.weights;
}

Precision precision_of(const model::Deployment& d, const std::string& part) {
  Precision p;
  p.storage = part_format(d, part);
  p.weight_bytes = catalog::bytes_per_element(p.storage);
  if (sixteen_bit(p.storage) || p.storage == Format::fp32) {
    p.gemm_dtypes = gemm_dtypes(p.storage, true);
    p.moe_dtypes = moe_dtypes(p.storage, true);
    return p;
  }
  const auto support = d.gpu.support_of(p.storage, d.engine, d.engine_version);
  if (support.support == catalog::Support::refused) {
    throw InfeasibleError(d.engine + " does not run " + std::string(catalog::name(p.storage)) +
                          " on " + d.gpu.name + " (" + support.source + ")");
  }
  const bool native = support.support == catalog::Support::native &&
                      d.gpu.native_peak(support.compute) > 0 && !sixteen_bit(support.compute);
  p.compute = native ? support.compute : Format::bf16;
  p.activation_bytes = activation_bytes(p.compute);
  // Static scales: engines quantise in the norm or activation before the product. Scales by block
  // of the input take a kernel of their own.
  p.quantises = native && p.storage != Format::fp8 && p.storage != Format::nvfp4 &&
                p.storage != Format::mxfp4;
  p.gemm_dtypes = gemm_dtypes(p.storage, native);
  p.moe_dtypes = moe_dtypes(p.storage, native);
  return p;
}

Format compute_of_dtype(const std::string& dtype) {
  if (dtype == "nvfp4") return Format::nvfp4;
  if (dtype == "mxfp4") return Format::mxfp4;
  if (dtype == "int8") return Format::int8;
  if (dtype.rfind("fp8", 0) == 0 || dtype == "mxfp8" || dtype.rfind("w4a8", 0) == 0) {
    return Format::fp8;
  }
  return Format::bf16;
}

std::vector<std::string> kv_dtypes(Format kv) {
  if (kv == Format::fp8 || kv == Format::mxfp8 || kv == Format::int8) return {"fp8", "bf16"};
  if (kv == Format::nvfp4 || kv == Format::mxfp4) return {"nvfp4", "fp8", "bf16"};
  return {"bf16"};
}

}  // namespace servegrid::roofline
