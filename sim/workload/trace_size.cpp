#include "workload/trace_size.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

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

TraceSize read_size(const catalog::WorkloadSpec& spec) {
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

// What was sized: a file that was written since is another one.
struct Sized {
  catalog::TraceSpec trace;
  std::int64_t requests = 0;
  std::filesystem::file_time_type written;
  std::uintmax_t bytes = 0;
  bool operator==(const Sized&) const = default;
};

}  // namespace

TraceSize size_of_trace(const catalog::WorkloadSpec& spec) {
  std::error_code error;  // a file that cannot be looked at is told of when it is read
  const Sized what{spec.trace, spec.requests,
                   std::filesystem::last_write_time(spec.trace.file, error),
                   std::filesystem::file_size(spec.trace.file, error)};
  // A run asks for the tokens of a request, for its memory and for its time.
  thread_local std::optional<std::pair<Sized, TraceSize>> last;
  if (!last || last->first != what) last.emplace(what, read_size(spec));
  return last->second;
}

}  // namespace servegrid::workload
