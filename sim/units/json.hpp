// JSON from strangers: bounded in size and depth before the parser sees it.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace servegrid::units {

/// Parses text of at most `max_bytes` and 64 levels. Python writes NaN and Infinity, which JSON has
/// not: they are read as null, and `odd_numbers` is set. `what` names the file in errors. Throws
/// InputError with the parser's line and column.
nlohmann::json parse_json(const std::string& text, const std::string& what, std::size_t max_bytes,
                          bool& odd_numbers);
/// The same with the members of objects in the order of the file.
nlohmann::ordered_json parse_ordered_json(const std::string& text, const std::string& what,
                                          std::size_t max_bytes);

}  // namespace servegrid::units
