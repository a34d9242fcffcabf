// Measured runs of disaggregated serving against their simulation: prefill and decode workers, and
// the way of the KV cache between them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "validate/accuracy.hpp"

namespace servegrid::validate {

/// A measured run whose workers are recorded.
struct SplitRow {
  int line = 0;
  std::string id;
  MeasuredRow prefill, decode;  // one worker of each as a row of its own
  int prefill_workers = 0, decode_workers = 0;
  double ttft_ms = 0, tpot_ms = 0;                // measured
  double ttft_predicted = 0, tpot_predicted = 0;  // 0: not simulated
  std::string gpu, engine, model;                 // catalogue names
  std::string skip;                               // why it does not count
};

struct SplitReport {
  std::vector<SplitRow> rows;
  std::map<std::string, std::int64_t> skipped;  // reason -> rows
};

/// The disaggregated rows of the silicon sample's columns, each simulated on SimGrid in a process
/// of its own, `jobs` at a time. Throws InputError.
SplitReport validate_disaggregated(const std::string& measured, unsigned jobs);

std::string to_json(const SplitReport& report);
std::string to_table(const SplitReport& report);
std::string rows_csv(const SplitReport& report);

}  // namespace servegrid::validate
