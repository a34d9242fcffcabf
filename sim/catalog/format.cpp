#include "catalog/format.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "catalog/reader.hpp"
#include "units/error.hpp"

namespace servegrid::catalog {

namespace {

struct Row {
  Format format;
  std::string_view name;
  double nominal;  // [B] per element without scales
  double bytes;    // [B] per element with scales
};

// Scales: fp8-block one fp32 per 128 x 128; MX one E8M0 byte per 32 (OCP MX v1.0); NVFP4 one FP8
// per 16; int4-g32 one 16-bit scale per group
// (symmetric, as Kimi K2 is published), int4-g128 a scale and a packed zero point (AWQ, GPTQ).
constexpr Row rows[] = {
    {Format::bf16, "bf16", 2, 2},
    {Format::fp16, "fp16", 2, 2},
    {Format::fp32, "fp32", 4, 4},
    {Format::fp8, "fp8", 1, 1},
    {Format::fp8_block, "fp8-block", 1, 1 + 4.0 / 16384},
    {Format::int8, "int8", 1, 1},
    {Format::mxfp8, "mxfp8", 1, 1 + 1.0 / 32},
    {Format::mxfp6, "mxfp6", 0.75, 0.75 + 1.0 / 32},
    {Format::mxfp4, "mxfp4", 0.5, 0.5 + 1.0 / 32},
    {Format::nvfp4, "nvfp4", 0.5, 0.5 + 1.0 / 16},
    {Format::int4_g32, "int4-g32", 0.5, 0.5 + 2.0 / 32},
    {Format::int4_g128, "int4-g128", 0.5, 0.5 + 2.5 / 128},
};

struct Synonym {
  std::string_view name;
  Format format;
};

constexpr Synonym synonyms[] = {
    {"bfloat16", Format::bf16},
    {"float16", Format::fp16},
    {"half", Format::fp16},
    {"f16", Format::fp16},
    {"float32", Format::fp32},
    {"float", Format::fp32},
    {"f32", Format::fp32},
    {"fp8-e4m3", Format::fp8},
    {"fp8-e5m2", Format::fp8},
    {"float8-e4m3fn", Format::fp8},
    {"float8-e4m3fnuz", Format::fp8},
    {"float8-e5m2", Format::fp8},
    {"w8a8-fp8", Format::fp8},
    {"fp8-128x128", Format::fp8_block},
    {"fp8-blockwise", Format::fp8_block},
    {"w8a8", Format::int8},
    {"w8a8-int8", Format::int8},
    {"awq", Format::int4_g128},
    {"gptq", Format::int4_g128},
    {"w4a16", Format::int4_g128},
    {"w4a16-awq", Format::int4_g128},
    {"fp4-nv", Format::nvfp4},
    {"modelopt-fp4", Format::nvfp4},
};

std::string canonical(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '_' || c == ' ') {
      out += '-';
    } else {
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return out;
}

const Row& row_of(Format f) {
  return rows[static_cast<int>(f)];
}

}  // namespace

const std::vector<Format>& all_formats() {
  static const std::vector<Format> all = [] {
    std::vector<Format> out;
    for (const Row& row : rows) out.push_back(row.format);
    return out;
  }();
  return all;
}

std::string_view name(Format f) {
  return row_of(f).name;
}

Format parse_format(std::string_view text) {
  const std::string word = canonical(text.substr(0, 64));
  std::vector<std::string> names;
  for (const Row& row : rows) {
    if (word == row.name) return row.format;
    names.emplace_back(row.name);
  }
  for (const Synonym& s : synonyms) {
    if (word == s.name) return s.format;
  }
  const auto ambiguous = [&](std::string_view candidates) {
    return InputError(fmt::format(
        "'{}' names several formats that differ in size and speed: say {}", word, candidates));
  };
  if (word == "fp4" || word == "float4") throw ambiguous("nvfp4 or mxfp4");
  if (word == "int4") throw ambiguous("int4-g32 or int4-g128");
  if (word == "fp6" || word == "float6") throw ambiguous("mxfp6");
  const std::string guess = nearest(word, names);
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
  throw InputError(fmt::format("'{}' is not a number format{} (known: {})", word,
                               guess.empty() ? "" : ": did you mean '" + guess + "'?", all));
}

double bytes_per_element(Format f) {
  return row_of(f).bytes;
}

double nominal_bytes(Format f) {
  return row_of(f).nominal;
}

}  // namespace servegrid::catalog
