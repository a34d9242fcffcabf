// The sources there are, one file each.
#pragma once

#include <memory>

#include "workload/source.hpp"

namespace servegrid::workload {

std::unique_ptr<Source> make_conversations(const catalog::WorkloadSpec& spec, std::uint64_t seed);
std::unique_ptr<Source> make_closed(const catalog::WorkloadSpec& spec, std::uint64_t seed);
std::unique_ptr<Source> make_open(const catalog::WorkloadSpec& spec, std::uint64_t seed);
std::unique_ptr<Source> make_batch(const catalog::WorkloadSpec& spec, std::uint64_t seed);
std::unique_ptr<Source> make_trace(const catalog::WorkloadSpec& spec);

/// A class's system prompt is the stream of the class's index; conversations and traces number
/// theirs from here.
inline constexpr StreamId first_stream = 1'000'000;

/// Marks the leading tokens that all of a class share.
inline void share_prefix(Request& request, std::int64_t tokens, int class_index) {
  if (tokens <= 0) return;
  request.shared_prefix = tokens < request.prompt_tokens ? tokens : request.prompt_tokens;
  request.shared_stream = class_index;
}

}  // namespace servegrid::workload
