#include "memory/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "memory/layout.hpp"
#include "memory/lines.hpp"
#include "memory/reserve.hpp"
#include "memory/weights.hpp"
#include "model/parameters.hpp"
#include "units/error.hpp"

namespace servegrid::memory {

using catalog::Scenario;

namespace {

constexpr int largest_group = 64;  // GPUs

std::int64_t floor_bytes(double bytes) {
  return static_cast<std::int64_t>(std::floor(bytes));
}

// SGLang's own default of mem_fraction_static when none is given: what it keeps for activations,
// graphs and parallelism, in MB, out of the memory seen (server_args.py).
double sglang_fraction(const Scenario& s, double memory) {
  if (s.knobs.memory_fraction > 0) return s.knobs.memory_fraction;
  const auto chunk =
      static_cast<double>(std::max<std::int64_t>(s.knobs.max_num_batched_tokens, 2048));
  const double largest = s.knobs.graph_sizes.empty()
                             ? 0
                             : static_cast<double>(*std::max_element(s.knobs.graph_sizes.begin(),
                                                                     s.knobs.graph_sizes.end()));
  const double reserved =
      512 + 1.5 * chunk + s.parallel.tp * s.parallel.pp / 8.0 * 1024 + 2 * largest;
  const double mb = memory / (1024.0 * 1024.0);
  return std::round((mb - reserved) / mb * 1000) / 1000;
}

std::string layout_kind(const Scenario& s) {
  const std::string& kind = s.engine.memory.kind;
  if (kind == "vllm" || kind == "sglang" || kind == "trtllm") return kind;
  throw InputError("engine '" + s.engine.name + "' has memory kind '" + kind +
                   "': expected vllm, sglang or trtllm");
}

LayoutOptions layout_options(const Scenario& s) {
  LayoutOptions o;
  o.kind = layout_kind(s);
  o.block_tokens = s.knobs.block_size;
  const std::int64_t batches =
      std::max<std::int64_t>(s.parallel.pp, s.knobs.async_scheduling ? 2 : 1);
  o.tokens_in_flight = s.knobs.max_num_batched_tokens * batches;
  o.prefix_caching = s.knobs.enable_prefix_caching;
  o.draft_tokens = s.speculation.verified - 1;
  return o;
}

// Everything taken away on the way from the device to the pool.
struct Account {
  Lines lines;
  Weights weights;
  Reserve reserve;
  std::int64_t weights_bytes = 0, reserve_bytes = 0, band = 0, repack = 0;
  std::int64_t left_free = 0, total = 0;
};

void take_weights(const Scenario& s, Account& a) {
  if (s.weights_bytes) {
    a.weights_bytes = floor_bytes(*s.weights_bytes);
    a.lines.add("weights", -a.weights_bytes, "measured, given by the scenario");
    return;
  }
  for (const WeightClass& c : a.weights.classes) {
    a.lines.add(fmt::format("weights: {}", model::name(c.part)), -c.bytes,
                fmt::format("{}, {}", catalog::name(c.format), c.note));
  }
  if (a.weights.draft > 0) {
    a.lines.add("weights: draft", -a.weights.draft, a.weights.draft_note);
  }
  a.weights_bytes = a.weights.total;
  a.repack = a.weights.repack_band;
}

void take_reserve(const Scenario& s, Account& a) {
  if (s.reserve_bytes) {
    a.reserve_bytes = floor_bytes(*s.reserve_bytes);
    a.lines.add("reserve", -a.reserve_bytes, "measured, given by the scenario");
    return;
  }
  const Reserve& r = a.reserve;
  if (r.activation > 0) a.lines.add("activation peak", -r.activation, r.activation_source);
  if (r.nontorch > 0) a.lines.add("non-torch", -r.nontorch, r.nontorch_source);
  if (r.graphs_charged && r.graphs > 0) {
    a.lines.add("CUDA graphs", -r.graphs, "0.25 GiB per 32 layers, start-up logs");
  }
  a.reserve_bytes = r.activation + r.nontorch + (r.graphs_charged ? r.graphs : 0);
  a.band = floor_bytes(r.band);
}

// vLLM: a fraction of the device, minus everything.
void vllm_account(const Scenario& s, Account& a) {
  const auto requested =
      static_cast<std::int64_t>(std::ceil(static_cast<double>(a.total) * s.knobs.memory_fraction));
  a.left_free = a.total - requested;
  a.lines.add("left free", -a.left_free,
              fmt::format("1 - gpu_memory_utilization {}", s.knobs.memory_fraction));
  take_weights(s, a);
  take_reserve(s, a);
}

// SGLang: a fraction of what is free before loading, minus the weights; activations and graphs live
// in the rest.
void sglang_account(const Scenario& s, Account& a) {
  take_reserve(s, a);
  const std::int64_t before = a.lines.sum();
  const double fraction = sglang_fraction(s, static_cast<double>(before));
  a.left_free = before - floor_bytes(static_cast<double>(before) * fraction);
  a.lines.add("left free", -a.left_free,
              fmt::format("1 - mem_fraction_static {}: activations and graphs", fraction));
  take_weights(s, a);
}

// TensorRT-LLM: a fraction of what is free after loading and after the dummy run.
void trtllm_account(const Scenario& s, Account& a) {
  take_weights(s, a);
  take_reserve(s, a);
  const std::int64_t free = std::max<std::int64_t>(0, a.lines.sum());
  a.left_free = free - floor_bytes(static_cast<double>(free) * s.knobs.memory_fraction);
  a.lines.add("left free", -a.left_free,
              fmt::format("1 - free_gpu_memory_fraction {}", s.knobs.memory_fraction));
}

Account account_of(const Scenario& s, const std::string& kind) {
  Account a;
  a.weights = weights_of(model::deployment_of(s));
  a.reserve = reserve_of(s);
  a.total = floor_bytes(s.gpu.engine_bytes());
  a.lines.add("device memory", a.total, "as the engine sees it");
  if (kind == "vllm") vllm_account(s, a);
  if (kind == "sglang") sglang_account(s, a);
  if (kind == "trtllm") trtllm_account(s, a);
  return a;
}

// Pool bytes of one GPU; the lines end there.
std::int64_t pool_bytes(const Scenario& s, const BlockPool& pool, Account& a) {
  std::int64_t bytes = a.lines.sum();
  if (s.num_gpu_blocks) {
    const std::int64_t per_rank = *s.num_gpu_blocks / s.parallel.dp;
    bytes = per_rank * pool.block_bytes;
    a.lines.close_at(bytes, "measured", "num_gpu_blocks of the scenario in place of the account");
  } else if (s.kv_bytes) {
    bytes = floor_bytes(*s.kv_bytes);
    a.lines.close_at(bytes, "measured", "kv_bytes of the scenario in place of the account");
  } else if (bytes < 0) {
    a.lines.close_at(0, "short by", "does not fit: what would be missing");
    bytes = 0;
  }
  return bytes;
}

// A max_model_len somebody asked for; the model's own maximum is what an engine takes when nobody
// did.
bool length_asked_for(const Scenario& s) {
  return s.knobs.max_model_len != 0 && s.knobs.max_model_len != s.model.max_context;
}

// Longest request that must fit for the engine to start, and to be of use.
std::int64_t needed_tokens(const Scenario& s, const Options& o) {
  return length_asked_for(s) ? std::max(o.context_tokens, s.knobs.max_model_len) : o.context_tokens;
}

void fill_capacity(const Scenario& s, const Options& o, const BlockPool& pool, std::int64_t bytes,
                   Ledger& l) {
  const std::int64_t full = std::max<std::int64_t>(1, pool.growing_groups());
  const std::int64_t blocks =
      s.num_gpu_blocks ? *s.num_gpu_blocks / s.parallel.dp : pool.blocks_in(bytes);
  // Blocks of all groups that keep every token count as one: num_blocks x block_tokens is tokens.
  l.block_tokens = pool.block_tokens;
  l.num_blocks = blocks / full * s.parallel.dp;
  l.blocks_per_request_fixed = (pool.fixed_blocks() + full - 1) / full;
  const std::int64_t rank_blocks = blocks / full;
  l.kv_capacity_tokens = std::max<std::int64_t>(0, rank_blocks - l.blocks_per_request_fixed) *
                         pool.block_tokens * s.parallel.dp;
  const std::int64_t one = pool.blocks_resident(o.context_tokens);
  if (one > 0) l.conversations = static_cast<double>(blocks) / static_cast<double>(one);
  const std::int64_t slots = pool.state_sequences_in(bytes);
  if (slots >= 0 && (one == 0 || static_cast<double>(slots) < l.conversations)) {
    l.conversations = static_cast<double>(slots);
  }
  l.conversations *= s.parallel.dp;
  l.conversations_whole = floor_bytes(l.conversations);
}

// Whether `bytes` of KV hold what is asked for.
bool holds(const BlockPool& pool, std::int64_t bytes, std::int64_t tokens) {
  if (bytes <= 0) return false;
  if (pool.state_sequences_in(bytes) == 0) return false;
  return pool.blocks_resident(tokens) <= pool.blocks_in(bytes);
}

void judge(const Scenario& s, const Options& o, const BlockPool& pool, const Account& a,
           std::int64_t bytes, Ledger& l) {
  const std::int64_t need = needed_tokens(s, o);
  if (s.num_gpu_blocks) {
    l.fits = pool.blocks_resident(need) <= *s.num_gpu_blocks / s.parallel.dp;
    return;
  }
  l.fits = holds(pool, bytes, need);
  if (s.kv_bytes) return;
  const std::int64_t sum =
      l.lines.back().name == "short by" ? -static_cast<std::int64_t>(l.lines.back().bytes) : bytes;
  const bool low = holds(pool, sum - a.band - a.repack, need);
  const bool high = holds(pool, sum + a.band, need);
  l.may_not_fit = low != high;
  // Graphs and context that are not charged live in what the fraction leaves free.
  const std::int64_t outside =
      a.reserve.context + (a.reserve.graphs_charged ? 0 : a.reserve.graphs);
  if (l.fits && s.engine.memory.kind == "vllm" && !s.reserve_bytes && outside > a.left_free) {
    l.may_not_fit = true;
    l.note += fmt::format(
        "CUDA context and graphs need about {:.2f} GB, the fraction leaves {:.2f} GB free: the "
        "engine may start and then run out of memory. ",
        static_cast<double>(outside) / 1e9, static_cast<double>(a.left_free) / 1e9);
  }
}

void describe(const Scenario& s, const BlockPool& pool, const Account& a, Ledger& l) {
  const bool hybrid = pool.state_blocks > 0 && pool.fixed_blocks() > 0;
  const std::int64_t longest =
      s.model.max_context > 0 ? s.model.max_context : std::int64_t{1} << 20;
  const std::int64_t rank_blocks = pool.blocks_in(floor_bytes(l.kv_bytes_per_gpu));
  if (!length_asked_for(s) && s.engine.memory.kind == "vllm" &&
      pool.blocks_of(longest) > rank_blocks && l.fits) {
    l.note += fmt::format(
        "The engine refuses to start with the model's {} tokens of context: set max_model_len to "
        "at most {}. ",
        longest, pool.longest(rank_blocks, longest));
  }
  if (s.parallel.pp > 1) {
    const int depth = s.model.depth();
    l.note +=
        fmt::format("The fullest of {} stages holds {} of {} layers and one end of the model. ",
                    s.parallel.pp, (depth + s.parallel.pp - 1) / s.parallel.pp, depth);
  }
  if (s.parallel.dp > 1) {
    l.note += fmt::format(
        "Each of {} ranks has a pool of its own of {} tokens: a request must fit one rank. ",
        s.parallel.dp, l.kv_capacity_tokens / s.parallel.dp);
  }
  if (hybrid) {
    l.note += fmt::format(
        "Groups of layers share blocks of {} tokens ({} B): a sequence holds {} "
        "blocks besides those by length. ",
        pool.block_tokens, pool.block_bytes, pool.fixed_blocks());
  }
  const bool states = std::any_of(pool.groups.begin(), pool.groups.end(),
                                  [](const auto& g) { return g.kind == KvKind::Kind::state; });
  if (states && s.knobs.max_num_seqs > rank_blocks) {
    l.note += fmt::format(
        "The engine refuses max_num_seqs {} with recurrent layers: the pool has {} blocks. ",
        s.knobs.max_num_seqs, rank_blocks);
  }
  if (a.repack > 0) {
    l.note += fmt::format("A kernel's padding of the experts may add up to {:.2f} GB. ",
                          static_cast<double>(a.repack) / 1e9);
  }
}

Ledger size_by_engine(const Scenario& s, const Options& o) {
  const model::Deployment d = model::deployment_of(s);
  const auto kinds = kv_kinds(d, s.speculation.verified - 1);
  const LayoutOptions layout = layout_options(s);
  const BlockPool pool = make_pool(kinds, layout);
  Account a = account_of(s, layout.kind);

  Ledger l;
  l.context_tokens = o.context_tokens;
  const std::int64_t bytes = pool_bytes(s, pool, a);
  l.lines = a.lines.take();
  l.weights_bytes_per_gpu = static_cast<double>(a.weights_bytes);
  l.reserve_bytes = static_cast<double>(a.reserve_bytes);
  l.reserve_band_bytes = static_cast<double>(a.band);
  l.kv_bytes_per_gpu = static_cast<double>(bytes);
  for (const KvKind& k : kinds) {
    if (k.kind == KvKind::Kind::full) {  // those of the draft too
      l.kv_bytes_per_token_per_gpu += static_cast<double>(k.layers * k.bytes_per_token);
    }
  }
  fill_capacity(s, o, pool, bytes, l);
  judge(s, o, pool, a, bytes, l);
  describe(s, pool, a, l);
  return l;
}

bool builds_and_fits(const Scenario& trial, const Options& o) {
  try {
    model::check(model::deployment_of(trial));
  } catch (const Error&) {
    return false;  // this group cannot be built at all
  }
  return size_by_engine(trial, o).fits;
}

// The smallest TP group that fits; only when there is none, the smallest with pipeline stages.
// Measured overrides hold for one set-up only and are left out.
std::optional<catalog::Parallelism> nearest_that_fits(const Scenario& s, const Options& o) {
  Scenario trial = s;
  trial.num_gpu_blocks.reset();
  trial.kv_bytes.reset();
  trial.reserve_bytes.reset();
  trial.weights_bytes.reset();
  const auto fits = [&](int tp, int pp) {
    trial.parallel = {tp, pp, s.parallel.ep > 1 ? tp : 1, 1};
    return builds_and_fits(trial, o);
  };
  for (int tp = 1; tp <= largest_group; tp *= 2) {
    if (fits(tp, 1)) return trial.parallel;
  }
  for (int gpus = 2; gpus <= largest_group; gpus *= 2) {
    for (int tp = gpus / 2; tp >= 1; tp /= 2) {
      if (fits(tp, gpus / tp)) return trial.parallel;
    }
  }
  return std::nullopt;
}

}  // namespace

Ledger size(const Scenario& scenario, const Options& asked) {
  if (asked.rule != Rule::engine) return size_by_label(scenario, asked);
  Options options = asked;
  // Where a request reserves the longest context, that is what it holds.
  if (scenario.engine.policy == catalog::Policy::orca ||
      scenario.engine.policy == catalog::Policy::static_batch) {
    options.context_tokens = scenario.knobs.max_model_len;
  }
  Ledger l = size_by_engine(scenario, options);
  const auto nearest = nearest_that_fits(scenario, options);
  l.gpus_needed = nearest ? nearest->gpus() : 0;
  if (!l.fits && nearest) {
    l.note += fmt::format("Nearest set-up that fits: tp {}", nearest->tp);
    if (nearest->pp > 1) l.note += fmt::format(", pp {}", nearest->pp);
    l.note += ". ";
  } else if (!l.fits) {
    l.note += fmt::format("No group of up to {} {} fits. ", largest_group, scenario.gpu.name);
  }
  return l;
}

std::vector<Line> weights_per_gpu(const model::Deployment& deployment) {
  std::vector<Line> out;
  for (const WeightClass& c : weights_of(deployment).classes) {
    out.push_back({std::string(model::name(c.part)), static_cast<double>(c.bytes),
                   fmt::format("{}, {}", catalog::name(c.format), c.note)});
  }
  return out;
}

double parameters(const catalog::Model& model) {
  return static_cast<double>(model::parameters_of(model).total());
}

double active_parameters(const catalog::Model& model) {
  return static_cast<double>(model::active_parameters_of(model));
}

}  // namespace servegrid::memory
