#include "import/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "units/error.hpp"
#include "units/quantity.hpp"

namespace servegrid::importer {

namespace {

class Shell {
 public:
  Shell(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  std::vector<std::vector<std::string>> run() {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(commands_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\\' && at_ + 1 < text_.size()) {
      const bool carriage = text_[at_ + 1] == '\r' && at_ + 2 < text_.size();
      const char next = text_[at_ + (carriage ? 2 : 1)];
      at_ += carriage ? 3 : 2;
      if (next == '\n') {
        ++line_;
        end_word();
      } else {
        word_ += next;
        open_ = true;
      }
    } else if (c == '\'' || c == '"') {
      quoted(c);
    } else if (c == '#' && !open_) {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (text_.compare(at_, 2, "<<") == 0) {
      here_document();
    } else if (c == '\n' || c == ';' || c == '|' || c == '&') {
      line_ += c == '\n' ? 1 : 0;
      ++at_;
      end_command();
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
      end_word();
    } else {
      word_ += c;
      open_ = true;
      ++at_;
    }
  }

  void quoted(char quote) {
    const int line = line_;
    ++at_;
    open_ = true;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      line_ += text_[at_] == '\n' ? 1 : 0;
      word_ += text_[at_++];
    }
    if (at_ >= text_.size())
      throw InputError(fmt::format("{}:{}: a quote is opened and not closed", file_, line),
                       {file_, line, 0});
    ++at_;
  }

  // cat > FILE <<'END' ... END
  void here_document() {
    at_ += 2;
    while (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == ' ')) ++at_;
    std::string mark;
    while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != ' ') {
      if (text_[at_] != '\'' && text_[at_] != '"') mark += text_[at_];
      ++at_;
    }
    end_word();
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    ++at_;
    const int line = line_++;
    std::string body;
    while (at_ < text_.size()) {
      const auto end = std::min(text_.find('\n', at_), text_.size());
      const std::string one = text_.substr(at_, end - at_);
      at_ = end + 1;
      ++line_;
      if (one == mark) {
        words_.emplace_back("<<");
        words_.push_back(body);
        end_command();
        return;
      }
      body += one + '\n';
    }
    throw InputError(
        fmt::format("{}:{}: a here document has no end '{}'", file_, line, shown(mark)),
        {file_, line, 0});
  }

  void end_word() {
    if (open_) words_.push_back(word_);
    word_.clear();
    open_ = false;
  }
  void end_command() {
    end_word();
    if (!words_.empty()) commands_.push_back(words_);
    words_.clear();
  }

  const std::string& text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::string word_;
  bool open_ = false;
  std::vector<std::string> words_;
  std::vector<std::vector<std::string>> commands_;
};

}  // namespace

std::vector<std::vector<std::string>> shell_commands(const std::string& text,
                                                     const std::string& file) {
  return Shell(text, file).run();
}

std::vector<std::string_view> lines_of(const std::string& text) {
  std::vector<std::string_view> out;
  const std::string_view all = text;
  for (std::size_t start = 0; start < all.size();) {
    const auto end = std::min(all.find('\n', start), all.size());
    auto line = all.substr(start, end - start);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    out.push_back(line);
    start = end + 1;
  }
  return out;
}

std::optional<double> leading_number(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  std::string digits;
  for (const char c : text.substr(0, 40)) {
    if (c == ',') continue;
    if ((c < '0' || c > '9') && c != '.' && c != 'e' && c != '+' && c != '-') break;
    digits += c;
  }
  while (!digits.empty() && (digits.back() == '.' || digits.back() == '-' || digits.back() == 'e'))
    digits.pop_back();
  double value = 0;
  if (digits.empty() || units::scan_number(digits, value) == 0 || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  double factor = 1;
  if (!text.empty() && (text.back() == 'k' || text.back() == 'K')) {
    factor = text.back() == 'k' ? 1000 : 1024;
    text.remove_suffix(1);
  }
  double value = 0;
  const std::string digits(text);
  const bool negative = !digits.empty() && digits[0] == '-';
  const std::string bare = negative ? digits.substr(1) : digits;
  if (bare.empty() || units::scan_number(bare, value) != bare.size()) return std::nullopt;
  value *= negative ? -factor : factor;
  if (value != std::floor(value) || std::abs(value) > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::string_view after(std::string_view text, std::string_view marker) {
  const auto at = text.find(marker);
  return at == std::string_view::npos ? std::string_view{} : text.substr(at + marker.size());
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 80)) out += c >= ' ' && c < 127 ? c : '?';
  return text.size() > 80 ? out + "..." : out;
}

std::optional<std::string> quantisation(std::string_view word) {
  std::string low;
  for (const char c : word.substr(0, 256))
    low += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '_' ? '-' : c;
  static const std::vector<std::pair<std::string_view, std::string_view>> known = {
      {"modelopt-fp4", "nvfp4"},    {"modelopt-fp8", "fp8"},     {"modelopt", "fp8"},
      {"petit-nvfp4", "nvfp4"},     {"w8a8-fp8", "fp8"},         {"w8a8-int8", "int8"},
      {"blockwise-int8", "int8"},   {"awq-marlin", "int4-g128"}, {"awq", "int4-g128"},
      {"gptq-marlin", "int4-g128"}, {"gptq", "int4-g128"},       {"fp8", "fp8"},
      {"mxfp4", "mxfp4"},           {"quark", "mxfp4"},          {"nvfp4", "nvfp4"},
      {"fbgemm-fp8", "fp8"}};
  for (const auto& [from, to] : known)
    if (low == from) return std::string(to);
  return std::nullopt;
}

}  // namespace servegrid::importer
