// How large a trace is, before it is replayed.
#pragma once

#include <cstdint>

#include "catalog/scenario.hpp"

namespace servegrid::workload {

struct TraceSize {
  std::int64_t requests_at_most = 0;        // lines of the file, or what the workload asks for
  double mean_prompt = 0, mean_output = 0;  // [tokens], of the first requests
};

/// Counts the file's lines and reads its first 20,000 requests; asked again for the same file, it
/// remembers. Throws InputError as reading it does.
TraceSize size_of_trace(const catalog::WorkloadSpec& spec);

}  // namespace servegrid::workload
