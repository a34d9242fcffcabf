#include "engine/decode_set.hpp"

#include <algorithm>
#include <limits>

namespace servegrid::engine {
namespace {
constexpr std::uint8_t clip_bit = 1U << 7;
constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max() / 4;

// Step counter at which the output reaches the client's cap (it may end before).
std::int64_t cap_end(const Sequence& s) {
  return s.request.prompt_tokens + s.request.output_cap() - s.offset;
}
}  // namespace

DecodeSet::DecodeSet(std::vector<Sequence>& sequences, std::int64_t block_tokens,
                     std::span<const std::int64_t> windows, std::int64_t clip)
    : sequences_(sequences),
      block_tokens_(block_tokens),
      clip_(clip),
      by_residue_(static_cast<std::size_t>(block_tokens), 0) {
  for (const std::int64_t w : windows) classes_.emplace_back().window = w;
}

std::int64_t DecodeSet::residue(std::int64_t value) const {
  const std::int64_t r = value % block_tokens_;
  return r < 0 ? r + block_tokens_ : r;
}

void DecodeSet::push(Heap& heap, std::int64_t at, Slot slot) {
  heap.push({at, sequences_[slot].order, slot, sequences_[slot].version});
}

const DecodeSet::Entry* DecodeSet::top(Heap& heap) {
  while (!heap.empty() && sequences_[heap.top().slot].version != heap.top().version) heap.pop();
  return heap.empty() ? nullptr : &heap.top();
}

void DecodeSet::add(Slot slot) {
  Sequence& s = sequences_[slot];
  s.decoding = true;
  s.saturated = 0;
  s.offset = s.tokens() - counter_;
  ++size_;
  sum_offset_ += s.offset;
  sum_prompt_ += s.request.prompt_tokens;
  sum_output_ += s.request.output_cap();
  ++by_residue_[residue(s.offset)];
  for (Class& c : classes_) {
    ++c.growing;
    c.growing_offsets += s.offset;
    push(c.heap, c.window - s.offset, slot);
  }
  push(finish_, s.request.prompt_tokens + s.request.output_tokens - s.offset, slot);
  if (clip_ > 0) {
    ++clipped_;
    push(unclip_, cap_end(s) - clip_, slot);
  }
  settle();
}

void DecodeSet::remove(Slot slot) {
  Sequence& s = sequences_[slot];
  s.generated = s.offset + counter_ - s.request.prompt_tokens;
  s.decoding = false;
  --size_;
  sum_offset_ -= s.offset;
  sum_prompt_ -= s.request.prompt_tokens;
  sum_output_ -= s.request.output_cap();
  --by_residue_[residue(s.offset)];
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    Class& c = classes_[i];
    if ((s.saturated >> i & 1U) != 0) {
      --c.full;
    } else {
      --c.growing;
      c.growing_offsets -= s.offset;
    }
  }
  if (clip_ > 0) {
    if ((s.saturated & clip_bit) != 0) {
      --unclipped_;
      unclipped_end_ -= cap_end(s);
    } else {
      --clipped_;
    }
  }
  ++s.version;
}

// Moves the sequences that reached a window (or whose remainder fell to the clip) to the other sum.
void DecodeSet::settle() {
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    Class& c = classes_[i];
    for (const Entry* e = top(c.heap); e != nullptr && e->at <= counter_; e = top(c.heap)) {
      Sequence& s = sequences_[e->slot];
      s.saturated |= static_cast<std::uint8_t>(1U << i);
      --c.growing;
      c.growing_offsets -= s.offset;
      ++c.full;
      c.heap.pop();
    }
  }
  for (const Entry* e = top(unclip_); e != nullptr && e->at <= counter_; e = top(unclip_)) {
    Sequence& s = sequences_[e->slot];
    s.saturated |= clip_bit;
    --clipped_;
    ++unclipped_;
    unclipped_end_ += cap_end(s);
    unclip_.pop();
  }
}

void DecodeSet::advance(std::int64_t steps) {
  counter_ += steps;
  settle();
}

Slot DecodeSet::finished() {
  const Entry* e = top(finish_);
  return e != nullptr && e->at <= counter_ ? e->slot : -1;
}

roofline::ContextTokens DecodeSet::context() const {
  roofline::ContextTokens context{};
  context[0] = sum_offset_ + size_ * counter_;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const Class& c = classes_[i];
    context[i + 1] = c.growing_offsets + c.growing * counter_ + c.full * c.window;
  }
  return context;
}

std::int64_t DecodeSet::growing(int context_class) const {
  if (context_class == 0) return size_;
  const auto i = static_cast<std::size_t>(context_class - 1);
  return i < classes_.size() ? classes_[i].growing : 0;
}

// A sequence with `computed` tokens in KV takes a new block when computed % block_tokens == 0, that
// is at step counters d with offset = 1 - d modulo the block size.
std::int64_t DecodeSet::blocks_needed(std::int64_t ahead, std::int64_t steps) const {
  std::int64_t needed = steps / block_tokens_ * size_;
  for (std::int64_t j = 0; j < steps % block_tokens_; ++j) {
    needed += by_residue_[residue(1 - counter_ - ahead - j)];
  }
  return needed;
}

std::int64_t DecodeSet::steps_within(std::int64_t ahead, std::int64_t free) const {
  if (size_ == 0) return unlimited;
  const std::int64_t rounds = free / size_;
  free -= rounds * size_;
  for (std::int64_t j = 0;; ++j) {
    free -= by_residue_[residue(1 - counter_ - ahead - j)];
    if (free < 0) return rounds * block_tokens_ + j;
  }
}

std::int64_t DecodeSet::steps_to_finish() {
  const Entry* e = top(finish_);
  return e == nullptr ? unlimited : e->at - counter_;
}

std::int64_t DecodeSet::steps_to_change() {
  std::int64_t steps = unlimited;
  for (Class& c : classes_) {
    if (const Entry* e = top(c.heap)) steps = std::min(steps, e->at - counter_);
  }
  if (const Entry* e = top(unclip_)) steps = std::min(steps, e->at - counter_);
  return steps;
}

std::int64_t DecodeSet::clipped_remainder(std::int64_t ahead) const {
  return clipped_ * clip_ + unclipped_end_ - unclipped_ * (counter_ + ahead);
}

std::int64_t DecodeSet::tokens_out() const {
  return sum_offset_ + size_ * counter_ - sum_prompt_;
}

}  // namespace servegrid::engine
