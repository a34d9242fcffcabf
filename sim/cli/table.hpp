// Rows of text as an aligned table or as CSV.
#pragma once

#include <string>
#include <vector>

namespace servegrid::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> header);
  void row(std::vector<std::string> cells);
  /// Columns padded to the widest cell; cells that start with a digit, '-' or '.' in every row are
  /// right-aligned.
  [[nodiscard]] std::string text(const std::string& indent = "") const;
  [[nodiscard]] std::string csv() const;
  [[nodiscard]] const std::vector<std::vector<std::string>>& rows() const { return rows_; }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

/// `digits` significant digits with thousands separators: 12345.6 -> "12,346".
std::string number(double value, int digits = 4);
/// Fixed decimals with thousands separators.
std::string fixed(double value, int decimals);
/// "134.29 GiB (144.19 GB)"
std::string both_units(double bytes);
/// One field of a CSV record, quoted where needed.
std::string csv_field(const std::string& text);

}  // namespace servegrid::cli
