// Some fields of one JSON object, without holding the rest of it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace servegrid::workload {

/// A top-level field: a number, or a list of numbers; of a list of texts, 1 where it is not empty.
struct JsonField {
  explicit JsonField(const char* key) : name(key) {}
  std::string name;
  bool present = false, list = false;
  std::vector<double> numbers;
  std::vector<std::int64_t> integers;  // the same, where all of them are
};

class JsonFields {
 public:
  JsonFields(std::initializer_list<const char*> names) {
    for (const char* name : names) fields_.emplace_back(name);
  }
  /// Reads one object; an empty text when that worked, else what is wrong. Nesting costs no stack;
  /// what is not asked for is skipped.
  std::string read(std::string_view text);
  std::string read(std::istream& in);
  [[nodiscard]] const JsonField& operator[](std::size_t i) const { return fields_[i]; }

 private:
  struct Handler;
  std::vector<JsonField> fields_;
};

}  // namespace servegrid::workload
