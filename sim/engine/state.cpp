#include "engine/state.hpp"

#include <algorithm>
#include <tuple>

namespace servegrid::engine {

State::State(const ReplicaConfig& c, const PoolRules& rules, const roofline::StepTimes& s,
             Listener& l)
    : config(c),
      steps(s),
      listener(l),
      rules_(rules),
      decodes(sequences_, c.pool.block_tokens, s.windows(), rules.clip, c.pace),
      pool(std::max<std::int64_t>(0, c.pool.num_blocks - rules.null_blocks), c.pool.block_tokens,
           c.knobs.enable_prefix_caching, rules.keep_duplicates, rules.eviction, c.tiers) {}

Slot State::create(const workload::Request& request, Ticks now) {
  Slot slot;
  if (unused_.empty()) {
    slot = static_cast<Slot>(sequences_.size());
    sequences_.emplace_back();
  } else {
    slot = unused_.back();
    unused_.pop_back();
    const std::uint32_t version = (*this)[slot].version;
    (*this)[slot] = Sequence{};
    (*this)[slot].version = version + 1;
  }
  (*this)[slot].request = request;
  (*this)[slot].loaded = request.loaded_tokens;
  (*this)[slot].submitted = now;
  return slot;
}

void State::destroy(Slot slot) {
  unused_.push_back(slot);
}

PrefixCache::Match State::match(const Sequence& s) const {
  return pool.match(s.request, (s.tokens() - 1) / config.pool.block_tokens);
}

void State::admit(Slot slot, const PrefixCache::Match& match, Ticks now) {
  Sequence& s = (*this)[slot];
  const std::int64_t hit = match.blocks() * config.pool.block_tokens;
  loading += pool.acquire(s.hold, s.request, match);
  pool.allocate(config.pool.fixed_blocks);
  s.computed = known(s, match);
  s.blocks = match.blocks();
  s.order = admissions_++;
  link(slot);
  partials.push_back(slot);
  partial_tokens += s.computed;
  if (pool.caching()) {
    counters.prefix_queries += s.tokens();
    counters.prefix_hits += hit;
    counters.host_hits += match.loaded[0] * config.pool.block_tokens;
    counters.disk_hits += match.loaded[1] * config.pool.block_tokens;
  }
  const std::int64_t prompt_hit = std::min(hit, s.request.prompt_tokens);
  if (prompt_hit > s.seen_prompt) {
    counters.tokens_cached += prompt_hit - s.seen_prompt;
    s.seen_prompt = prompt_hit;
  }
  if (s.computed > hit) {
    counters.tokens_loaded += s.computed - hit;
    s.seen_prompt = std::max(s.seen_prompt, s.computed);
  }
  if (!s.scheduled) {
    s.scheduled = true;
    listener.scheduled(s.request.id, now, hit);
  }
}

void State::link(Slot slot) {
  Sequence& s = (*this)[slot];
  s.previous = newest;
  s.next = -1;
  (newest >= 0 ? (*this)[newest].next : oldest) = slot;
  newest = slot;
  ++running;
  counters.peak_running = std::max(counters.peak_running, running);
}

void State::unlink(Slot slot) {
  const Sequence& s = (*this)[slot];
  (s.previous >= 0 ? (*this)[s.previous].next : oldest) = s.next;
  (s.next >= 0 ? (*this)[s.next].previous : newest) = s.previous;
  --running;
}

void State::reserve(Slot slot, std::int64_t blocks) {
  Sequence& s = (*this)[slot];
  if (blocks <= s.blocks) return;
  pool.allocate(blocks - s.blocks);
  s.blocks = blocks;
}

bool State::only_loaded(const Plan& plan) const {
  return std::all_of(plan.chunks.begin(), plan.chunks.end(),
                     [this](const Chunk& c) { return is_loaded(c); });
}

std::int64_t State::chunk_blocks(const Sequence& s, std::int64_t tokens) const {
  return std::max<std::int64_t>(0, blocks_for(s.computed + tokens) - s.blocks);
}

void State::schedule_chunk(Slot slot, std::int64_t tokens, Plan& plan) {
  Sequence& s = (*this)[slot];
  const std::int64_t blocks = chunk_blocks(s, tokens);
  pool.allocate(blocks);
  s.blocks += blocks;
  plan.chunks.push_back({slot, tokens, s.computed});
  s.computed += tokens;
  partial_tokens += tokens;
  const std::int64_t prompt = std::min(s.computed, s.request.prompt_tokens);
  const std::int64_t fresh = std::max<std::int64_t>(0, prompt - s.seen_prompt);
  counters.tokens_prefilled += fresh;
  counters.tokens_recomputed += tokens - fresh;
  s.seen_prompt += fresh;
  pool.publish(s.hold, s.request, s.computed / config.pool.block_tokens);
}

std::int64_t State::held(const Sequence& s) const {
  const bool grows = s.decoding && !rules_.reserved;
  const std::int64_t blocks = grows ? decodes.held(s) : s.blocks;
  return blocks + config.pool.fixed_blocks;
}

std::int64_t State::held_in_step(const Sequence& s) const {
  const bool grows = s.decoding && !rules_.reserved;
  return held(s) + (grows ? decodes.step_blocks(s) : 0);
}

// Off the running list and out of the step, with its blocks; s.computed and s.blocks say which.
void State::leave(Slot slot) {
  Sequence& s = (*this)[slot];
  s.blocks = held(s);
  if (s.decoding) {
    decodes.remove(slot);
    s.computed = s.tokens() - 1;  // the step that ends a sequence may go beyond its end
  } else {
    partials.erase(std::find(partials.begin(), partials.end(), slot));
    partial_tokens -= s.computed;
  }
  unlink(slot);
}

void State::stop(Slot slot, bool insert) {
  leave(slot);
  Sequence& s = (*this)[slot];
  // KV that came with it and is not in blocks yet is nothing to keep.
  const std::int64_t full = std::min(s.computed / config.pool.block_tokens, s.blocks);
  pool.release(s.hold, s.request, s.blocks, full, insert);
  s.computed = 0;
  s.blocks = 0;
  s.loaded = 0;
}

void State::free_kept(Slot slot) {
  Sequence& s = (*this)[slot];
  pool.release(s.hold, s.request, s.blocks, s.computed / config.pool.block_tokens, true);
}

void State::preempt(Slot slot, bool insert, Ticks now) {
  stop(slot, insert);
  ++counters.preemptions;
  listener.preempted((*this)[slot].request.id, now);
}

std::int64_t State::swap_out(Slot slot, Ticks now) {
  Sequence& s = (*this)[slot];
  const std::int64_t blocks = held(s);
  s.computed = decodes.computed(s);
  decodes.remove(slot);
  s.blocks = blocks - config.pool.fixed_blocks;
  pool.release(s.hold, s.request, blocks, 0, false);
  unlink(slot);
  host_blocks += blocks;
  counters.swapped_out += blocks;
  ++counters.preemptions;
  listener.preempted(s.request.id, now);
  return blocks;
}

std::int64_t State::swap_in(Slot slot) {
  Sequence& s = (*this)[slot];
  const std::int64_t blocks = s.blocks + config.pool.fixed_blocks;
  pool.allocate(blocks);
  decodes.add(slot);
  link(slot);
  host_blocks -= blocks;
  counters.swapped_in += blocks;
  return blocks;
}

void State::hold_back(Slot slot, Plan& plan) {
  Sequence& s = (*this)[slot];
  s.computed = decodes.computed(s);
  s.blocks = decodes.held(s);
  decodes.remove(slot);
  plan.held_back.push_back(slot);
}

void State::release_held(Plan& plan) {
  for (const Slot slot : plan.held_back) decodes.add(slot);
  plan.held_back.clear();
}

void State::enqueue(Slot slot) {
  const auto before = [this](Slot a, Slot b) {
    return (*this)[a].request.priority < (*this)[b].request.priority;
  };
  const bool by_priority = config.knobs.by_priority;
  waiting.insert(
      by_priority ? std::upper_bound(waiting.begin(), waiting.end(), slot, before) : waiting.end(),
      slot);
}

void State::enqueue_front(Slot slot) {
  if (!config.knobs.by_priority) return waiting.push_front(slot);
  const auto before = [this](Slot a, Slot b) {
    const Sequence& x = (*this)[a];
    const Sequence& y = (*this)[b];
    return std::tie(x.request.priority, x.submitted, x.request.id) <
           std::tie(y.request.priority, y.submitted, y.request.id);
  };
  waiting.insert(std::lower_bound(waiting.begin(), waiting.end(), slot, before), slot);
}

Slot State::find(workload::RequestId id) const {
  for (const std::deque<Slot>* queue : {&waiting, &inbox, &swapped}) {
    for (const Slot slot : *queue) {
      if ((*this)[slot].request.id == id) return slot;
    }
  }
  for (Slot slot = oldest; slot >= 0; slot = (*this)[slot].next) {
    if ((*this)[slot].request.id == id) return slot;
  }
  return -1;
}

bool State::dequeue(Slot slot) {
  for (std::deque<Slot>* queue : {&waiting, &inbox, &swapped}) {
    const auto at = std::find(queue->begin(), queue->end(), slot);
    if (at == queue->end()) continue;
    if (queue == &swapped) host_blocks -= (*this)[slot].blocks + config.pool.fixed_blocks;
    queue->erase(at);
    return true;
  }
  return false;
}

void State::promote(Slot slot) {
  Sequence& s = (*this)[slot];
  partials.erase(std::find(partials.begin(), partials.end(), slot));
  partial_tokens -= s.computed;
  ++s.generated;
  ++counters.tokens_generated;
  decodes.add(slot);
}

}  // namespace servegrid::engine
