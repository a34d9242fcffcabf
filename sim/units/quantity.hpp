// Text with a unit -> SI double. A bare number where a unit is needed is an error that shows the
// fix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace servegrid::units {

/// What a quantity measures; the internal unit is in brackets.
enum class Dimension {
  bytes,             // [B]      "288 GB", "80 GiB", "512 MB"
  bytes_per_second,  // [B/s]    "8 TB/s", "76.8 GB/s", "400 Gb/s"
  flops,             // [FLOP/s] "2.5 PFLOPS", "78.6 TFLOPS", "5 POPS"
  seconds,           // [s]      "10 ms", "3.5 us", "2 h"
  watts,             // [W]      "1.4 kW", "1000 W"
  tokens,            // [tokens] "7680 tokens", "8K tokens" (K = 1024, k = 1000), "1 token"
  hertz,             // [1/s]    "3 /s", "0.5 req/s", "2.4 GHz"
  money,             // [currency unit, see MoneyRate] not parsed here
  ratio,             // [1]      "92 %", "0.92"
};

/// Parses `text` as `dimension`. Throws InputError (without a location; the reader adds it) naming
/// the units accepted, e.g. for "288": "needs a unit: did you mean '288 GB'?". Rejects NaN,
/// infinity, negative values and trailing text.
double parse(std::string_view text, Dimension dimension);

/// Human-readable, 4 significant digits: format(8e12, bytes_per_second) == "8 TB/s" (decimal
/// prefixes; bytes as GB).
std::string format(double value, Dimension dimension);

/// Text in the most readable unit that parse() reads back as exactly `value` ("7168 tokens",
/// "0.05 s" as "50 ms"): for files that are read again.
std::string exact(double value, Dimension dimension);

/// Reads the decimal number at the start of `text` (no leading zeros, no infinity or NaN; an
/// overflow gives an infinite `value`); returns how many characters it took, 0 when there is none.
std::size_t scan_number(std::string_view text, double& value);

/// Name for messages: "a size in bytes", "a bandwidth", ...
std::string_view describe(Dimension dimension);

}  // namespace servegrid::units
