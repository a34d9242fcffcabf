// Reading text safely, and the messages that point into it.
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "catalog/tree.hpp"

namespace servegrid::catalog {

namespace {

// A parser that recurses must not see more than this many open brackets. It is well above
// max_depth, which is enforced exactly while parsing, because this scan knows nothing of quotes.
constexpr int max_open_brackets = 256;

/// Length of the UTF-8 character at `i`, 0 when it is not one (overlong, surrogate, truncated).
std::size_t utf8_length(std::string_view s, std::size_t i, char32_t& code) {
  const auto byte = [&](std::size_t k) {
    return k < s.size() ? static_cast<unsigned char>(s[k]) : 0u;
  };
  const unsigned lead = byte(i);
  if (lead < 0x80) {
    code = lead;
    return 1;
  }
  const std::size_t length = lead >= 0xF0 && lead < 0xF5   ? 4
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                                                           : 0;
  if (length == 0) return 0;
  code = lead & (0x7Fu >> length);
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0u) != 0x80u) return 0;
    code = (code << 6) | (byte(i + k) & 0x3Fu);
  }
  if (length == 3 && (code < 0x800 || (code >= 0xD800 && code < 0xE000))) return 0;
  if (length == 4 && (code < 0x10000 || code > 0x10FFFF)) return 0;
  return length;
}

bool is_control(char32_t code) {
  return (code < 0x20 && code != '\t' && code != '\n' && code != '\r') ||
         (code >= 0x7F && code < 0xA0);
}

std::string_view line_of(const std::string& text, int line) {
  std::size_t start = 0;
  for (int n = 1; n < line; ++n) {
    start = text.find('\n', start);
    if (start == std::string::npos) return {};
    ++start;
  }
  std::string_view rest = std::string_view(text).substr(start);
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

/// One column per character: what a terminal shows in one cell (wide characters aside).
std::vector<std::string> cells(std::string_view line) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < line.size();) {
    char32_t code = 0;
    const std::size_t length = utf8_length(line, i, code);
    if (code == '\t') {
      out.emplace_back(" ");
    } else if (length == 0 || is_control(code)) {
      out.emplace_back("?");
    } else {
      out.emplace_back(line.substr(i, length));
    }
    i += length == 0 ? 1 : length;
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (const std::string& cell : cells(text.substr(0, limit))) out += cell;
  for (char& c : out) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  if (text.size() > limit) out += "...";
  return out;
}

InputError error_at(const Source& source, int line, int column, const std::string& message) {
  const std::string file = printable(source.file, 400);
  const Location where{source.file, line, column};
  if (line <= 0) return InputError(file + ": " + message, where);
  std::string out = fmt::format("{}:{}:{}: {}", file, line, column, message);
  constexpr std::size_t width = 90;
  const std::vector<std::string> row = cells(line_of(source.text, line).substr(0, 64 << 10));
  const std::size_t at = static_cast<std::size_t>(std::max(column, 1) - 1);
  const std::size_t begin = at > width - 20 ? at - (width - 20) : 0;
  if (begin < row.size()) {
    out += "\n  ";
    for (std::size_t i = begin; i < row.size() && i < begin + width; ++i) out += row[i];
    out += "\n  " + std::string(at - begin, ' ') + "^";
  }
  return InputError(out, where);
}

std::shared_ptr<const Source> read_source(const std::string& path, const ReadLimits& limits) {
  auto source = std::make_shared<Source>();
  source->file = path;
  const auto refuse = [&](const std::string& why) { return error_at(*source, 0, 0, why); };
  if (path.empty() || path.find('\0') != std::string::npos) {
    throw refuse("not a file name");
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    throw refuse(errno == ENOENT ? "no such file (check the name and the folder)"
                                 : std::string("cannot be read: ") + std::strerror(errno));
  }
  if (S_ISDIR(info.st_mode)) throw refuse("is a folder, not a file");
  const auto too_large = [&] {
    return refuse(
        fmt::format("is larger than {} MiB: not a data file of ServeGrid", limits.max_bytes >> 20));
  };
  if (S_ISREG(info.st_mode) && static_cast<std::uint64_t>(info.st_size) > limits.max_bytes) {
    throw too_large();
  }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                       &std::fclose);
  if (!file) throw refuse(std::string("cannot be read: ") + std::strerror(errno));
  char buffer[1 << 16];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) {
    source->text.append(buffer, n);
    if (source->text.size() > limits.max_bytes) throw too_large();
  }
  if (std::ferror(file.get()) != 0) throw refuse("cannot be read to the end");
  return source;
}

void check_text(const Source& source, const ReadLimits& limits) {
  const std::string& text = source.text;
  if (text.size() > limits.max_bytes) {
    throw error_at(source, 0, 0, fmt::format("is larger than {} MiB", limits.max_bytes >> 20));
  }
  int line = 1, column = 1, open = 0;
  for (std::size_t i = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; i < text.size();) {
    char32_t code = 0;
    const std::size_t length = utf8_length(text, i, code);
    if (length == 0) {
      throw error_at(source, line, column, "is not UTF-8 text (save the file as UTF-8)");
    }
    if (code == 0) throw error_at(source, line, column, "holds a NUL byte: not a text file");
    if (is_control(code)) {
      throw error_at(source, line, column,
                     fmt::format("holds the control character 0x{:02x} (delete it)",
                                 static_cast<unsigned>(code)));
    }
    if (code == '[' || code == '{') ++open;
    if ((code == ']' || code == '}') && open > 0) --open;
    if (open > max_open_brackets) {
      throw error_at(
          source, line, column,
          fmt::format("is nested deeper than {} levels (close the brackets)", limits.max_depth));
    }
    ++column;
    if (code == '\n') {
      ++line;
      column = 1;
    }
    i += length;
  }
}

}  // namespace servegrid::catalog
