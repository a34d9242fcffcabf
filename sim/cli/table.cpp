#include "cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace servegrid::cli {

namespace {

// Width as the terminal shows it: UTF-8 continuation bytes take none.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool numeric(const std::string& cell) {
  return cell.empty() || (cell[0] >= '0' && cell[0] <= '9') || cell[0] == '-' || cell[0] == '$' ||
         cell[0] == '.';
}

std::string grouped(std::string digits) {
  const auto first = digits.find_first_of("0123456789");
  auto point = digits.find('.');
  if (point == std::string::npos) point = digits.size();
  for (std::size_t i = point; i > first + 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

}  // namespace

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {}

void Table::row(std::vector<std::string> cells) {
  cells.resize(header_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(const std::string& indent) const {
  const std::size_t n = header_.size();
  std::vector<std::size_t> widths(n);
  std::vector<bool> right(n, true);
  for (std::size_t c = 0; c < n; ++c) {
    widths[c] = width(header_[c]);
    for (const auto& row : rows_) {
      widths[c] = std::max(widths[c], width(row[c]));
      if (!numeric(row[c])) right[c] = false;
    }
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text = indent;
    for (std::size_t c = 0; c < n; ++c) {
      const std::string pad(widths[c] - width(cells[c]), ' ');
      text += (c > 0 ? "  " : "") + (right[c] ? pad + cells[c] : cells[c] + pad);
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
  };
  line(header_);
  std::vector<std::string> rule;
  for (const auto w : widths) rule.emplace_back(w, '-');
  line(rule);
  for (const auto& row : rows_) line(row);
  return out;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') quoted += '"';
  }
  return quoted + '"';
}

// "1,234.5" -> "1234.5": grouping is for people.
static std::string ungrouped(const std::string& cell) {
  const std::size_t first = cell.find_first_of("0123456789");
  const bool number =
      first <= 1 && cell.find_first_not_of("0123456789,.", first) == std::string::npos;
  const std::size_t comma = cell.find(',');
  if (!number || comma == std::string::npos || comma > first + 3 || comma + 4 > cell.size()) {
    return cell;
  }
  std::string plain;
  std::copy_if(cell.begin(), cell.end(), std::back_inserter(plain),
               [](char c) { return c != ','; });
  return plain;
}

std::string Table::csv() const {
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) out += ',';
      out += csv_field(ungrouped(cells[c]));
    }
    out += '\n';
  };
  line(header_);
  for (const auto& row : rows_) line(row);
  return out;
}

std::string fixed(double value, int decimals) {
  return grouped(fmt::format("{:.{}f}", value, decimals));
}

std::string number(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return fmt::format("{}", value);
  const int exponent = static_cast<int>(std::floor(std::log10(std::fabs(value))));
  if (exponent < -5) return fmt::format("{:.{}g}", value, digits);
  return fixed(value, std::max(0, digits - 1 - exponent));
}

std::string both_units(double bytes) {
  return fixed(bytes / (1024.0 * 1024 * 1024), 2) + " GiB (" + fixed(bytes / 1e9, 2) + " GB)";
}

}  // namespace servegrid::cli
