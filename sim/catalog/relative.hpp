// Values relative to what is there: "+20%", "-10 %", "x1.5". Private to the catalog.
#pragma once

#include <string>
#include <string_view>

namespace servegrid::catalog {

/// The factor of a relative value; 0 when `text` is none.
double relative_factor(std::string_view text);

/// "8 TB/s" scaled by 1.1 is "8.8 TB/s"; whole numbers without a unit, and of tokens, stay whole.
/// Empty when `text` does not start with a number.
std::string scaled(std::string_view text, double factor);

}  // namespace servegrid::catalog
