#include "units/json.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "units/error.hpp"

namespace servegrid::units {

namespace {

constexpr int max_depth = 64;

/// Replaces NaN and Infinity outside strings by null and checks the nesting, because the parser's
/// values are destroyed recursively.
std::string tamed(const std::string& text, const std::string& what, bool& odd_numbers) {
  std::string out;
  out.reserve(text.size());
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      out += c;
      if (c == '\\' && i + 1 < text.size()) out += text[++i];
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > max_depth)
      throw InputError(fmt::format("{}: nested deeper than {} levels", what, max_depth));
    bool replaced = false;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (text.compare(i, word.size(), word) != 0) continue;
      out += "null";
      i += word.size() - 1;
      odd_numbers = replaced = true;
      break;
    }
    if (!replaced) out += c;
  }
  return out;
}

template <class Json>
Json parse(const std::string& text, const std::string& what, std::size_t max_bytes,
           bool& odd_numbers) {
  if (text.size() > max_bytes)
    throw InputError(fmt::format("{}: larger than {} MB", what, max_bytes >> 20));
  try {
    return Json::parse(tamed(text, what, odd_numbers));
  } catch (const nlohmann::json::exception& e) {
    // The parser's text quotes what it read: keep it printable.
    std::string why = e.what();
    for (char& c : why) {
      if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
    }
    throw InputError(fmt::format("{}: not JSON: {}", what, why.substr(0, 200)));
  }
}

}  // namespace

nlohmann::json parse_json(const std::string& text, const std::string& what, std::size_t max_bytes,
                          bool& odd_numbers) {
  return parse<nlohmann::json>(text, what, max_bytes, odd_numbers);
}

nlohmann::ordered_json parse_ordered_json(const std::string& text, const std::string& what,
                                          std::size_t max_bytes) {
  bool odd_numbers = false;
  return parse<nlohmann::ordered_json>(text, what, max_bytes, odd_numbers);
}

}  // namespace servegrid::units
