#include "engine/decode_set.hpp"

#include <algorithm>
#include <limits>

namespace servegrid::engine {
namespace {
constexpr std::uint8_t clip_bit = 1U << 7;
constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max() / 4;
}  // namespace

DecodeSet::DecodeSet(std::vector<Sequence>& sequences, std::int64_t block_tokens,
                     std::span<const std::int64_t> windows, std::int64_t clip, const Pace& pace)
    : sequences_(sequences), pace_(pace), clip_(units(clip)), needs_(block_tokens, pace) {
  for (const std::int64_t w : windows) classes_.emplace_back().window = units(w);
}

// The first step counter at which a sequence of offset 0 has that many units.
std::int64_t DecodeSet::reaches(std::int64_t units) const {
  const std::int64_t at = units / pace_.units;
  return at * pace_.units < units ? at + 1 : at;
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
  s.offset = units(s.tokens()) - counter_ * pace_.units;
  ++size_;
  sum_offset_ += s.offset;
  sum_prompt_ += s.request.prompt_tokens;
  sum_output_ += s.request.output_cap();
  needs_.add(s.offset);
  for (Class& c : classes_) {
    ++c.growing;
    c.growing_offsets += s.offset;
    push(c.heap, reaches(c.window - s.offset), slot);
  }
  push(finish_, reaches(end_of(s, s.request.output_tokens)), slot);
  if (clip_ > 0) {
    ++clipped_;
    push(unclip_, reaches(end_of(s, s.request.output_cap()) - clip_), slot);
  }
  settle();
}

void DecodeSet::remove(Slot slot) {
  Sequence& s = sequences_[slot];
  left_generated_ += generated(s) - s.generated;
  s.generated = generated(s);
  s.decoding = false;
  --size_;
  sum_offset_ -= s.offset;
  sum_prompt_ -= s.request.prompt_tokens;
  sum_output_ -= s.request.output_cap();
  needs_.remove(s.offset);
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
      unclipped_end_ -= end_of(s, s.request.output_cap());
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
    unclipped_end_ += end_of(s, s.request.output_cap());
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

std::int64_t DecodeSet::bump(Slot slot, std::int64_t tokens) {
  Sequence& s = sequences_[slot];
  const std::int64_t held = this->held(s);
  remove(slot);
  const std::int64_t gained = std::min(tokens, s.request.output_tokens - s.generated);
  s.generated += gained;
  left_generated_ += gained;
  add(slot);
  return this->held(s) - held;
}

roofline::ContextTokens DecodeSet::context_units() const {
  roofline::ContextTokens context{};
  const std::int64_t gained = counter_ * pace_.units;
  context[0] = sum_offset_ + size_ * gained;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const Class& c = classes_[i];
    context[i + 1] = c.growing_offsets + c.growing * gained + c.full * c.window;
  }
  return context;
}

roofline::ContextTokens DecodeSet::context() const {
  roofline::ContextTokens context = context_units();
  for (std::int64_t& c : context) c >>= pace_.shift;
  return context;
}

std::int64_t DecodeSet::growing(int context_class) const {
  if (context_class == 0) return size_;
  const auto i = static_cast<std::size_t>(context_class - 1);
  return i < classes_.size() ? classes_[i].growing : 0;
}

std::int64_t DecodeSet::blocks_needed(std::int64_t ahead, std::int64_t steps) const {
  return needs_.needed(counter_ + ahead, steps);
}

std::int64_t DecodeSet::steps_within(std::int64_t ahead, std::int64_t free) const {
  return needs_.within(counter_ + ahead, free);
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
  const std::int64_t gained = (counter_ + ahead) * pace_.units;
  return (clipped_ * clip_ + unclipped_end_ - unclipped_ * gained) >> pace_.shift;
}

std::int64_t DecodeSet::tokens_out() const {
  return ((sum_offset_ + size_ * counter_ * pace_.units) >> pace_.shift) - sum_prompt_;
}

}  // namespace servegrid::engine
