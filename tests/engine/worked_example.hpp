// Ten requests at once on a pool of ten blocks, four at a time and sixteen tokens a step, under
// every policy: the steps of each were worked out on paper from the rules in docs/engines.md.
#pragma once

#include "harness.hpp"

namespace servegrid::test {

using Lines = std::vector<std::string>;

/// Prompt and output tokens: 0: 8+6, 1: 8+6, 2: 4+8, 3: 12+2, 4: 4+4, 5: 8+4, 6: 4+2, 7: 16+2,
/// 8: 4+6, 9: 8+3. A sequence with p prompt and g output tokens so far holds, in the step that
/// gives it one more, ceil((p + g) / 4) blocks; in the steps of its prompt, those of the tokens
/// done.
inline Scenario ten_requests(catalog::Policy policy) {
  Scenario s;
  s.config.policy = policy;
  s.config.pool = {10, 4, 0};
  s.config.knobs.max_num_seqs = 4;
  s.config.knobs.max_num_batched_tokens = 16;
  s.config.knobs.enable_prefix_caching = false;
  constexpr std::array<std::array<std::int64_t, 2>, 10> lengths = {
      {{8, 6}, {8, 6}, {4, 8}, {12, 2}, {4, 4}, {8, 4}, {4, 2}, {16, 2}, {4, 6}, {8, 3}}};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    s.requests.push_back(request(static_cast<std::int64_t>(i), 0, lengths[i][0], lengths[i][1]));
  }
  return s;
}

}  // namespace servegrid::test
