#include "roofline/step_model.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <unordered_map>

#include "roofline/evaluate.hpp"
#include "roofline/fits.hpp"
#include "roofline/operators.hpp"
#include "units/error.hpp"

namespace servegrid::roofline {

namespace {

double split(double tokens, int parts) {
  return parts == 1 ? tokens : std::ceil(tokens / parts);
}

/// Sum over prefill chunks as the busiest attention-DP rank sees it: chunks are spread over the
/// ranks, but one chunk stays on one rank.
struct Share {
  double sum = 0, largest = 0;
  void add(double x) {
    sum += x;
    largest = std::max(largest, x);
  }
  [[nodiscard]] double of(int dp) const { return std::max(sum / dp, largest); }
};

/// What a step is asked to do: by a replica whose ranks are evenly loaded, or by one rank of it.
struct Work {
  std::span<const PrefillChunk> chunks;
  std::int64_t sequences = 0;
  ContextTokens context{};
  bool rank = false;
  std::int64_t rows = 0;  // of all ranks
};

struct SecondsSink {
  double seconds = 0;
  void operator()(const Emitted& e) { seconds += e.seconds; }
};

struct TotalsSink {
  StepTotals& out;
  static Bound bound_of(const Emitted& e) {
    const bool fixed = e.bound == Bound::fabric || e.bound == Bound::host;
    return !fixed && e.floor > e.seconds - e.floor ? Bound::latency : e.bound;
  }
  void operator()(const Emitted& e) {
    out.seconds += e.seconds;
    out.flops += e.flops;
    out.bytes += e.bytes;
    out.seconds_by_bound[static_cast<std::size_t>(bound_of(e))] += e.seconds;
  }
};

struct ExplainSink {
  StepBreakdown& out;
  void operator()(const Emitted& e) {
    TotalsSink{out}(e);
    OperatorTime o;
    o.name = e.label.name;
    o.count = static_cast<int>(std::lround(e.count));
    o.flops = e.flops;
    o.bytes = e.bytes;
    o.fabric_bytes = e.fabric_bytes;
    o.seconds = e.seconds;
    o.bound = TotalsSink::bound_of(e);
    o.efficiency = e.label.efficiency;
    o.source = e.label.source;
    add(std::move(o));
  }

  // The passes of a draft are one line an operator.
  void add(OperatorTime o) {
    const auto same = [&](const OperatorTime& other) {
      return other.name == o.name && o.name.rfind("draft_", 0) == 0;
    };
    const auto it = std::find_if(out.operators.begin(), out.operators.end(), same);
    if (it == out.operators.end()) {
      out.operators.push_back(std::move(o));
      return;
    }
    it->count += o.count;
    it->flops += o.flops;
    it->bytes += o.bytes;
    it->fabric_bytes += o.fabric_bytes;
    it->seconds += o.seconds;
  }
};

/// Hands on what happens several times.
template <class Sink>
struct Repeated {
  Sink& sink;
  double times;
  void operator()(const Emitted& e) {
    sink(Emitted{e.label, e.count * times, e.seconds * times, e.floor * times, e.flops * times,
                 e.bytes * times, e.fabric_bytes * times, e.bound});
  }
};

}  // namespace

struct StepModel::Impl {
  model::Deployment deployment;
  Fits fits;
  Table table;
  std::optional<Table> draft;
  catalog::ServingCosts costs;
  std::array<Ticks, max_context_classes> per_token{};
  std::array<Ticks, max_context_classes> per_token_of_rank{};       // of the rank's own context
  mutable std::unordered_map<std::uint64_t, DecodeCost> rank_memo;  // looked up, not iterated
  mutable std::vector<DecodeCost> memo;  // by number of sequences; base 0 = not computed yet

  Impl(const model::Deployment& d, const std::string& fit_file)
      : deployment(d),
        fits(deployment.gpu, deployment.engine, fit_file),
        table(compile(deployment, fits)),
        costs(fits.costs()) {
    const catalog::Speculation& s = deployment.speculation;
    using Method = catalog::Speculation::Method;
    if (s.on() && s.method != Method::ngram) draft = compile_draft(deployment, fits, table);
    std::array<double, max_context_classes> coefficients{};
    const auto add = [&](const Table& t, double times) {
      for (const auto& a : t.attention) {
        coefficients[static_cast<std::size_t>(a.context_class)] +=
            times * a.count * a.per_token / (t.dp * t.pp);
      }
    };
    add(table, 1);
    if (draft) add(*draft, static_cast<double>(s.passes));
    for (std::size_t c = 0; c < per_token.size(); ++c) per_token[c] = to_ticks(coefficients[c]);
    for (std::size_t c = 0; c < per_token.size(); ++c) {
      per_token_of_rank[c] = to_ticks(coefficients[c] * table.dp);
    }
  }

  /// Rows that a step of so many tokens runs: a CUDA graph has the size it was captured at.
  [[nodiscard]] double fullest_share(double tokens) const;
  [[nodiscard]] double graph_rows(double tokens, bool prefill) const;
  void add_prefill(const Work& work, Shape& s) const;
  /// `queries`: tokens of each decoding sequence.
  [[nodiscard]] Shape shape(const Work& work, std::int64_t queries) const;
  template <class Sink>
  void each(const Work& work, Sink&& sink) const;
};

double StepModel::Impl::graph_rows(double tokens, bool prefill) const {
  if (prefill && !deployment.graphs_hold_prefill) return tokens;
  const auto& sizes = deployment.graph_sizes;
  const auto size = std::lower_bound(sizes.begin(), sizes.end(), tokens,
                                     [](std::int64_t a, double b) { return double(a) < b; });
  return size == sizes.end() ? tokens : static_cast<double>(*size);
}

// The step of the model, then the draft's passes: the first over all tokens that were verified (and
// over prompts), the others over what it drafts.
template <class Sink>
void StepModel::Impl::each(const Work& work, Sink&& sink) const {
  const catalog::Speculation& s = deployment.speculation;
  evaluate(table, costs, shape(work, s.verified), sink);
  if (!draft) return;
  evaluate(*draft, costs, shape(work, s.verified), sink);
  if (s.passes < 2 || work.sequences == 0) return;
  Work later = work;
  later.chunks = {};
  later.rows = work.rows * s.rows / s.verified;
  Repeated<std::remove_reference_t<Sink>> repeated{sink, static_cast<double>(s.passes - 1)};
  evaluate(*draft, costs, shape(later, s.rows), repeated);
}

// Of the chunks of a round of the pipeline, one micro-batch holds at most a step's token budget;
// the fullest one sets the pace. Without a budget it holds them all.
double StepModel::Impl::fullest_share(double tokens) const {
  if (table.pp == 1 || tokens <= 0) return 1;
  const auto budget = static_cast<double>(deployment.step_tokens);
  const double share = budget > 0 ? std::min(1.0, budget / tokens) : 1.0;
  return std::max(share, 1.0 / table.pp);
}

void StepModel::Impl::add_prefill(const Work& work, Shape& s) const {
  const std::size_t classes = table.windows.size() + 1;
  const int dp = work.rank ? 1 : table.dp;
  Share tokens, context;
  std::array<std::array<Share, 3>, max_context_classes> sums{};
  for (const auto& chunk : work.chunks) {
    const auto q = static_cast<double>(chunk.tokens), cached = static_cast<double>(chunk.cached);
    tokens.add(q);
    context.add(q + cached);
    for (std::size_t c = 0; c < classes; ++c) {
      const double window = c == 0 ? 0 : static_cast<double>(table.windows[c - 1]);
      const double pairs = attended_pairs(q, cached, window);
      sums[c][0].add(pairs);
      sums[c][1].add(pairs / std::max(q, 1.0));
      sums[c][2].add(q + (c == 0 ? cached : std::min(cached, window)));
    }
  }
  const double share = fullest_share(tokens.of(dp));
  for (std::size_t c = 0; c < classes; ++c) {
    s.prefill[c] = {share * sums[c][0].of(dp), share * sums[c][1].of(dp),
                    share * sums[c][2].of(dp)};
  }
  s.holds_prefill = !work.chunks.empty();
  s.prefill_tokens = share * tokens.of(dp);
  s.prefill_context = share * context.of(dp);
  s.prompts = std::ceil(static_cast<double>(work.chunks.size()) / dp);
  s.group_tokens += share * tokens.sum;
}

Shape StepModel::Impl::shape(const Work& work, std::int64_t queries) const {
  const int dp = work.rank ? 1 : table.dp, pp = table.pp;
  Shape s;
  const auto n = static_cast<double>(work.sequences);
  const auto q = static_cast<double>(queries);
  s.group_tokens = split(n * q, pp);
  add_prefill(work, s);
  if (work.rank)
    s.group_tokens = std::max(s.group_tokens, split(static_cast<double>(work.rows), pp));
  s.decode = split(split(n, pp), dp);
  s.decode_rows = s.decode * q;
  // vLLM captures by tokens, the others by sequences.
  s.tokens = work.chunks.empty() && !deployment.graphs_hold_prefill
                 ? q * graph_rows(s.decode, false)
                 : graph_rows(s.decode_rows + std::ceil(s.prefill_tokens), s.holds_prefill);
  double sampled = n * q;
  for (const auto& chunk : work.chunks) sampled += chunk.samples ? 1 : 0;
  s.sampled = split(split(sampled, pp), dp);
  s.host_sequences = (n + static_cast<double>(work.chunks.size())) / dp;
  for (std::size_t c = 0; c < s.context.size(); ++c) {
    s.context[c] = static_cast<double>(work.context[c]) / (dp * pp);
  }
  return s;
}

StepModel::StepModel(const model::Deployment& deployment, const std::string& fit_file) {
  model::check(deployment);
  impl_ = std::make_unique<Impl>(deployment, fit_file);
}

StepModel::~StepModel() = default;

std::span<const std::int64_t> StepModel::windows() const {
  return impl_->table.windows;
}

DecodeCost StepModel::decode(std::int64_t sequences) const {
  if (sequences <= 0) throw RunError("a decode step needs at least one sequence");
  constexpr std::int64_t memo_limit = 1 << 20;
  auto& memo = impl_->memo;
  const auto i = static_cast<std::size_t>(sequences);
  if (i < memo.size() && memo[i].base > 0) return memo[i];
  SecondsSink sum;
  impl_->each(Work{{}, sequences, {}}, sum);
  const DecodeCost cost{std::max<Ticks>(1, to_ticks(sum.seconds)), impl_->per_token};
  if (sequences <= memo_limit) {
    if (i >= memo.size()) memo.resize(std::max(i + 1, 2 * memo.size()));
    memo[i] = cost;
  }
  return cost;
}

Ticks StepModel::mixed(std::span<const PrefillChunk> chunks, std::int64_t sequences,
                       const ContextTokens& context) const {
  SecondsSink sum;
  impl_->each(Work{chunks, sequences, context}, sum);
  return std::max<Ticks>(1, to_ticks(sum.seconds));
}

DecodeCost StepModel::decode_rank(std::int64_t sequences, std::int64_t rows) const {
  if (sequences <= 0) throw RunError("a decode step needs at least one sequence");
  constexpr std::size_t memo_limit = 1 << 20;
  auto& memo = impl_->rank_memo;
  const auto key = static_cast<std::uint64_t>(sequences) << 32 | static_cast<std::uint64_t>(rows);
  if (const auto it = memo.find(key); it != memo.end()) return it->second;
  SecondsSink sum;
  impl_->each(Work{{}, sequences, {}, true, rows}, sum);
  const DecodeCost cost{std::max<Ticks>(1, to_ticks(sum.seconds)), impl_->per_token_of_rank};
  if (memo.size() >= memo_limit) memo.clear();
  memo.emplace(key, cost);
  return cost;
}

Ticks StepModel::mixed_rank(std::span<const PrefillChunk> chunks, std::int64_t sequences,
                            const ContextTokens& context, std::int64_t rows) const {
  SecondsSink sum;
  impl_->each(Work{chunks, sequences, context, true, rows}, sum);
  return std::max<Ticks>(1, to_ticks(sum.seconds));
}

Ticks StepModel::first_token_delay() const {
  return to_ticks(impl_->costs.first_token);
}

double StepModel::first_token_steps() const {
  return impl_->costs.first_token_steps;
}

StepBreakdown StepModel::explain(const Batch& batch) const {
  StepBreakdown out;
  ExplainSink sink{out};
  impl_->each(Work{batch.prefill, batch.sequences, batch.context}, sink);
  return out;
}

StepTotals StepModel::totals(const Batch& batch) const {
  StepTotals out;
  impl_->each(Work{batch.prefill, batch.sequences, batch.context}, TotalsSink{out});
  return out;
}

void StepModel::set_costs(const catalog::ServingCosts& costs) {
  impl_->costs = costs;
  impl_->memo.clear();
  impl_->rank_memo.clear();
}

const catalog::ServingCosts& StepModel::costs() const {
  return impl_->costs;
}

std::string StepModel::trust() const {
  if (!impl_->deployment.gpu.overridden.empty()) return "what-if";
  const Trust worst =
      impl_->draft ? std::max(impl_->table.trust, impl_->draft->trust) : impl_->table.trust;
  switch (worst) {
    case Trust::data_sheet:
      return "data sheet";
    case Trust::inherited:
      return "inherited";
    case Trust::measured:
      break;
  }
  // Kernels measured, serving costs not: the defaults stem from other GPUs and engines.
  return impl_->costs.origin == "default" ? "inherited" : "measured";
}

}  // namespace servegrid::roofline
