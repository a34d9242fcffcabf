// Measured serving runs: one row a run, with mean TTFT and TPOT, and whether a per-row accuracy
// figure may count it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace servegrid::validate {

/// How the measured run was driven.
struct Protocol {
  double spread = 0;                   // lengths uniform in [(1 - spread) * mean given, mean given]
  std::int64_t prompts_per_slot = 10;  // requests = prompts_per_slot * concurrency
  bool inferencex = false;             // launched by InferenceX's scripts (validate/launch.hpp)
  double client_per_prompt_token = 0;  // [s] the client's own time per prompt token, part of TTFT
};

struct MeasuredRow {
  int line = 0;
  std::string id;
  std::string gpu, engine, engine_version, model;  // as written
  std::string weights, moe_weights, kv_cache;      // as written; empty = not recorded
  int gpus = 1;                                    // really used
  int tp = 1, ep = 1, dp = 1;
  std::int64_t isl = 0, osl = 0, concurrency = 0;
  double ttft_ms = 0, tpot_ms = 0;  // means; 0 = not measured
  // Other measured metrics by their summary name ("p99_ttft_ms", "output_throughput", ...).
  std::vector<std::pair<std::string, double>> others;
  std::string date;
  bool only_by_median = false;  // may have drafted or not: skipped, and judged by its group
  Protocol protocol;
  std::string skip;  // reason, empty when the row counts
};

/// Reads the silicon sample's columns (backend, model_path, system, ...) or the general form (gpu,
/// engine, model, weights, isl, osl, concurrency, ttft_ms, tpot_ms, ...; docs/validation.md). Rows
/// that may not count carry the reason in `skip`: disaggregated, speculative decoding unknown, not
/// one server, client queue, copy, ... Throws InputError.
std::vector<MeasuredRow> read_measured(const std::string& path);

}  // namespace servegrid::validate
