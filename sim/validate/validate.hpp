// `servegrid validate`: predicted against measured runs, with what was skipped and why.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "validate/accuracy.hpp"

namespace servegrid::validate {

struct ValidateOptions {
  std::string measured;  // path of the CSV
  unsigned threads = 2;
  // Refit the serving costs without a model before predicting its rows.
  bool leave_out_models = false;
  Knowledge knowledge = Knowledge::own;  // of the GPUs' kernels
  double tpot_limit_ms = 20;             // of the concurrency question
};

struct Report {
  std::vector<PreparedRow> prepared;            // owns the rows that `scored` points to
  std::vector<Scored> scored;                   // predicted rows
  std::vector<PreparedRow> drafting_unknown;    // owns the rows that `by_median` points to
  std::vector<Scored> by_median;                // rows that only their group's median can judge
  std::map<std::string, std::int64_t> skipped;  // reason -> rows
  std::int64_t rows = 0;
  Decisions decisions;
  std::string left_out;  // "model", "gpu", "kernels"; empty: nothing
};

Report validate(const ValidateOptions& options);

/// Whole report as one JSON document, as a table, and one line a row as CSV.
std::string to_json(const Report& report);
std::string to_table(const Report& report);
std::string rows_csv(const Report& report);

}  // namespace servegrid::validate
