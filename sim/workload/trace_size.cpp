#include "workload/trace_size.hpp"

#include <algorithm>
#include <array>
#include <fstream>

#include "units/error.hpp"
#include "workload/sources.hpp"

namespace servegrid::workload {

namespace {

constexpr std::int64_t sampled = 20'000;

// Of at most `enough`.
std::int64_t count_lines(const std::string& path, std::int64_t enough) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + ": cannot open the trace", {path, 0, 0});
  std::array<char, 1 << 16> buffer{};
  std::int64_t lines = 1;
  while (lines < enough && (in.read(buffer.data(), buffer.size()) || in.gcount() > 0)) {
    lines += std::count(buffer.begin(), buffer.begin() + in.gcount(), '\n');
  }
  return lines;
}

}  // namespace

TraceSize size_of_trace(const catalog::WorkloadSpec& spec) {
  TraceSize size;
  catalog::WorkloadSpec head = spec;
  head.requests = 0;  // too few requests are told of by the replay
  const auto source = make_trace(head);
  const std::int64_t most = spec.requests > 0 ? std::min(spec.requests, sampled) : sampled;
  std::int64_t seen = 0;
  for (; seen < most; ++seen) {
    const auto request = source->next_arrival();
    if (!request) break;
    size.mean_prompt += static_cast<double>(request->prompt_tokens);
    size.mean_output += static_cast<double>(request->output_tokens);
  }
  size.mean_prompt /= static_cast<double>(seen);
  size.mean_output /= static_cast<double>(seen);
  size.requests_at_most = seen;
  if (seen == most && most == sampled) {
    const std::int64_t asked = spec.requests > 0 ? spec.requests : INT64_MAX;
    size.requests_at_most = std::min(asked, count_lines(spec.trace.file, asked));
  }
  return size;
}

}  // namespace servegrid::workload
