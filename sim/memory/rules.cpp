// Sizing as articles and calculators do it: the number on the box and the headline format.
#include <fmt/format.h>

#include <cmath>

#include "memory/layout.hpp"
#include "memory/lines.hpp"
#include "units/error.hpp"

namespace servegrid::memory {

namespace {

constexpr double overhead = 1.2;   // GB needed per GB of weights: KV, activations, runtime
constexpr double usable = 0.92;    // of the label
constexpr int largest_group = 64;  // GPUs

// Smallest power of two of GPUs that hold `need` bytes.
int group_for(double need, double per_gpu) {
  for (int n = 1; n <= largest_group; n *= 2) {
    if (need <= n * per_gpu) return n;
  }
  return 0;
}

}  // namespace

double billions(const catalog::Model& model, bool nominal) {
  if (!nominal) return parameters(model) / 1e9;
  if (model.nominal_billions <= 0) {
    throw InputError("model '" + model.name +
                     "' carries no nominal_billions: size it by its real parameter count");
  }
  return model.nominal_billions;
}

Ledger size_by_label(const catalog::Scenario& s, const Options& o) {
  const bool articles = o.rule == Rule::articles;
  const model::Deployment d = model::deployment_of(s);
  const auto kinds = kv_kinds(d);
  const double gpus = s.parallel.gpus();
  const double count = billions(s.model, o.nominal_parameters);
  const double weights =
      s.weights_bytes ? *s.weights_bytes * gpus : count * 1e9 * catalog::nominal_bytes(s.weights);
  const double label = s.gpu.memory.label_bytes;
  const double per_gpu = articles ? usable * label : label;
  const double need = articles ? overhead * weights : weights;

  Ledger l;
  l.context_tokens = o.context_tokens;
  l.weights_bytes_per_gpu = std::floor(weights / gpus);
  for (const KvKind& k : kinds) {
    if (k.kind == KvKind::Kind::full) {
      l.kv_bytes_per_token_per_gpu += static_cast<double>(k.layers * k.bytes_per_token);
    }
  }
  Lines lines;
  lines.add("device memory", static_cast<std::int64_t>(label), "label, decimal GB");
  if (articles) {
    lines.add("not usable", static_cast<std::int64_t>(per_gpu) - static_cast<std::int64_t>(label),
              "8 % of the label");
  }
  lines.add("weights", -static_cast<std::int64_t>(l.weights_bytes_per_gpu),
            fmt::format("{:.2f} billion parameters ({}) x {} B / {} GPUs", count,
                        o.nominal_parameters ? "by name" : "by count",
                        catalog::nominal_bytes(s.weights), gpus));
  std::int64_t pool =
      s.kv_bytes ? static_cast<std::int64_t>(*s.kv_bytes) : std::max<std::int64_t>(0, lines.sum());
  if (s.kv_bytes) {
    lines.close_at(pool, "measured", "kv_bytes of the scenario in place of the rule");
  } else {
    lines.close_at(pool, "short by", "the weights are larger than the memory");
  }
  l.lines = lines.take();
  l.kv_bytes_per_gpu = static_cast<double>(pool);
  l.block_tokens = 1;
  const double one = sequence_bytes(kinds, o.context_tokens);
  // Each attention-DP rank keeps its own conversations.
  if (one > 0) l.conversations = static_cast<double>(pool) / one * s.parallel.dp;
  l.conversations_whole = static_cast<std::int64_t>(std::floor(l.conversations));
  if (l.kv_bytes_per_token_per_gpu > 0) {
    l.kv_capacity_tokens =
        static_cast<std::int64_t>(static_cast<double>(pool) / l.kv_bytes_per_token_per_gpu) *
        s.parallel.dp;
    l.num_blocks = l.kv_capacity_tokens;
  }
  l.fits = need <= gpus * per_gpu;
  l.gpus_needed = group_for(need, per_gpu);
  l.note = articles ? fmt::format(
                          "articles: {:.1f} GB needed (1.2 x the weights, the 20 % stand "
                          "for KV, activations and runtime), {:.2f} GB usable per GPU; "
                          "conversations count what is left beside the weights alone",
                          need / 1e9, per_gpu / 1e9)
                    : "weights_only: label memory minus weights, no runtime at all";
  return l;
}

}  // namespace servegrid::memory
