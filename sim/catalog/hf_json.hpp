// Typed, checked reading of a Hugging Face config. Private to the import; only its sources include
// nlohmann's header.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "units/error.hpp"

namespace servegrid::catalog {

/// Parses text of at most 4 MB and 64 levels. Python writes NaN and Infinity, which JSON has not:
/// they are read as null, and `odd_numbers` is set. Throws InputError.
nlohmann::json parse_config(const std::string& text, const std::string& file, bool& odd_numbers);

/// An object of the config that remembers which keys were asked for. A key that is null is absent;
/// one of the wrong type, or a number out of range, throws InputError with file and key.
class ConfigObject {
 public:
  ConfigObject(const nlohmann::json& object, std::string file, std::string path = "");

  [[nodiscard]] const nlohmann::json* find(const std::string& key) const;
  [[nodiscard]] bool has(const std::string& key) const { return find(key) != nullptr; }
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& key, std::int64_t low = 0,
                                                   std::int64_t high = 10'000'000'000) const;
  /// The first of these keys that is there.
  [[nodiscard]] std::optional<std::int64_t> number_of(const std::vector<std::string>& keys) const;
  [[nodiscard]] std::int64_t required(const std::vector<std::string>& keys,
                                      std::int64_t low = 1) const;
  [[nodiscard]] bool flag(const std::string& key, bool otherwise = false) const;
  [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise = "") const;
  /// Strings of a list; empty when absent.
  [[nodiscard]] std::vector<std::string> texts(const std::string& key) const;
  [[nodiscard]] std::vector<std::int64_t> numbers(const std::string& key) const;

  [[nodiscard]] InputError error(const std::string& message) const;
  [[nodiscard]] std::vector<std::string> unread() const;
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  const nlohmann::json* object_;
  std::string file_, path_;
  mutable std::set<std::string> asked_;
};

/// `text` with anything but letters, digits and punctuation of names replaced, at most 100 bytes.
std::string plain(const std::string& text);

}  // namespace servegrid::catalog
