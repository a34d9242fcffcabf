// A small, strict CSV reader: header row, quoted fields, leading '#' comment lines; every error
// names file and line.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
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

  /// The place of a column, for text() and number() in long tables; throws when there is none.
  [[nodiscard]] std::size_t place(const std::string& column) const {
    const auto it = index_.find(column);
    if (it == index_.end()) throw error("lacks the column '" + column + "'");
    return it->second;
  }
  /// The field as text; throws when the file has no such column.
  [[nodiscard]] const std::string& text(const std::string& column) const {
    return fields_[place(column)];
  }
  [[nodiscard]] const std::string& text(std::size_t place) const { return fields_[place]; }
  /// The field as a finite number in [low, high].
  [[nodiscard]] double number(const std::string& column, double low, double high) const {
    return number(place(column), low, high);
  }
  [[nodiscard]] double number(std::size_t place, double low, double high) const {
    const std::string& field = fields_[place];
    double value = 0;
    bool ok = plain_decimal(field, value);
    if (!ok && !field.empty()) {
      char* end = nullptr;
      value = std::strtod(field.c_str(), &end);
      ok = *end == '\0';
    }
    if (!ok || !std::isfinite(value) || value < low || value > high) {
      throw error("column '" + header_[place] + "': expected a number, got '" + shown(field) + "'");
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
  // Digits with at most one point, 15 digits in all: both parts of the quotient are exact, so that
  // it is the number that strtod finds (Clinger 1990), at a tenth of the time.
  static bool plain_decimal(std::string_view text, double& value) {
    static constexpr std::array<double, 16> power = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                     1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    std::uint64_t digits = 0;
    std::size_t count = 0, point = std::string_view::npos;
    if (text.size() > 16) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const unsigned digit = static_cast<unsigned char>(text[i]) - unsigned{'0'};
      if (digit <= 9) {
        digits = digits * 10 + digit;
        ++count;
      } else if (text[i] == '.' && point == std::string_view::npos) {
        point = i;
      } else {
        return false;
      }
    }
    if (count == 0 || count > 15) return false;
    value = static_cast<double>(digits);
    if (point != std::string_view::npos) value /= power[text.size() - point - 1];
    return true;
  }

  static constexpr std::size_t max_line = 1u << 20;

  static std::string shown(std::string_view field) {
    std::string out;
    for (const char c : field.substr(0, 40)) out += c >= ' ' && c < 127 ? c : '?';
    return out;
  }

  // The next line without its end, in line_text_ until the next call; false at the end of the file.
  // Refuses a line longer than max_line before holding it.
  bool read_line() {
    carry_.clear();
    for (;;) {
      if (at_ == filled_ && !fill()) {
        line_text_ = carry_;
        if (line_text_.empty()) return false;
        break;
      }
      const char* const from = block_.data() + at_;
      const auto* const end = static_cast<const char*>(std::memchr(from, '\n', filled_ - at_));
      const std::size_t length =
          end != nullptr ? static_cast<std::size_t>(end - from) : filled_ - at_;
      if (std::memchr(from, 0, length) != nullptr) {
        throw error("holds a NUL byte: not a text file");
      }
      if (carry_.size() + length > max_line) throw error("is longer than 1 MiB");
      at_ += length + (end != nullptr ? 1 : 0);
      if (end != nullptr && carry_.empty()) {
        line_text_ = {from, length};
        break;
      }
      carry_.append(from, length);
      if (end != nullptr) {
        line_text_ = carry_;
        break;
      }
    }
    if (!line_text_.empty() && line_text_.back() == '\r') line_text_.remove_suffix(1);
    return true;
  }

  bool fill() {
    if (block_.empty()) block_.resize(std::size_t{1} << 16);
    in_.read(block_.data(), static_cast<std::streamsize>(block_.size()));
    filled_ = static_cast<std::size_t>(in_.gcount());
    at_ = 0;
    return filled_ > 0;
  }

  bool read_record(std::vector<std::string>& fields) {
    do {
      ++line_;
      if (!read_line()) return false;
    } while (line_text_.empty() || line_text_.front() == '#');
    if (line_text_.find('"') == std::string_view::npos) {
      split_plain(fields);
    } else {
      split_quoted(fields);
    }
    return true;
  }

  // Overwrites the fields of the row before: no allocation in a long table.
  void split_plain(std::vector<std::string>& fields) const {
    std::size_t count = 0, from = 0;
    for (;;) {
      const std::size_t comma = line_text_.find(',', from);
      const std::string_view field = line_text_.substr(
          from, comma == std::string_view::npos ? std::string_view::npos : comma - from);
      if (count < fields.size()) {
        fields[count].assign(field);
      } else {
        fields.emplace_back(field);
      }
      ++count;
      if (comma == std::string_view::npos) break;
      from = comma + 1;
    }
    fields.resize(count);
  }

  void split_quoted(std::vector<std::string>& fields) const {
    const std::string_view line = line_text_;
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
  }

  std::istream& in_;
  std::string file_;
  std::string block_, carry_;
  std::string_view line_text_;
  std::size_t at_ = 0, filled_ = 0;  // of the block
  int line_ = 0;
  std::vector<std::string> header_, fields_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace servegrid::units
