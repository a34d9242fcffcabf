// A small, strict CSV reader: header row, quoted fields, leading '#' comment lines; every error
// names file and line.
#pragma once

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <istream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "units/error.hpp"

namespace servegrid::units {

/// Streams rows: memory does not grow with the file. Lines above 1 MiB, NUL bytes, unterminated
/// quotes and rows whose number of fields differs from the header's are InputErrors.
class CsvReader {
 public:
  CsvReader(std::istream& in, std::string file) : in_(in), file_(std::move(file)) {
    if (!read_record(header_)) throw error("is empty: expected a header line with column names");
    for (std::size_t i = 0; i < header_.size(); ++i) {
      if (!index_.emplace(header_[i], i).second) throw error("column '" + header_[i] + "' twice");
    }
  }

  /// Reads the next row; false at the end of the file.
  bool next() {
    if (!read_record(fields_)) return false;
    if (fields_.size() != header_.size()) {
      throw error("has " + std::to_string(fields_.size()) + " fields, the header has " +
                  std::to_string(header_.size()));
    }
    return true;
  }

  [[nodiscard]] bool has(const std::string& column) const { return index_.count(column) > 0; }
  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
  [[nodiscard]] int line() const { return line_; }

  /// The field as text; throws when the file has no such column.
  [[nodiscard]] const std::string& text(const std::string& column) const {
    const auto it = index_.find(column);
    if (it == index_.end()) throw error("lacks the column '" + column + "'");
    return fields_[it->second];
  }
  /// The field as a finite number in [low, high].
  [[nodiscard]] double number(const std::string& column, double low, double high) const {
    const std::string& field = text(column);
    char* end = nullptr;
    const double value = std::strtod(field.c_str(), &end);
    if (field.empty() || *end != '\0' || !std::isfinite(value) || value < low || value > high) {
      throw error("column '" + column + "': expected a number, got '" + shown(field) + "'");
    }
    return value;
  }
  /// The same; `otherwise` when the column is absent or the field empty.
  [[nodiscard]] double number_or(const std::string& column, double low, double high,
                                 double otherwise) const {
    if (!has(column) || text(column).empty()) return otherwise;
    return number(column, low, high);
  }

  [[nodiscard]] InputError error(const std::string& message) const {
    return InputError(file_ + ":" + std::to_string(line_) + ": " + message, {file_, line_, 0});
  }

 private:
  static constexpr std::size_t max_line = 1u << 20;

  static std::string shown(std::string_view field) {
    std::string out;
    for (const char c : field.substr(0, 40)) out += c >= ' ' && c < 127 ? c : '?';
    return out;
  }

  // getline that refuses a line longer than max_line before holding it.
  bool read_line(std::string& line) {
    line.clear();
    for (int c = in_.get(); c != EOF; c = in_.get()) {
      if (c == '\n') {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        return true;
      }
      if (c == 0) throw error("holds a NUL byte: not a text file");
      line += static_cast<char>(c);
      if (line.size() > max_line) throw error("is longer than 1 MiB");
    }
    return !line.empty();
  }

  bool read_record(std::vector<std::string>& fields) {
    std::string line;
    do {
      ++line_;
      if (!read_line(line)) return false;
    } while (line.empty() || line.front() == '#');
    fields.clear();
    std::string field;
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (quoted) {
        if (c != '"') {
          field += c;
        } else if (i + 1 < line.size() && line[i + 1] == '"') {
          field += '"';
          ++i;
        } else {
          quoted = false;
        }
      } else if (c == '"' && field.empty()) {
        quoted = true;
      } else if (c == ',') {
        fields.push_back(std::move(field));
        field.clear();
      } else {
        field += c;
      }
    }
    if (quoted) throw error("ends inside a quoted field");
    fields.push_back(std::move(field));
    return true;
  }

  std::istream& in_;
  std::string file_;
  int line_ = 0;
  std::vector<std::string> header_, fields_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace servegrid::units
