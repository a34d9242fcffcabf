#include "catalog/hf_import.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "catalog/hf_json.hpp"
#include "catalog/hf_layers.hpp"
#include "catalog/hf_quant.hpp"
#include "catalog/load.hpp"
#include "catalog/reader.hpp"

namespace servegrid::catalog {

using nlohmann::json;

namespace {

/// "dir/Qwen--Qwen3-8B_config.json" -> "Qwen/Qwen3-8B"; empty for a plain config.json.
std::string id_from_file(const std::string& file) {
  std::string stem = file.substr(file.find_last_of('/') + 1);
  if (const std::size_t dot = stem.rfind(".json"); dot != std::string::npos) stem.resize(dot);
  if (stem == "config" || stem.empty()) return "";
  if (stem.ends_with("_config")) stem.resize(stem.size() - 7);
  if (const std::size_t dashes = stem.find("--"); dashes != std::string::npos) {
    stem.replace(dashes, 2, "/");
  }
  return stem;
}

/// The number before "B" in a name: 70 of Llama-3.1-70B; 0 when there is none.
double billions(const std::string& name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(name[i])) == 0) continue;
    const bool word_start =
        i == 0 || name[i - 1] == '-' || name[i - 1] == '_' || name[i - 1] == '/';
    std::size_t end = i;
    while (end < name.size() &&
           (std::isdigit(static_cast<unsigned char>(name[end])) != 0 || name[end] == '.')) {
      ++end;
    }
    const bool ends = end + 1 >= name.size() || name[end + 1] == '-' || name[end + 1] == '_';
    if (word_start && end - i <= 6 && end < name.size() && (name[end] == 'B' || name[end] == 'b') &&
        ends) {
      return std::strtod(name.substr(i, end - i).c_str(), nullptr);
    }
    i = end;
  }
  return 0;
}

std::string native(const std::string& dtype) {
  if (dtype == "float16" || dtype == "half") return "fp16";
  if (dtype == "float32") return "fp32";
  return "bf16";
}

/// Parameters of a vision transformer: attention and two MLP matrices a layer; the rest is a few
/// percent of it.
double vision_parameters(const ConfigObject& top, std::vector<std::string>& remarks) {
  const json* v = top.find("vision_config");
  if (v == nullptr) return 0;
  if (!v->is_object()) throw top.error("'vision_config' must be an object");
  const ConfigObject c(*v, top.file(), "vision_config.");
  const auto depth = c.number_of({"depth", "num_hidden_layers", "vt_num_hidden_layers"});
  const auto width = c.number_of({"hidden_size", "vt_hidden_size"});
  const auto inner = c.number_of({"intermediate_size", "vt_intermediate_size"});
  if (!depth || !width || !inner) {
    remarks.emplace_back("'vision_config' has no dimensions: the vision tower is left out");
    return 0;
  }
  if (*depth > 10'000 || *width > 1'000'000 || *inner > 10'000'000) {
    throw top.error("'vision_config' is out of range");
  }
  remarks.emplace_back("the vision tower is its layers only, without embeddings and projector");
  return double(*depth) * double(*width) * (4.0 * double(*width) + 2.0 * double(*inner));
}

/// Keys that change neither dimensions nor formats: training, tokens, positions, activations,
/// paths.
bool harmless(const std::string& key) {
  static const std::vector<std::string> parts = {"token",
                                                 "dropout",
                                                 "rope",
                                                 "rotary",
                                                 "initializer",
                                                 "eps",
                                                 "architectures",
                                                 "auto_map",
                                                 "transformers_version",
                                                 "use_cache",
                                                 "hidden_act",
                                                 "router_aux",
                                                 "aux_loss",
                                                 "output_router",
                                                 "scoring_func",
                                                 "routed_scaling",
                                                 "topk_method",
                                                 "topk_group",
                                                 "n_group",
                                                 "norm_topk",
                                                 "swiglu_limit",
                                                 "pretraining",
                                                 "time_step",
                                                 "chunk_size",
                                                 "rescale",
                                                 "residual_in",
                                                 "use_mamba",
                                                 "use_conv",
                                                 "use_bias",
                                                 "mamba_hidden_act",
                                                 "mlp_hidden_act",
                                                 "mlp_bias",
                                                 "proj_bias",
                                                 "logits",
                                                 "softcap",
                                                 "_name_or_path",
                                                 "video",
                                                 "audio",
                                                 "image",
                                                 "boa_",
                                                 "eoa_",
                                                 "boi_",
                                                 "eoi_",
                                                 "media",
                                                 "ignore_index",
                                                 "attn_implementation",
                                                 "scaling_factor",
                                                 "ep_size",
                                                 "seq_aux",
                                                 "sliding_window_size",
                                                 "bidirectional",
                                                 "is_encoder",
                                                 "return_dict",
                                                 "problem_type",
                                                 "label",
                                                 "output_",
                                                 "qk_norm_type",
                                                 "qk_head_dim",
                                                 "use_routing_bias",
                                                 "use_moe_router_bias",
                                                 "overlap",
                                                 "expand",
                                                 "attention_value_scale",
                                                 "dtype",
                                                 "max_window_layers",
                                                 "moe_router",
                                                 "mtp_use_dedicated",
                                                 "use_qk_norm",
                                                 "index_topk_pattern",
                                                 "head_dim",
                                                 "pad_",
                                                 "vocab_size_per",
                                                 "num_experts",
                                                 "shared_intermediate_size",
                                                 "intermediate_size",
                                                 "num_key_value_heads",
                                                 "sliding_window",
                                                 "attention_chunk_size",
                                                 "model_type",

                                                 "tie_word",
                                                 "encoder_",
                                                 "position_embedding_type",
                                                 "max_sequence_length",
                                                 "n_shared_experts",
                                                 "share_for_mtp",
                                                 "id2",
                                                 "expert_layer",
                                                 "first_k_dense",
                                                 "router_jitter",
                                                 "chat",
                                                 "text_config",
                                                 "vision",
                                                 "projector",
                                                 "tie_encoder",
                                                 "chunk",
                                                 "torchscript",
                                                 "bos",
                                                 "eos",
                                                 "tokenizer",
                                                 "quantization_config",
                                                 "full_attention_interval",
                                                 "num_hidden_layers",
                                                 "use_bfloat16",
                                                 "tf_legacy_loss",
                                                 "typical_p",
                                                 "top_p",
                                                 "top_k",
                                                 "temperature",
                                                 "penalty",
                                                 "invalid_values",
                                                 "num_return",
                                                 "num_beam",
                                                 "repeat_ngram",
                                                 "min_length",
                                                 "max_length",
                                                 "early_stopping",
                                                 "do_sample",
                                                 "is_decoder",
                                                 "mtp_hybrid",
                                                 "mtp_layers_block",
                                                 "initial_context_length"};
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& p) { return key.find(p) != std::string::npos; });
}

struct Head {
  std::string id, title;
  std::int64_t hidden = 0, vocab = 0, context = 0, mtp = 0;
  bool tied = false;
};

Head head_of(const ConfigObject& top, const ConfigObject& text, std::string id) {
  Head h;
  if (id.empty()) id = text.text("_name_or_path", top.text("_name_or_path"));
  h.id = plain(id);
  h.title = h.id.substr(h.id.find_last_of('/') + 1);
  if (h.title.empty()) h.title = "Imported model";
  h.hidden = text.required({"hidden_size"});
  h.vocab = text.required({"vocab_size"});
  h.context = text.required({"max_position_embeddings", "max_sequence_length"});
  const bool gemma = text.text("model_type").rfind("gemma", 0) == 0;
  h.tied = text.flag("tie_word_embeddings", top.flag("tie_word_embeddings", gemma));
  if (!text.has("hybrid_override_pattern") && !text.has("layers_block_type") &&
      text.flag("use_mtp", true)) {
    h.mtp = text.number_of({"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"})
                .value_or(0);
  }
  return h;
}

std::string layers_yaml(const std::vector<HfLayer>& layers) {
  std::vector<std::pair<const HfLayer*, int>> groups;
  for (const HfLayer& layer : layers) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& g) {
      return g.first->attention == layer.attention && g.first->mlp == layer.mlp;
    });
    if (same == groups.end()) {
      groups.emplace_back(&layer, 1);
    } else {
      ++same->second;
    }
  }
  std::string out = "layers:\n";
  for (const auto& [layer, count] : groups) {
    out += fmt::format("  - count: {}\n", count);
    if (!layer->attention.empty()) out += "    attention: " + layer->attention + "\n";
    if (!layer->mlp.empty()) out += "    mlp: " + layer->mlp + "\n";
  }
  return out;
}

std::string checkpoint_yaml(const HfQuant& quant, const Head& head) {
  std::string out = "checkpoints:\n  - {format: " + quant.format;
  if (!head.id.empty()) out += fmt::format(", id: \"{}\"", head.id);
  std::string parts;
  for (const auto& [part, format] : quant.parts) {
    parts += fmt::format("{}{}: {}", parts.empty() ? "" : ", ", part, format);
  }
  if (!parts.empty()) out += ", parts: {" + parts + "}";
  return out + ",\n     source: quantisation config of the checkpoint}\n";
}

std::string model_yaml(const Head& h, const std::string& family, const std::string& format,
                       const std::vector<HfLayer>& layers, double vision, const HfQuant& quant) {
  std::string out = fmt::format("title: \"{}\"\nfamily: \"{}\"\n", h.title, plain(family));
  if (!h.id.empty()) out += fmt::format("aliases: [\"{}\"]\n", h.id);
  if (const double n = billions(h.title); n > 0) out += fmt::format("nominal_billions: {}\n", n);
  out += fmt::format(
      "hidden: {}\nvocab: {}\ntied_embeddings: {}\nmax_context: {}\nmtp_layers: {}\n"
      "native_format: {}\nsource: Hugging Face config.json\ndate: unknown\n",
      h.hidden, h.vocab, h.tied, h.context, h.mtp, format);
  out += layers_yaml(layers);
  if (vision > 0) out += fmt::format("vision_parameters: {:.0f}\n", vision);
  if (!quant.format.empty()) out += checkpoint_yaml(quant, h);
  return out;
}

void add_unread(const ConfigObject& c, const std::string& where,
                std::vector<std::string>& remarks) {
  for (const std::string& key : c.unread()) {
    if (!harmless(key)) {
      remarks.push_back(fmt::format("'{}{}' has no place in a model file", where, plain(key)));
    }
  }
}

}  // namespace

Imported import_hf_config(const std::string& json_text, const std::string& file,
                          const std::string& quant_json, const std::string& id) {
  bool odd = false;
  const json parsed = parse_config(json_text, file, odd);
  json other;
  if (!quant_json.empty()) other = parse_config(quant_json, file + " (hf_quant_config)", odd);

  Imported out;
  std::vector<std::string>& remarks = out.not_represented;
  if (odd) remarks.emplace_back("NaN or Infinity in the config was read as absent");
  const ConfigObject top(parsed, file);
  const json* inner = top.find("text_config");
  if (inner != nullptr && !inner->is_object()) throw top.error("'text_config' must be an object");
  const ConfigObject text(inner != nullptr ? *inner : parsed, file,
                          inner != nullptr ? "text_config." : "");

  const Head head = head_of(top, text, id.empty() ? id_from_file(file) : id);
  const std::vector<HfLayer> layers = hf_layers(text, remarks);
  const double vision = vision_parameters(top, remarks);
  const HfQuant quant = hf_quant(top, text, quant_json.empty() ? nullptr : &other, layers, remarks);
  const std::string dtype =
      text.text("torch_dtype", text.text("dtype", top.text("torch_dtype", top.text("dtype"))));
  const std::string format = quant.format.empty() ? native(dtype) : quant.format;
  out.yaml = model_yaml(head, text.text("model_type", "unknown"), format, layers, vision, quant);
  if (inner != nullptr) add_unread(text, "text_config.", remarks);
  if (inner == nullptr) add_unread(text, "", remarks);
  load_model(Value::from_text(out.yaml, file + " (as a model file)"), "imported", file);
  return out;
}

}  // namespace servegrid::catalog
