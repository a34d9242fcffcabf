// A Hugging Face config.json as a model file of the catalogue.
#pragma once

#include <string>
#include <vector>

namespace servegrid::catalog {

struct Imported {
  std::string yaml;  // a whole models/NAME.yaml, checked by the reader
  /// What the config says and the model file cannot, or what had to be assumed; one sentence each.
  std::vector<std::string> not_represented;
};

/// Translates a decoder's config.json. `file` is its name in messages, and gives title and alias:
/// "Qwen--Qwen3-8B_config.json" is Qwen/Qwen3-8B. `quant_json`: text of hf_quant_config.json beside
/// it, may be empty; `id`: Hugging Face id when the file's name does not say it. Throws InputError
/// for text that is not a config, and for a model whose layers the catalogue cannot describe, with
/// the reason.
Imported import_hf_config(const std::string& json_text, const std::string& file,
                          const std::string& quant_json = "", const std::string& id = "");

}  // namespace servegrid::catalog
