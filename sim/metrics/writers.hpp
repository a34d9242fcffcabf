// Result files as text. Numbers are written locale-independently, times in seconds with 9 decimals
// (they round simulated time; they are never read back for a decision).
#pragma once

#include <string>

#include "metrics/result.hpp"
#include "metrics/text_out.hpp"

namespace servegrid::metrics {

/// One line a request, in id order. Times that do not exist are empty fields.
void write_requests(const RunResult& result, TextOut& out);
std::string requests_csv(const RunResult& result);
/// One line an epoch, in the order of their starts.
void write_timeline(const RunResult& result, TextOut& out);
std::string timeline_csv(const RunResult& result);
/// format_version, model_version, then the summary: an object with one number a metric.
std::string summary_json(const Summary& summary);

}  // namespace servegrid::metrics
