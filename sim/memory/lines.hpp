// The lines of a ledger: integral bytes that add up to the pool.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "memory/ledger.hpp"

namespace servegrid::memory {

class Lines {
 public:
  void add(std::string name, std::int64_t bytes, std::string source) {
    lines_.push_back({std::move(name), static_cast<double>(bytes), std::move(source)});
    sum_ += bytes;
  }
  [[nodiscard]] std::int64_t sum() const { return sum_; }
  /// Ends the ledger at `pool`: one more line when the sum is something else.
  void close_at(std::int64_t pool, std::string name, std::string source) {
    if (sum_ != pool) add(std::move(name), pool - sum_, std::move(source));
  }
  [[nodiscard]] std::vector<Line> take() { return std::move(lines_); }

 private:
  std::vector<Line> lines_;
  std::int64_t sum_ = 0;
};

/// The articles' conventions: label bytes and headline formats only (rules.cpp).
Ledger size_by_label(const catalog::Scenario& scenario, const Options& options);
/// Billions by name or by count.
double billions(const catalog::Model& model, bool nominal);

}  // namespace servegrid::memory
