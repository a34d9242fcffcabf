// Recorded traces: one file a format, all behind one reader. A format knows its own unit of time
// and, where it has them, the tokens of its hash blocks.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "catalog/scenario.hpp"
#include "units/csv.hpp"
#include "units/lines.hpp"

namespace servegrid::workload {

struct TraceRow {
  std::int64_t line = 0;  // in the file; of a format without lines, which request
  double arrival = 0;     // [s] of the trace's own time
  std::int64_t prompt = 0, output = 0;
  std::int64_t user = -1;            // whose it is, where the trace says
  int turn = 0;                      // within a conversation, from 0
  std::vector<std::int64_t> hashes;  // of the prompt's blocks in order; an id implies all before
  const char* unusable = nullptr;    // why this row is no request; null: it is one
};

class TraceReader {
 public:
  virtual ~TraceReader() = default;
  /// The next row; false at the end. Throws InputError with the line for what cannot be read.
  virtual bool next(TraceRow& row) = 0;
  /// Tokens of a hash block; 0 when the format has none.
  [[nodiscard]] virtual std::int64_t hash_tokens() const { return 0; }
};

struct TraceFormat {
  const char* name;
  const char* about;  // what of, and its unit of time
  /// Whether a file whose first line (not a comment) is this one is of the format.
  bool (*is)(const std::string& first_line);
  std::unique_ptr<TraceReader> (*make)(std::istream& in, const catalog::TraceSpec& spec);
};

/// All formats, in the order in which they are tried.
const std::vector<TraceFormat>& trace_formats();
/// The format of a spec; one that is "auto" is looked for by the file's first line. Throws
/// InputError that lists the formats.
const TraceFormat& trace_format(const catalog::TraceSpec& spec);

extern const TraceFormat azure_format, burstgpt_format, mooncake_format, qwen_bailian_format,
    splitwise_format, vllm_bench_format, csv_format;

// What the formats in CSV share.

/// Whether the comma-separated names include all of these.
bool has_columns(const std::string& header, std::initializer_list<const char*> names);
/// A whole number of tokens, 0 to 1e9.
std::int64_t tokens_at(const units::CsvReader& csv, std::size_t place);
/// Why a request with these tokens is none; null when it is one.
const char* unusable(std::int64_t prompt, std::int64_t output);
/// "2023-11-16 18:17:03.9799600" (also with T, Z or an offset of 0) in nanoseconds of 1970; -1 when
/// it is no such time.
std::int64_t wall_clock_ns(const std::string& text);

}  // namespace servegrid::workload
