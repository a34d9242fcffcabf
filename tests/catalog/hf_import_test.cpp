// The Hugging Face import: what it reads, what it says it cannot, and hostile input.
#include "catalog/hf_import.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catalog/load.hpp"
#include "catalog/reader.hpp"
#include "units/error.hpp"

using namespace servegrid;
using catalog::Imported;
using catalog::Model;

namespace {

Model model_of(const Imported& imported) {
  return catalog::load_model(catalog::Value::from_text(imported.yaml, "imported"), "imported", "");
}

Model import(const std::string& text) {
  return model_of(catalog::import_hf_config(text, "t.json"));
}

std::string all(const Imported& imported) {
  std::string out;
  for (const std::string& remark : imported.not_represented) out += remark + "\n";
  return out;
}

const std::string dense =
    R"("model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2,
       "intermediate_size": 1024, "num_hidden_layers": 4, "vocab_size": 1000,
       "max_position_embeddings": 4096, "torch_dtype": "bfloat16")";
const std::string moe =
    R"("model_type": "qwen3_moe", "hidden_size": 512, "num_attention_heads": 8, "head_dim": 128,
       "num_key_value_heads": 2, "intermediate_size": 1024, "moe_intermediate_size": 256,
       "num_experts": 16, "num_experts_per_tok": 2, "num_hidden_layers": 4, "vocab_size": 1000,
       "max_position_embeddings": 4096, "mlp_only_layers": [0])";

std::string object(const std::string& inside) {
  return "{" + inside + "}";
}

}  // namespace

TEST_CASE("a dense config becomes one group of layers") {
  const Imported imported = catalog::import_hf_config(object(dense), "Org--Tiny-2B_config.json");
  const Model m = model_of(imported);
  REQUIRE(m.layers.size() == 1);
  CHECK(m.layers[0].count == 4);
  CHECK(m.layers[0].attention.heads == 8);
  CHECK(m.layers[0].attention.kv_heads == 2);
  CHECK(m.layers[0].attention.head_dim == 64);
  CHECK(m.layers[0].mlp.intermediate == 1024);
  CHECK(m.aliases == std::vector<std::string>{"Org/Tiny-2B"});
  CHECK(m.nominal_billions == 2);
  CHECK(imported.not_represented.empty());
}

TEST_CASE("dense first layers and experts are separate groups") {
  const Model m = import(object(moe));
  REQUIRE(m.layers.size() == 2);
  CHECK(m.layers[0].count == 1);
  CHECK(m.layers[0].mlp.intermediate == 1024);
  CHECK(m.layers[1].count == 3);
  CHECK(m.layers[1].mlp.experts == 16);
  CHECK(m.layers[1].mlp.moe_intermediate == 256);
  CHECK(m.layers[1].attention.qk_norm);
}

TEST_CASE("what a quantised checkpoint leaves alone is in its parts") {
  const Model m = import(object(moe + R"(, "quantization_config": {"quant_method": "modelopt",
    "quant_algo": "NVFP4", "ignore": ["lm_head", "model.layers.*.self_attn*"]})"));
  REQUIRE(m.checkpoints.size() == 1);
  CHECK(m.checkpoints[0].format == catalog::Format::nvfp4);
  REQUIRE(m.checkpoints[0].parts.size() == 1);
  CHECK(m.checkpoints[0].parts[0].part == "attention");
  CHECK(m.checkpoints[0].parts[0].format == catalog::Format::bf16);
}

TEST_CASE("a format kept in few layers is said, not applied") {
  const Imported i =
      catalog::import_hf_config(object(moe + R"(, "quantization_config": {"quant_algo": "NVFP4",
        "ignore": ["model.layers.3.self_attn*"]})"),
                                "t.json");
  CHECK(model_of(i).checkpoints.at(0).parts.empty());
  CHECK(all(i).find("1 of 4 layers store attention as bf16") != std::string::npos);
}

TEST_CASE("block FP8 and int4 groups are told apart") {
  const auto format = [](const std::string& q) {
    return import(object(dense + ", \"quantization_config\": " + q)).native_format;
  };
  CHECK(format(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})") ==
        catalog::Format::fp8_block);
  CHECK(format(R"({"quant_method": "fp8"})") == catalog::Format::fp8);
  CHECK(format(R"({"config_groups": {"g": {"weights": {"num_bits": 4, "type": "int",
        "group_size": 32}}}})") == catalog::Format::int4_g32);
  CHECK(format(R"({"quant_method": "awq", "bits": 4, "group_size": 128})") ==
        catalog::Format::int4_g128);
}

TEST_CASE("keys without a place and Python's infinities are reported") {
  const Imported i = catalog::import_hf_config(
      object(dense + R"(, "hyper_connections": 4, "time_step_limit": [0.0, Infinity])"), "t.json");
  CHECK(all(i).find("hyper_connections") != std::string::npos);
  CHECK(all(i).find("Infinity") != std::string::npos);
}

TEST_CASE("models without a kind are refused with the reason") {
  CHECK_THROWS_WITH(import(object(dense + R"(, "compress_ratios": [0, 4, 4, 0])")),
                    Catch::Contains("compress_ratios"));
  CHECK_THROWS_WITH(import(object(dense + R"(, "is_encoder_decoder": true)")),
                    Catch::Contains("encoder-decoder"));
  CHECK_THROWS_WITH(import(object(dense + R"(, "layer_types": ["a", "b", "c", "d"])")),
                    Catch::Contains("layer type"));
}

TEST_CASE("hostile input is an input error") {
  const auto bad = [](const std::string& text) { CHECK_THROWS_AS(import(text), InputError); };
  bad("");
  bad("[]");
  bad("null");
  bad("{");
  bad("{}");
  bad("\xff\xfe");
  bad(std::string(100'000, '['));
  bad(std::string(5u << 20, ' '));
  bad("{\"a\": " + std::string(10'000, '{'));
  for (const char* value : {"NaN", "1e999", "-1", "0", "18446744073709551615", "1.5", "\"x\"", "[]",
                            "{}", "true", "null", "99999999999999999999999999"}) {
    for (const char* key :
         {"hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads"}) {
      INFO(key << " = " << value);
      bad(object(dense + ", \"" + key + "\": " + value));
    }
  }
  bad(object(dense + R"(, "num_hidden_layers": 1000000000)"));
  bad(object(dense + R"(, "quantization_config": 3)"));
  bad(object(dense + R"(, "vision_config": [])"));
  bad(object(dense + R"(, "block_configs": [1])"));
  bad(object(moe + R"(, "num_experts_per_tok": 17)"));
}

TEST_CASE("every config of a folder of public ones imports or is refused with a reason") {
  const std::filesystem::path folder =
      std::filesystem::path(SERVEGRID_SOURCE_DIR).parent_path() / "shared" / "hf_configs";
  if (!std::filesystem::is_directory(folder)) {
    SUCCEED("no folder of configs beside the project");
    return;
  }
  int imported = 0, refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("hf_quant_config.json") || !name.ends_with("_config.json")) continue;
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    INFO(name);
    try {
      const int depth = model_of(catalog::import_hf_config(text.str(), name)).depth();
      CHECK(depth > 0);
      ++imported;
    } catch (const InputError& e) {
      CHECK(std::string(e.what()).find("compress_ratios") != std::string::npos);
      ++refused;
    }
  }
  CHECK(imported > refused);
}
