#include "model/deployment.hpp"

#include <fmt/format.h>

#include "model/parameters.hpp"
#include "units/error.hpp"

namespace servegrid::model {

using catalog::Attention;
using catalog::AttentionKind;
using catalog::Format;
using catalog::LayerGroup;
using catalog::Support;

namespace {

void divides(std::int64_t divisor, std::int64_t whole, std::string_view by, std::string_view what) {
  if (whole % divisor != 0) {
    throw InputError(
        fmt::format("{} {} does not divide the {} {}: {} = {} x {} + {}; use a {} that does", by,
                    divisor, whole, what, whole, divisor, whole / divisor, whole % divisor, by));
  }
}

void check_attention(const Attention& a, int tp) {
  if (!has_attention(a)) return;
  switch (a.kind) {
    case AttentionKind::full:
    case AttentionKind::window:
      divides(tp, a.heads, "tp", "attention heads");
      if (a.kv_heads < 1) throw InputError("an attention layer needs at least one KV head");
      // Fewer KV heads than ranks: each rank holds one, so the ranks must share them evenly.
      if (a.kv_heads >= tp) {
        divides(tp, a.kv_heads, "tp", "KV heads");
      } else if (tp % a.kv_heads != 0) {
        throw InputError(fmt::format(
            "tp {} is not a multiple of the {} KV heads, which would be replicated on {}/{} ranks",
            tp, a.kv_heads, tp, a.kv_heads));
      }
      break;
    case AttentionKind::mla:
      divides(tp, a.heads, "tp", "attention heads");
      break;
    case AttentionKind::linear:
      divides(tp, a.linear_key_heads, "tp", "linear-attention key heads");
      divides(tp, a.linear_value_heads, "tp", "linear-attention value heads");
      break;
    case AttentionKind::mamba:
      divides(tp, a.heads, "tp", "Mamba heads");
      break;
  }
}

void check_layer(const LayerGroup& g, const catalog::Parallelism& p) {
  check_attention(g.attention, p.tp);
  if (g.mlp.intermediate > 0) divides(p.tp, g.mlp.intermediate, "tp", "MLP columns");
  if (g.mlp.shared_intermediate > 0) {
    divides(p.tp, g.mlp.shared_intermediate, "tp", "shared-expert columns");
  }
  if (g.mlp.experts > 0) {
    divides(p.ep, g.mlp.experts, "ep", "experts");
    divides(p.tp * p.dp / p.ep, g.mlp.moe_intermediate, "tp x dp / ep", "expert columns");
  }
}

void check_parallelism(const Deployment& d) {
  const catalog::Parallelism& p = d.parallel;
  if (p.tp < 1 || p.pp < 1 || p.ep < 1 || p.dp < 1) {
    throw InputError(
        fmt::format("tp, pp, ep and dp must be at least 1: got tp {}, pp {}, ep {}, "
                    "dp {}",
                    p.tp, p.pp, p.ep, p.dp));
  }
  if (p.pp > d.model.depth()) {
    throw InputError(
        fmt::format("pp {} is more than the {} layers of {}", p.pp, d.model.depth(), d.model.name));
  }
  bool moe = false;
  for (const LayerGroup& g : d.model.layers) moe = moe || g.mlp.experts > 0;
  if (p.ep > 1 && !moe) {
    throw InputError(
        fmt::format("ep {} needs a mixture of experts: {} has none; use ep 1", p.ep, d.model.name));
  }
  divides(p.ep, static_cast<std::int64_t>(p.tp) * p.dp, "ep", "GPUs of a stage (tp x dp)");
  for (const LayerGroup& g : d.model.layers) check_layer(g, p);
}

void check_fabric(const Deployment& d) {
  const int group = d.parallel.tp * d.parallel.dp;
  if (group > d.gpu.fabric.domain) {
    throw InfeasibleError(fmt::format(
        "tp {} x dp {} = {} GPUs, but the scale-up domain of {} has {}: collectives across servers "
        "are not modelled; use more pipeline stages (pp) or more replicas",
        d.parallel.tp, d.parallel.dp, group, d.gpu.name, d.gpu.fabric.domain));
  }
}

// Backends that move tokens between ranks need ranks to move them between.
void check_all_to_all(const Deployment& d) {
  using catalog::AllToAll;
  if (d.all_to_all == AllToAll::automatic) return;
  const catalog::Parallelism& p = d.parallel;
  if (p.dp == 1) {
    throw InputError(
        "an all-to-all backend moves tokens between the ranks of attention data parallelism: dp 1 "
        "has one rank only; use auto, or dp > 1");
  }
  if (d.all_to_all != AllToAll::gather && p.ep != p.tp * p.dp) {
    throw InputError(
        fmt::format("DeepEP spreads the experts over all GPUs of a stage: ep {} is not tp {} x dp "
                    "{} = {}",
                    p.ep, p.tp, p.dp, p.tp * p.dp));
  }
}

void check_speculation(const Deployment& d) {
  if (!d.speculation.on()) return;
  if (d.parallel.pp > 1) {
    throw InputError(fmt::format(
        "speculative decoding over pp {} stages is not modelled: the draft would wait for the last "
        "stage; use pp 1",
        d.parallel.pp));
  }
  if (!d.speculation.draft) return;
  for (const LayerGroup& g : d.speculation.draft->layers) {
    try {
      check_layer(g, {d.parallel.tp, 1, 1, d.parallel.dp});
    } catch (const InputError& e) {
      throw InputError("draft " + d.speculation.draft->name + ": " + e.what());
    }
  }
}

void check_engine(const Deployment& d) {
  const auto it = d.gpu.software.engines.find(d.engine);
  if (it == d.gpu.software.engines.end()) return;  // a bare data sheet says nothing of engines
  const std::string& says = it->second;
  if (says == "no" || says.rfind("no:", 0) == 0 || says.rfind("no ", 0) == 0) {
    std::string others;
    for (const auto& [engine, answer] : d.gpu.software.engines) {
      if (answer.rfind("no", 0) != 0) others += (others.empty() ? "" : ", ") + engine;
    }
    throw InfeasibleError(fmt::format("{} does not run on {} ({}){}", d.engine, d.gpu.name, says,
                                      others.empty() ? "" : "; engines that do: " + others));
  }
}

void check_formats(const Deployment& d) {
  const auto weights = d.gpu.support_of(d.weights, d.engine, d.engine_version);
  if (weights.support == Support::refused) {
    throw InfeasibleError(fmt::format("{} {} refuses {} weights on {} ({})", d.engine,
                                      d.engine_version, catalog::name(d.weights), d.gpu.name,
                                      weights.source));
  }
  switch (d.kv_cache) {
    case Format::bf16:
    case Format::fp16:
    case Format::fp8:
    case Format::int8:
      break;
    case Format::nvfp4: {
      const auto kv = d.gpu.support_of(d.kv_cache, d.engine, d.engine_version);
      if (kv.support != Support::native) {
        throw InfeasibleError(
            fmt::format("an nvfp4 KV cache needs FP4 units, which {} lacks", d.gpu.name));
      }
      break;
    }
    default:
      throw InputError(
          fmt::format("a KV cache in {} is not a format of any engine: bf16, fp16, "
                      "fp8, int8 or nvfp4",
                      catalog::name(d.kv_cache)));
  }
}

}  // namespace

Deployment deployment_of(const catalog::Scenario& scenario) {
  Deployment d;
  d.model = scenario.model;
  d.weights = scenario.weights;
  d.kv_cache = scenario.knobs.kv_cache;
  d.gpu = scenario.gpu;
  d.parallel = scenario.parallel;
  d.speculation = scenario.speculation;
  d.all_to_all = scenario.knobs.all_to_all;
  d.step_tokens = scenario.knobs.enable_chunked_prefill ? scenario.knobs.max_num_batched_tokens : 0;
  d.engine = scenario.engine.engine;
  d.engine_version = scenario.engine.version;
  d.graph_sizes = scenario.knobs.graph_sizes;
  d.graphs_hold_prefill = scenario.engine.policy == catalog::Policy::vllm_v1;
  d.moe_backend = scenario.knobs.moe_backend;
  return d;
}

Deployment draft_of(const Deployment& d) {
  Deployment draft = d;
  draft.speculation = {};
  draft.parallel.pp = 1;
  if (d.speculation.draft) {
    draft.model = *d.speculation.draft;
    draft.weights = d.speculation.draft_weights;
    draft.parallel.ep = 1;
    return draft;
  }
  catalog::LayerGroup layer = mtp_layer(d.model);
  layer.count = 1;
  draft.model.layers = {layer};
  draft.model.mtp_layers = 0;
  draft.model.vision_parameters = 0;
  return draft;
}

void check(const Deployment& deployment) {
  check_parallelism(deployment);
  check_all_to_all(deployment);
  check_speculation(deployment);
  check_fabric(deployment);
  check_engine(deployment);
  check_formats(deployment);
}

}  // namespace servegrid::model
