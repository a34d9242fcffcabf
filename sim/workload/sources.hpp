// The sources there are, one file each.
#pragma once

#include <memory>

#include "workload/source.hpp"

namespace servegrid::workload {

std::unique_ptr<Source> make_conversations(const catalog::WorkloadSpec& spec, std::uint64_t seed);
std::unique_ptr<Source> make_closed(const catalog::WorkloadSpec& spec, std::uint64_t seed);
std::unique_ptr<Source> make_open(const catalog::WorkloadSpec& spec, std::uint64_t seed);
std::unique_ptr<Source> make_trace(const catalog::WorkloadSpec& spec);

/// The stream of the system prompt that all requests share; conversations count from 1.
inline constexpr StreamId system_prompt = 0;

/// Marks the leading tokens that all share.
inline void share_prefix(Request& request, std::int64_t tokens) {
  if (tokens <= 0) return;
  request.shared_prefix = tokens < request.prompt_tokens ? tokens : request.prompt_tokens;
  request.shared_stream = system_prompt;
}

}  // namespace servegrid::workload
