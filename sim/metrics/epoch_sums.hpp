// What the epochs of a run come to: averages, gaps between tokens, a sample of the work. Bounded
// memory, whatever the length of the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/epoch.hpp"
#include "metrics/quantile.hpp"
#include "metrics/sketch.hpp"
#include "metrics/token_gaps.hpp"

namespace servegrid::metrics {

/// Decode-only epochs with the same number of sequences, together.
struct DecodeWork {
  std::int64_t sequences = 0;
  double steps = 0, context_steps = 0, seconds = 0;  // context_steps: sum over steps of context
};

class EpochSums {
 public:
  void add(const Epoch& epoch);

  // Integrals over time, all replicas together [s].
  double busy = 0, running = 0, waiting = 0, blocks = 0;
  std::int64_t peak_blocks = 0;
  std::int64_t epochs = 0;
  Ticks prefill_time = 0;  // of epochs that hold prefill
  QuantileSketch gaps;     // between tokens
  GroupedMoments gap_moments;
  /// The first epoch that cannot be, in words; empty = none.
  std::string defect;

  /// Decode-only epochs by sequences (above 65,536 of them to the power of two below).
  [[nodiscard]] const std::vector<DecodeWork>& decode_work() const { return decode_work_; }
  /// A sample of the epochs that hold prefill, each as likely as any other: at most 1,024.
  [[nodiscard]] const std::vector<Epoch>& prefill_sample() const { return prefill_sample_; }

 private:
  bool check(const Epoch& epoch);
  void sample(const Epoch& epoch);

  std::vector<DecodeWork> decode_work_;
  std::vector<Epoch> prefill_sample_;
  std::vector<std::uint64_t> sample_hashes_;
  std::uint64_t sample_limit_ = ~std::uint64_t{0};  // hashes up to it are in the sample
  std::uint64_t prefill_epochs_ = 0;
  std::vector<Ticks> end_of_replica_;
  TokenGaps token_gaps_;
};

}  // namespace servegrid::metrics
