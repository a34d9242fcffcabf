// Number formats of weights, KV cache and arithmetic, named exactly as checkpoints and engines do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace servegrid::catalog {

enum class Format {
  bf16,
  fp16,
  fp32,
  fp8,
  fp8_block,
  int8,
  mxfp8,
  mxfp6,
  mxfp4,
  nvfp4,
  int4_g32,
  int4_g128
};

/// All formats, in the order above.
const std::vector<Format>& all_formats();

/// "bf16", "fp8-block", "nvfp4", "int4-g32", ... (dashes; the canonical spelling).
std::string_view name(Format f);

/// Accepts any case, '_' for '-', and known synonyms (bfloat16, float16/half, fp8_e4m3,
/// float8_e4m3fn, w4a16 awq -> int4-g128 ...). A bare "fp4", "int4" or "fp6" throws InputError that
/// lists the candidates.
Format parse_format(std::string_view text);

/// Bytes an element takes in memory including its scales: nvfp4 0.5625, mxfp4 0.53125, fp8-block 1
/// + 4/16384, ...
double bytes_per_element(Format f);

/// Bytes without scales (2, 1, 0.75, 0.5): the articles' convention.
double nominal_bytes(Format f);

}  // namespace servegrid::catalog
