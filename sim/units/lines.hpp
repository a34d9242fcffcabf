// Lines of a text file of any size, one at a time.
#pragma once

#include <istream>
#include <string>
#include <string_view>
#include <utility>

#include "units/error.hpp"

namespace servegrid::units {

/// At most 40 printable characters of a field, for messages.
inline std::string shown(std::string_view field) {
  std::string out;
  for (const char c : field.substr(0, 40)) out += c >= ' ' && c < 127 ? c : '?';
  return out;
}

/// Streams lines: memory does not grow with the file. Lines above 1 MiB and NUL bytes are
/// InputErrors.
class LineReader {
 public:
  LineReader(std::istream& in, std::string file) : in_(in), file_(std::move(file)) {}

  /// Reads the next line, without its end; false at the end of the file.
  bool next(std::string& line) {
    line.clear();
    ++line_;
    std::streambuf& buffer = *in_.rdbuf();
    for (int c = buffer.sbumpc(); c != EOF; c = buffer.sbumpc()) {
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

  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] InputError error(const std::string& message) const {
    return InputError(file_ + ":" + std::to_string(line_) + ": " + message, {file_, line_, 0});
  }

 private:
  static constexpr std::size_t max_line = 1u << 20;

  std::istream& in_;
  std::string file_;
  int line_ = 0;
};

}  // namespace servegrid::units
