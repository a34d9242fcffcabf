#include "memory/weights.hpp"

#include <algorithm>
#include <cmath>

#include "units/error.hpp"

namespace servegrid::memory {

using catalog::Format;
using model::Part;
using model::Split;
using model::Tensor;

namespace {

std::int64_t ceil_to(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

bool is_16_bit_or_more(Format f) {
  return f == Format::bf16 || f == Format::fp16 || f == Format::fp32;
}

class Adder {
 public:
  explicit Adder(const model::Deployment& d) : d_(d) {
    for (const auto& g : d.model.layers) depth_ += g.count;
    stage_ = (depth_ + d.parallel.pp - 1) / d.parallel.pp;
  }

  // `elements` on one GPU, over all layers of the model; the fullest pipeline stage holds its
  // share.
  void layers(Part part, long double elements) {
    const long double share =
        static_cast<long double>(stage_) / static_cast<long double>(std::max(1, depth_));
    add(part, elements * share);
  }
  void add(Part part, long double elements) {
    elements_[static_cast<std::size_t>(part)] += elements;
  }
  [[nodiscard]] long double of(Part part) const {
    return elements_[static_cast<std::size_t>(part)];
  }

 private:
  const model::Deployment& d_;
  int depth_ = 0, stage_ = 0;
  std::array<long double, model::part_count> elements_{};
};

// Elements of one tensor that lie on one GPU.
long double on_gpu(const Tensor& t, const catalog::Parallelism& p) {
  const auto n = static_cast<long double>(t.elements);
  switch (t.split) {
    case Split::replicated:
      return n;
    case Split::tensor:
      return n / p.tp;
    case Split::kv_heads:
      return n / static_cast<long double>(t.heads) *
             static_cast<long double>(std::max<std::int64_t>(1, t.heads / p.tp));
    case Split::experts:
      return n / (static_cast<long double>(p.tp) * p.dp);
  }
  return n;
}

// MXFP4 experts through vLLM's Marlin kernel: intermediate padded to 128, hidden to 256
// (gpt-oss: 2880 -> 2944 and 3072; fused_moe/oracle/mxfp4.py).
long double expert_padding(const model::Deployment& d, const catalog::LayerGroup& g) {
  const std::int64_t width = g.mlp.moe_latent > 0 ? g.mlp.moe_latent : d.model.hidden;
  const std::int64_t columns = std::max<std::int64_t>(
      1, g.mlp.moe_intermediate * d.parallel.ep / (d.parallel.tp * d.parallel.dp));
  const long double real = static_cast<long double>(width) * static_cast<long double>(columns);
  return static_cast<long double>(ceil_to(width, 256)) *
         static_cast<long double>(ceil_to(columns, 128)) / real;
}

bool pads_experts(const model::Deployment& d, Format experts) {
  return d.engine == "vllm" && experts == Format::mxfp4 &&
         d.gpu.support_of(experts, d.engine, d.engine_version).support != catalog::Support::native;
}

std::string split_note(Part part, const catalog::Parallelism& p) {
  switch (part) {
    case Part::norms:
    case Part::router:
    case Part::vision:
      return "replicated";
    case Part::experts:
      if (p.ep > 1) {
        return "ep " + std::to_string(p.ep) + " over tp " + std::to_string(p.tp) + " x dp " +
               std::to_string(p.dp);
      }
      return "/ (tp " + std::to_string(p.tp) + " x dp " + std::to_string(p.dp) + ")";
    default:
      return "/ tp " + std::to_string(p.tp);
  }
}

void add_ends(const model::Deployment& d, Adder& sum) {
  // The vocabulary is padded to 64 rows. With pipeline stages the fullest one holds one end only.
  const auto rows = static_cast<long double>(ceil_to(d.model.vocab, 64));
  const long double one = rows * static_cast<long double>(d.model.hidden) / d.parallel.tp;
  const bool single = d.parallel.pp == 1;
  if (single) sum.add(Part::embedding, one);
  if (!single || !d.model.tied_embeddings) sum.add(Part::head, one);
  sum.add(Part::norms, static_cast<long double>(d.model.hidden));
  // The vision tower is divided too (vLLM's default mm_encoder_tp_mode "weights"; a start-up log of
  // two GPUs agrees to 0.4 % with it and is 3.4 % off when it is replicated).
  sum.add(Part::vision, static_cast<long double>(d.model.vision_parameters) / d.parallel.tp);
}

void add_mtp(const model::Deployment& d, Adder& sum) {
  const auto h = static_cast<long double>(d.model.hidden);
  long double layer = 2 * h * h / d.parallel.tp + 3 * h;
  for (const Tensor& t : model::layer_tensors(d.model, model::mtp_layer(d.model))) {
    layer += on_gpu(t, d.parallel);
  }
  sum.add(Part::mtp, layer * d.model.mtp_layers);
}

// An EAGLE head shares the embedding of the model and has one more matrix, which joins the model's
// state with the token's embedding.
void add_draft(const model::Deployment& d, Weights& out) {
  const model::Deployment draft = model::draft_of(d);
  const bool head = d.speculation.method == catalog::Speculation::Method::eagle;
  for (const WeightClass& c : weights_of(draft).classes) {
    if (!(head && c.part == Part::embedding)) out.draft += c.bytes;
  }
  if (head) {
    const auto h = static_cast<double>(draft.model.hidden);
    out.draft += static_cast<std::int64_t>(2 * h * h / draft.parallel.tp *
                                           catalog::bytes_per_element(draft.weights));
  }
  out.draft_note = draft.model.name + " in " + std::string(catalog::name(draft.weights));
  out.total += out.draft;
}

}  // namespace

Format format_of(Part part, const catalog::Model& model, Format weights) {
  if (is_16_bit_or_more(weights)) return weights;
  const std::string_view wanted = model::name(part);
  for (const auto& exception : model.parts_for(weights)) {
    if (exception.part == wanted) return exception.format;
  }
  switch (part) {
    case Part::embedding:
    case Part::head:
    case Part::router:
    case Part::norms:
    case Part::vision:
      return Format::bf16;
    default:
      return weights;
  }
}

Weights weights_of(const model::Deployment& d, bool with_mtp) {
  Adder sum(d);
  const Format experts = format_of(Part::experts, d.model, d.weights);
  const bool pads = pads_experts(d, experts);
  long double unknown = 0;  // expert elements whose kernel may pad
  for (const auto& g : d.model.layers) {
    for (const Tensor& t : model::layer_tensors(d.model, g)) {
      long double n = on_gpu(t, d.parallel) * g.count;
      if (t.part == Part::experts) {
        const long double padding = expert_padding(d, g);
        if (pads) n *= padding;
        if (!pads && !is_16_bit_or_more(experts) && padding > 1) unknown += n;
      }
      sum.layers(t.part, n);
    }
  }
  add_ends(d, sum);
  const bool mtp = d.speculation.method == catalog::Speculation::Method::mtp;
  if (with_mtp || mtp) add_mtp(d, sum);

  Weights out;
  for (std::size_t i = 0; i < model::part_count; ++i) {
    const auto part = static_cast<Part>(i);
    if (sum.of(part) <= 0) continue;
    const Format f = format_of(part, d.model, d.weights);
    const long double bytes = sum.of(part) * catalog::bytes_per_element(f);
    std::string note = split_note(part, d.parallel);
    if (part == Part::experts && pads) note += ", padded for the Marlin kernel";
    out.classes.push_back({part, f, static_cast<std::int64_t>(std::floor(bytes)), note});
    out.total += out.classes.back().bytes;
  }
  if (d.speculation.draft) add_draft(d, out);
  out.repack_band =
      static_cast<std::int64_t>(0.08L * unknown * catalog::bytes_per_element(experts));
  return out;
}

}  // namespace servegrid::memory
