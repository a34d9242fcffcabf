// In what a part of the model is stored and computed on a GPU, and which measured kernels speak for
// it.
#pragma once

#include <string>
#include <vector>

#include "model/deployment.hpp"
#include "roofline/fits.hpp"

namespace servegrid::roofline {

struct Precision {
  catalog::Format storage = catalog::Format::bf16;
  catalog::Format compute = catalog::Format::bf16;
  double weight_bytes = 2;      // per element with scales
  double activation_bytes = 2;  // per element read by the GEMM
  bool quantises = false;       // activations are quantised by kernels of their own
  std::vector<std::string> gemm_dtypes, moe_dtypes;  // measured kernels, best first
};

/// Storage format of a part ("attention", "experts", ...) of the deployment's checkpoint.
catalog::Format part_format(const model::Deployment& d, const std::string& part);

/// Throws InfeasibleError when the engine refuses the format on the GPU.
Precision precision_of(const model::Deployment& d, const std::string& part);

/// Arithmetic in which the kernel of a fit file's dtype runs: "w4a16-mxfp4" bf16, "w4a8-..." fp8.
catalog::Format compute_of_dtype(const std::string& dtype);

/// dtypes of attention kernels for a KV-cache format, best first.
std::vector<std::string> kv_dtypes(catalog::Format kv);

}  // namespace servegrid::roofline
