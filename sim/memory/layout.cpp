#include "memory/layout.hpp"

#include <algorithm>
#include <cmath>

#include "model/parameters.hpp"
#include "units/error.hpp"

namespace servegrid::memory {

using catalog::Attention;
using catalog::AttentionKind;
using Kind = KvKind::Kind;

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::int64_t element_bytes(std::int64_t elements, catalog::Format f) {
  // Whole bytes: scales of per-tensor FP8 are negligible, block scales are part of the row.
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(elements) * catalog::bytes_per_element(f)));
}

// FP8 key of the indexer and its 4-byte scale (DeepSeek-V3.2: 128 + 4 = 132 B).
std::int64_t indexer_bytes(const Attention& a) {
  return a.indexer_dim > 0 ? a.indexer_dim + 4 : 0;
}

std::int64_t bytes_per_token(const Attention& a, int tp, catalog::Format f) {
  if (a.kind == AttentionKind::mla) {
    return element_bytes(a.kv_lora + a.qk_rope, f) + indexer_bytes(a);  // not divided by TP
  }
  const std::int64_t heads = std::max(1, a.kv_heads / tp);
  const std::int64_t v_dim = a.v_head_dim > 0 ? a.v_head_dim : a.head_dim;
  return element_bytes(heads * (a.head_dim + v_dim), f) + indexer_bytes(a);
}

// Convolution state in 16 bit, recurrent state at its own width.
std::int64_t state_bytes(const Attention& a, int tp, std::int64_t drafts) {
  if (a.kind == AttentionKind::mamba) {
    const std::int64_t groups = std::max(a.ssm_groups, tp);  // groups replicate like KV heads
    const std::int64_t conv = (std::int64_t{a.heads} * a.head_dim + 2 * groups * a.ssm_state) / tp;
    return conv * (a.conv_kernel - 1 + drafts) * 2 +
           std::int64_t{a.heads / tp} * a.head_dim * a.ssm_state * a.state_bytes_per_element;
  }
  const std::int64_t conv = (2 * std::int64_t{a.linear_key_heads} * a.linear_key_dim +
                             std::int64_t{a.linear_value_heads} * a.linear_value_dim) /
                            tp;
  const std::int64_t taps = a.conv_kernel > 0 ? a.conv_kernel - 1 + drafts : 0;
  return conv * taps * 2 + std::int64_t{a.linear_value_heads / tp} * a.linear_key_dim *
                               a.linear_value_dim * a.state_bytes_per_element;
}

KvKind kind_of(const Attention& a, int tp, catalog::Format f, std::int64_t drafts) {
  KvKind k;
  if (model::has_state(a)) {
    k.kind = Kind::state;
    k.state_bytes = state_bytes(a, tp, drafts);
  } else {
    k.kind = a.kind == AttentionKind::window ? Kind::window : Kind::full;
    k.bytes_per_token = bytes_per_token(a, tp, f);
    k.window = k.kind == Kind::window ? a.window : 0;
  }
  return k;
}

void add(std::vector<KvKind>& kinds, const KvKind& k, std::int64_t layers) {
  for (KvKind& have : kinds) {
    if (have.kind == k.kind && have.bytes_per_token == k.bytes_per_token &&
        have.state_bytes == k.state_bytes && have.window == k.window) {
      have.layers += layers;
      return;
    }
  }
  kinds.push_back(k);
  kinds.back().layers = layers;
}

// SGLang: one cell holds a token of the full layers and the window layers' share of it
// (swa_full_tokens_ratio 0.8).
BlockPool sglang_pool(const std::vector<KvKind>& kinds, const LayoutOptions& o) {
  BlockPool p;
  std::int64_t full = 0, window = 0;
  for (const KvKind& k : kinds) {
    if (k.kind == Kind::full) full += k.layers * k.bytes_per_token;
    if (k.kind == Kind::window) window += k.layers * k.bytes_per_token;
    if (k.kind == Kind::state) p.state_slot_bytes += k.layers * k.state_bytes;
    p.group_size += k.layers;
  }
  const std::int64_t cell = full > 0 ? full + window * 4 / 5 : window;
  p.block_tokens = o.block_tokens;
  p.page_bytes = cell * o.block_tokens;
  p.block_bytes = p.page_bytes;
  if (cell > 0) p.groups.push_back({Kind::full, o.block_tokens, 0});
  return p;
}

// TensorRT-LLM: every attention layer keeps every token in blocks of tokens_per_block.
BlockPool trtllm_pool(const std::vector<KvKind>& kinds, const LayoutOptions& o) {
  BlockPool p;
  std::int64_t bytes = 0;
  for (const KvKind& k : kinds) {
    bytes += k.layers * k.bytes_per_token;
    if (k.kind == Kind::state) p.state_slot_bytes += k.layers * k.state_bytes;
    p.group_size += k.layers;
  }
  p.block_tokens = o.block_tokens;
  p.page_bytes = p.block_bytes = bytes * o.block_tokens;
  if (bytes > 0) p.groups.push_back({Kind::full, o.block_tokens, 0});
  return p;
}

// vLLM: all groups draw blocks of one size. A state's page decides the attention block when there
// is one: the block grows by 16 tokens until its page holds the state.
BlockPool vllm_pool(const std::vector<KvKind>& kinds, const LayoutOptions& o) {
  BlockPool p;
  std::int64_t state = 0, widest = 0, least = 0, most = 0;
  for (const KvKind& k : kinds) {
    state = std::max(state, k.state_bytes);
    widest = std::max(widest, k.bytes_per_token);
    least = least == 0 ? k.layers : std::min(least, k.layers);
    most = std::max(most, k.layers);
  }
  p.block_tokens = o.block_tokens;
  if (state > 0 && widest > 0) {
    p.block_tokens = std::max(o.block_tokens, ceil_div(ceil_div(state, widest), 16) * 16);
  }
  p.page_bytes = std::max(p.block_tokens * widest, state);
  p.group_size = 2 * most < 3 * least ? most : least;
  p.block_bytes = p.page_bytes * p.group_size;
  p.tokens_in_flight = o.tokens_in_flight;
  p.state_blocks = (o.prefix_caching ? 2 : 1) + o.draft_tokens;
  for (const KvKind& k : kinds) {
    BlockPool::Group g{k.kind, p.block_tokens, k.window};
    if (k.kind != Kind::state) {
      const std::int64_t page = p.block_tokens * k.bytes_per_token;
      if (p.page_bytes % page == 0) g.block_tokens *= p.page_bytes / page;  // else padded
    }
    for (std::int64_t i = 0; i < ceil_div(k.layers, p.group_size); ++i) p.groups.push_back(g);
  }
  return p;
}

}  // namespace

std::vector<KvKind> kv_kinds(const model::Deployment& d, std::int64_t draft_tokens) {
  std::vector<KvKind> kinds;
  for (const auto& g : d.model.layers) {
    if (!model::has_attention(g.attention)) continue;
    add(kinds, kind_of(g.attention, d.parallel.tp, d.kv_cache, draft_tokens), g.count);
  }
  for (KvKind& k : kinds) k.layers = ceil_div(k.layers, d.parallel.pp);
  if (d.speculation.draft) {
    for (const auto& g : d.speculation.draft->layers) {
      if (!model::has_attention(g.attention)) continue;
      add(kinds, kind_of(g.attention, d.parallel.tp, d.kv_cache, draft_tokens), g.count);
    }
    return kinds;
  }
  using Method = catalog::Speculation::Method;
  const bool ngram = d.speculation.method == Method::ngram;
  if (draft_tokens > 0 && d.model.mtp_layers > 0 && !ngram) {
    const auto& draft = model::mtp_layer(d.model).attention;
    add(kinds, kind_of(draft, d.parallel.tp, d.kv_cache, draft_tokens), d.model.mtp_layers);
  }
  return kinds;
}

BlockPool make_pool(const std::vector<KvKind>& kinds, const LayoutOptions& options) {
  if (options.kind == "vllm") return vllm_pool(kinds, options);
  if (options.kind == "sglang") return sglang_pool(kinds, options);
  if (options.kind == "trtllm") return trtllm_pool(kinds, options);
  throw InputError("memory kind '" + options.kind + "' is not one of vllm, sglang, trtllm");
}

std::int64_t BlockPool::state_sequences_in(std::int64_t kv_bytes) const {
  if (state_slot_bytes == 0) return -1;
  // mamba_full_memory_ratio 0.9 of the KV part goes to states first; 3 slots a running sequence.
  return std::max<std::int64_t>(0, kv_bytes) * 9 / 19 / state_slot_bytes / 3;
}

std::int64_t BlockPool::blocks_in(std::int64_t kv_bytes) const {
  if (kv_bytes <= 0 || block_bytes == 0) return 0;
  const std::int64_t for_kv = state_slot_bytes > 0 ? kv_bytes - kv_bytes * 9 / 19 : kv_bytes;
  return for_kv / block_bytes;
}

std::int64_t BlockPool::blocks_of(std::int64_t length) const {
  std::int64_t n = 0;
  for (const Group& g : groups) {
    switch (g.kind) {
      case Kind::full:
        n += ceil_div(length, g.block_tokens);
        break;
      case Kind::window:
        n += ceil_div(std::min(g.window - 1 + tokens_in_flight, length), g.block_tokens) + 1;
        break;
      case Kind::state:
        n += state_blocks;
        break;
    }
  }
  return n;
}

std::int64_t BlockPool::blocks_resident(std::int64_t length) const {
  std::int64_t n = 0;
  for (const Group& g : groups) {
    const std::int64_t all = ceil_div(length, g.block_tokens);
    switch (g.kind) {
      case Kind::full:
        n += all;
        break;
      case Kind::window:
        n += std::min(all, ceil_div(g.window, g.block_tokens) + 1);
        break;
      case Kind::state:
        n += state_blocks;
        break;
    }
  }
  return n;
}

std::int64_t BlockPool::growing_groups() const {
  const auto of = [this](Kind kind) {
    return std::count_if(groups.begin(), groups.end(),
                         [kind](const Group& g) { return g.kind == kind; });
  };
  const auto full = of(Kind::full);
  return full > 0 ? full : of(Kind::window);
}

std::int64_t BlockPool::fixed_blocks() const {
  const bool full = std::any_of(groups.begin(), groups.end(),
                                [](const Group& g) { return g.kind == Kind::full; });
  std::int64_t n = 0;
  for (const Group& g : groups) {
    if (g.kind == Kind::window && full) n += ceil_div(g.window, g.block_tokens) + 1;
    if (g.kind == Kind::state) n += state_blocks;
  }
  return n;
}

std::int64_t BlockPool::longest(std::int64_t blocks, std::int64_t limit) const {
  std::int64_t low = 0, high = limit;  // blocks_of grows with length
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (blocks_of(middle) <= blocks) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

std::int64_t BlockPool::printed_tokens(std::int64_t blocks, std::int64_t max_model_len,
                                       const std::string& how) const {
  if (groups.empty()) return 0;
  if (how == "blocks") {
    std::int64_t smallest = groups.front().block_tokens;
    for (const Group& g : groups) smallest = std::min(smallest, g.block_tokens);
    return blocks / static_cast<std::int64_t>(groups.size()) * smallest;
  }
  if (how != "concurrency") {
    throw InputError("printed_tokens '" + how + "' is neither concurrency nor blocks");
  }
  const std::int64_t one = blocks_of(max_model_len);
  return static_cast<std::int64_t>(static_cast<__int128>(blocks) * max_model_len / one);
}

double sequence_bytes(const std::vector<KvKind>& kinds, std::int64_t length) {
  std::int64_t bytes = 0;
  for (const KvKind& k : kinds) {
    const std::int64_t tokens = k.kind == Kind::window ? std::min(k.window, length) : length;
    bytes += k.layers * (k.kind == Kind::state ? k.state_bytes : k.bytes_per_token * tokens);
  }
  return static_cast<double>(bytes);
}

}  // namespace servegrid::memory
