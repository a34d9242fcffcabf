// Any bytes: read as a table of each kernel they give rows within their limits or an InputError.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "calibrate/kernel_data.hpp"
#include "units/error.hpp"

using namespace servegrid;
using calibrate::Operator;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(calibrate::parse_file_name(text));
  for (const Operator op :
       {Operator::gemm, Operator::prefill_attention, Operator::decode_attention,
        Operator::mla_prefill, Operator::mla_decode, Operator::moe, Operator::all_reduce}) {
    std::istringstream in(text);
    try {
      for (const auto& row : calibrate::read_kernel_rows(in, "fuzz.csv", op)) {
        if (!(row.seconds > 0) || !std::isfinite(row.seconds)) std::abort();
      }
    } catch (const InputError& e) {
      if (std::string(e.what()).empty()) std::abort();
    }
  }
  return 0;
}
