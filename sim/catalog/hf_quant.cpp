#include "catalog/hf_quant.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace servegrid::catalog {

using nlohmann::json;

namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

/// modelopt's names of whole algorithms.
std::string format_of_algorithm(const std::string& algorithm) {
  const std::string a = upper(algorithm);
  if (contains(a, "NVFP4")) return "nvfp4";
  if (contains(a, "MXFP4")) return "mxfp4";
  if (contains(a, "MXFP8")) return "mxfp8";
  if (contains(a, "FP8_PB") || contains(a, "FP8_BLOCK")) return "fp8-block";
  if (contains(a, "FP8")) return "fp8";
  if (contains(a, "W4A16") || contains(a, "INT4")) return "int4-g128";
  if (contains(a, "INT8") || contains(a, "W8A8")) return "int8";
  return "";
}

/// The weights of a config group (compressed-tensors, modelopt).
std::string format_of_group(const json& group, const ConfigObject& c) {
  if (!group.is_object() || !group.contains("weights") || !group["weights"].is_object()) return "";
  const ConfigObject w(group["weights"], c.file(), "config_groups.weights.");
  const std::int64_t bits = w.number("num_bits").value_or(0);
  const std::int64_t size = w.number("group_size").value_or(0);
  const bool is_float = w.text("type", "int") == "float";
  if (is_float && bits == 4) return size == 16 ? "nvfp4" : size == 32 ? "mxfp4" : "";
  if (is_float && bits == 8) return w.text("strategy") == "block" ? "fp8-block" : "fp8";
  if (!is_float && bits == 8) return "int8";
  if (!is_float && bits == 4) return size == 32 ? "int4-g32" : size == 128 ? "int4-g128" : "";
  return "";
}

/// Part of the model that a module name or pattern is about; "" = all of a layer, "-" = none of
/// ours.
std::string part_of(const std::string& name) {
  for (const char* none : {"norm", "vision", "visual", "embed_vision", "e_score", "multi_modal",
                           "mm_projector", "indexer", "rotary", "conv1d"}) {
    if (contains(name, none)) return "-";
  }
  if (contains(name, "mtp") || contains(name, "nextn")) return "mtp";
  if (contains(name, "linear_attn") || contains(name, "mixer")) return "linear_attention";
  if (contains(name, "attn") || contains(name, "attention")) return "attention";
  if (contains(name, "shared_expert_gate")) return "router";
  if (contains(name, "shared_expert")) return "shared_experts";
  if (contains(name, "experts")) return "experts";
  if (contains(name, "router") || name.ends_with(".gate") || name.ends_with("gate*"))
    return "router";
  if (contains(name, "lm_head") || name == "head") return "head";
  if (contains(name, "embed")) return "embedding";
  if (contains(name, "mlp") || contains(name, "ffn") || contains(name, "moe")) return "mlp";
  return "";
}

/// Number after "layers."; -1 when the name is for all layers.
std::int64_t layer_of(const std::string& name) {
  const std::size_t at = name.find("layers.");
  if (at == std::string::npos) return -1;
  std::int64_t n = 0;
  std::size_t i = at + 7, digits = 0;
  for (; i < name.size() && name[i] >= '0' && name[i] <= '9' && digits < 6; ++i, ++digits) {
    n = 10 * n + (name[i] - '0');
  }
  return digits > 0 ? n : -1;
}

/// In which layers each part occurs.
std::map<std::string, std::set<std::int64_t>> homes(const std::vector<HfLayer>& layers) {
  std::map<std::string, std::set<std::int64_t>> out;
  for (std::int64_t i = 0; i < std::int64_t(layers.size()); ++i) {
    const HfLayer& l = layers[static_cast<std::size_t>(i)];
    if (l.linear) out["linear_attention"].insert(i);
    if (!l.linear && !l.attention.empty()) out["attention"].insert(i);
    if (l.dense) out["dense_mlp"].insert(i);
    if (l.experts) out["experts"].insert(i);
    if (l.shared) out["shared_experts"].insert(i);
  }
  return out;
}

/// Collects which layers of each part have another format than the checkpoint's.
class Exceptions {
 public:
  explicit Exceptions(const std::vector<HfLayer>& layers)
      : homes_(homes(layers)), depth_(static_cast<std::int64_t>(layers.size())) {}

  void add(const std::string& name, const std::string& format) {
    const std::int64_t layer = layer_of(name);
    std::string part = part_of(name);
    if (part == "-" || part == "router" || part == "embedding") return;  // bf16 as it is
    if (part == "head") {
      if (format != "bf16") whole_["head"] = format;
      return;
    }
    if (part == "mtp" || layer >= depth_) {
      whole_["mtp"] = format;
      return;
    }
    if (part.empty() && layer < 0) return;
    for (const auto& [key, where] : homes_) {
      // "mlp" without more is the dense one, or all of an expert layer's.
      const bool proj = contains(name, "_proj") && part == "mlp";
      const bool mine =
          part.empty() || part == key ||
          (part == "mlp" &&
           (key == "dense_mlp" || (!proj && key != "attention" && key != "linear_attention")));
      if (!mine) continue;
      for (const std::int64_t i : where) {
        if (layer < 0 || layer == i) seen_[key][format].insert(i);
      }
      if (part == key && contains(name, "_proj")) {
        const std::string tail = name.substr(name.rfind('.') + 1);
        projections_[key].insert(plain(tail));
      }
    }
  }

  void finish(HfQuant& quant, std::vector<std::string>& remarks) const {
    for (const auto& [part, formats] : seen_) {
      for (const auto& [format, layers] : formats) {
        if (format == quant.format) continue;
        const std::size_t all = homes_.at(part).size();
        if (2 * layers.size() >= all) quant.parts[part] = format;
        if (layers.size() != all) {
          remarks.push_back(fmt::format("{} of {} layers store {} as {}: all are taken as {}",
                                        layers.size(), all, part, format,
                                        2 * layers.size() >= all ? format : quant.format));
        }
      }
      if (const auto it = projections_.find(part);
          it != projections_.end() && quant.parts.contains(part)) {
        std::string list;
        for (const std::string& p : it->second) list += (list.empty() ? "" : ", ") + p;
        remarks.push_back(fmt::format("of {}, the config names {}: all of it is taken as {}", part,
                                      list, quant.parts.at(part)));
      }
    }
    for (const auto& [part, format] : whole_) {
      if (format != quant.format) quant.parts[part] = format;
    }
  }

 private:
  std::map<std::string, std::set<std::int64_t>> homes_;
  std::int64_t depth_;
  std::map<std::string, std::map<std::string, std::set<std::int64_t>>> seen_;
  std::map<std::string, std::set<std::string>> projections_;
  std::map<std::string, std::string> whole_;
};

std::string block_format(const ConfigObject& q, std::vector<std::string>& remarks) {
  const auto block = q.numbers("weight_block_size");
  if (block.empty()) return "fp8";
  if (block != std::vector<std::int64_t>{128, 128}) {
    remarks.emplace_back(
        "'weight_block_size' is not 128x128: its scales are counted as if it were");
  }
  return "fp8-block";
}

std::string headline(const ConfigObject& q, std::vector<std::string>& remarks) {
  const std::string method = q.text("quant_method"), algorithm = q.text("quant_algo");
  std::string best;
  if (const json* groups = q.find("config_groups"); groups != nullptr && groups->is_object()) {
    // The fewest bits name the checkpoint; the others are parts.
    for (const auto& [key, group] : groups->items()) {
      const std::string f = format_of_group(group, q);
      if (best.empty() || f == "nvfp4" || f == "mxfp4" || f.rfind("int4", 0) == 0) best = f;
    }
  }
  if (!best.empty()) return best;
  if (const std::string f = format_of_algorithm(algorithm); !f.empty()) return f;
  if (algorithm == "MIXED_PRECISION") {
    if (const json* layers = q.find("quantized_layers"); layers != nullptr && layers->is_object()) {
      for (const auto& [key, value] : layers->items()) {
        if (!value.is_object()) continue;
        const std::string f = format_of_algorithm(
            ConfigObject(value, q.file(), "quantized_layers.").text("quant_algo"));
        if (best.empty() || f == "nvfp4") best = f;
      }
    }
    return best;
  }
  if (method == "mxfp4") return "mxfp4";
  if (method == "fp8") return block_format(q, remarks);
  if (method == "awq" || method == "gptq") {
    const std::int64_t bits = q.number("bits").value_or(0),
                       size = q.number("group_size", -1).value_or(0);
    if (bits == 4 && (size == 128 || size == 32)) return fmt::format("int4-g{}", size);
    if (bits == 8) return "int8";
  }
  return "";
}

}  // namespace

HfQuant hf_quant(const ConfigObject& top, const ConfigObject& text, const json* other,
                 const std::vector<HfLayer>& layers, std::vector<std::string>& remarks) {
  const json* found = top.find("quantization_config");
  if (found == nullptr) found = text.find("quantization_config");
  if (found == nullptr && other != nullptr && other->is_object()) {
    found = other->contains("quantization") ? &(*other)["quantization"] : other;
  }
  HfQuant quant;
  if (found == nullptr) return quant;
  if (!found->is_object()) throw top.error("'quantization_config' must be an object");
  const ConfigObject q(*found, top.file(), "quantization_config.");
  quant.format = headline(q, remarks);
  if (quant.format.empty()) {
    remarks.push_back(fmt::format("quantisation '{}' is none of the formats known: no checkpoint",
                                  plain(q.text("quant_method", q.text("quant_algo", "?")))));
    return quant;
  }
  Exceptions exceptions(layers);
  for (const char* key :
       {"modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers"}) {
    for (const std::string& name : q.texts(key)) exceptions.add(name, "bf16");
  }
  if (const json* named = q.find("quantized_layers"); named != nullptr && named->is_object()) {
    for (const auto& [name, value] : named->items()) {
      if (!value.is_object()) continue;
      const std::string f = format_of_algorithm(
          ConfigObject(value, q.file(), "quantized_layers.").text("quant_algo"));
      if (!f.empty()) exceptions.add(name, f);
    }
  }
  exceptions.finish(quant, remarks);
  return quant;
}

}  // namespace servegrid::catalog
