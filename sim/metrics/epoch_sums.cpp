#include "metrics/epoch_sums.hpp"

#include <algorithm>
#include <bit>

namespace servegrid::metrics {

namespace {

constexpr std::size_t most_sampled = 1024;
constexpr std::int64_t most_told_apart = 65536;

// SplitMix64's finalizer: neighbouring epochs (the chunks of one prompt) fall independently.
std::uint64_t mix(std::uint64_t z) {
  z = (z + 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace

void EpochSums::add(const Epoch& e) {
  if (!check(e)) return;
  ++epochs;
  const Ticks duration = e.duration();
  const double seconds = to_seconds(duration);
  busy += seconds;
  running += seconds * static_cast<double>(e.running);
  waiting += seconds * static_cast<double>(e.waiting);
  blocks += seconds * static_cast<double>(e.blocks_used);
  peak_blocks = std::max(peak_blocks, e.blocks_used);
  for (const Range& gap : token_gaps_.next(e)) {
    if (gap.steps < 1 || gap.weight < 1) continue;
    gaps.add(gap);
    gap_moments.add(gap);
  }
  if (e.steps <= 0) return;
  if (e.prefill_tokens > 0) {
    prefill_time += duration;
    sample(e);
    return;
  }
  if (e.sequences <= 0) return;
  std::int64_t n = e.sequences;
  if (n > most_told_apart)
    n = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
  const auto i = static_cast<std::size_t>(
      n <= most_told_apart ? n : most_told_apart + std::bit_width(static_cast<std::uint64_t>(n)));
  if (i >= decode_work_.size()) decode_work_.resize(i + 1);
  DecodeWork& work = decode_work_[i];
  const auto steps = static_cast<double>(e.steps);
  work.sequences = n;
  work.steps += steps;
  work.context_steps += steps * (static_cast<double>(e.context_tokens) +
                                 static_cast<double>(e.sequences) * (steps - 1) / 2);
  work.seconds += seconds;
}

// Keeps the epochs whose hash is among the smallest: a sample of bounded size whose members are
// independent of what repeats in the timeline.
void EpochSums::sample(const Epoch& epoch) {
  const std::uint64_t hash = mix(prefill_epochs_++);
  if (hash > sample_limit_) return;
  prefill_sample_.push_back(epoch);
  sample_hashes_.push_back(hash);
  while (prefill_sample_.size() > most_sampled) {
    sample_limit_ /= 2;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < prefill_sample_.size(); ++i) {
      if (sample_hashes_[i] > sample_limit_) continue;
      sample_hashes_[kept] = sample_hashes_[i];
      prefill_sample_[kept++] = prefill_sample_[i];
    }
    prefill_sample_.resize(kept);
    sample_hashes_.resize(kept);
  }
}

// Whether it can be added up.
bool EpochSums::check(const Epoch& e) {
  const auto replica = static_cast<std::size_t>(e.replica);
  if (replica >= end_of_replica_.size()) end_of_replica_.resize(replica + 1, 0);
  const bool sound = e.steps >= 0 && e.sequences >= 0 && e.first_step >= 0 && e.step_growth >= 0;
  if (defect.empty()) {
    if (!sound) {
      defect = "an epoch of replica " + std::to_string(e.replica) + " has a negative size";
    } else if (e.start < end_of_replica_[replica]) {
      defect = "epochs of replica " + std::to_string(e.replica) + " overlap";
    }
  }
  if (sound) end_of_replica_[replica] = e.start + e.duration();
  return sound;
}

}  // namespace servegrid::metrics
