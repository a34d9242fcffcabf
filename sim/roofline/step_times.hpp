// What the engine asks of a step model, and nothing else. Times are rounded to ticks here and
// nowhere else.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "units/time.hpp"

namespace servegrid::roofline {

/// Context classes: 0 = full attention (all tokens), 1.. = sliding windows (min(tokens, window)).
inline constexpr int max_context_classes = 3;
using ContextTokens = std::array<std::int64_t, max_context_classes>;

/// A decode step of n sequences takes base + sum over classes of per_token[c] * (context tokens of
/// class c, all sequences together): exactly affine, in integers.
struct DecodeCost {
  Ticks base = 0;
  std::array<Ticks, max_context_classes> per_token{};
};

/// One prefill chunk: `tokens` new ones over `cached` tokens of context; `samples` when it ends its
/// prompt.
struct PrefillChunk {
  std::int64_t tokens = 0;
  std::int64_t cached = 0;
  bool samples = false;
};

class StepTimes {
 public:
  virtual ~StepTimes() = default;
  /// Windows of classes 1.. in tokens (ascending), at most max_context_classes - 1 of them.
  [[nodiscard]] virtual std::span<const std::int64_t> windows() const = 0;
  /// Cost of a decode-only step of `sequences` > 0. Memoised: O(1) after the first call. Not
  /// thread-safe.
  [[nodiscard]] virtual DecodeCost decode(std::int64_t sequences) const = 0;
  /// Duration of a step that holds prefill chunks beside `sequences` decoding ones with `context`
  /// tokens together.
  [[nodiscard]] virtual Ticks mixed(std::span<const PrefillChunk> chunks, std::int64_t sequences,
                                    const ContextTokens& context) const = 0;
  /// The same for one rank of attention data parallelism: sequences and chunks are its own; `rows`
  /// are the tokens of the step on all ranks together, which the experts see.
  [[nodiscard]] virtual DecodeCost decode_rank(std::int64_t sequences,
                                               std::int64_t /*rows*/) const {
    return decode(sequences);
  }
  [[nodiscard]] virtual Ticks mixed_rank(std::span<const PrefillChunk> chunks,
                                         std::int64_t sequences, const ContextTokens& context,
                                         std::int64_t /*rows*/) const {
    return mixed(chunks, sequences, context);
  }
  /// TTFT reporting: ticks added to a first token, and steps of the current duration added (client
  /// and stream costs).
  [[nodiscard]] virtual Ticks first_token_delay() const = 0;
  [[nodiscard]] virtual double first_token_steps() const = 0;
};

}  // namespace servegrid::roofline
