// Pieces of reading a workload. Private to the catalog.
#pragma once

#include <string>

#include "catalog/reader.hpp"
#include "catalog/scenario.hpp"

namespace servegrid::catalog {

constexpr double max_tokens = 1e9;

/// A whole number of tokens, at least `low`.
std::int64_t whole_tokens(const Value& v, double low);
/// "7680 tokens" or a map of one distribution. `beside`: the folder that paths start at.
LengthSpec load_length(const Value& v, double low, const std::string& beside);
/// {csv: FILE, prompt: COLUMN, output: COLUMN}: both lengths, drawn together.
void load_pairs(const Value& v, RequestSpec& r, const std::string& beside);
/// The path of a file that a scenario names; throws when there is none.
std::string data_path(const Value& file, const std::string& beside);
/// The arrival process of an open (or rate-limited closed) loop; keys of `v`.
void load_arrivals(const Value& v, WorkloadSpec& w);
void load_slo(const Value& v, SloSpec& slo);

/// The workload as YAML that reads back as the same.
std::string workload_text(const WorkloadSpec& w);
std::string slo_text(const SloSpec& slo);

}  // namespace servegrid::catalog
