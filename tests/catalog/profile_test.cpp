// Names, profiles and what is derived from them.
#include <catch2/catch.hpp>
#include <chrono>

#include "catalog/catalog.hpp"
#include "temporary.hpp"
#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::catalog;
using namespace servegrid::test;
using Catch::Matchers::Contains;

namespace {
constexpr double gib = 1024.0 * 1024 * 1024;
}

TEST_CASE("Names resolve as people write them", "[catalog][names]") {
  const DataFolder data;
  const Catalog catalog(data.root());
  for (const char* name : {"toy-70b", "Toy_70B", "toy 70b", "toy-org/Toy-70B-Instruct",
                           "TOY-70B-INSTRUCT", "other-org/Toy-70B-Instruct", "toy70", "toy70b"}) {
    INFO(name);
    CHECK(catalog.model(name).name == "toy-70b");
  }
  CHECK(catalog.gpu("Toy GPU").name == "toy");
  CHECK(catalog.gpu(data.path("hw_profiles/toy.yaml")).name == "toy");
  CHECK(catalog.gpu("hw_profiles/toy.yaml").name == "toy");
  data.write("hw_profiles/toy-pcie.yaml",
             "extends: toy\ntitle: PCIe\naliases: [toy-sxm]\nmemory: {bandwidth: 2 TB/s}\n");
  CHECK_THROWS_WITH(catalog.gpu("TOY-SXM"), Contains("may mean several GPUs: toy, toy-pcie"));
  CHECK_THROWS_WITH(catalog.gpu("toyy"), Contains("did you mean 'toy'?"));
  CHECK_THROWS_WITH(catalog.gpu(""), Contains("name of a GPU is missing"));
  CHECK_THROWS_AS(catalog.gpu("../models/toy-70b"), InputError);
  CHECK(catalog.find_file("models", "toy-70b") == data.path("models/toy-70b.yaml"));
  CHECK(catalog.find_file("models", "../scenario").empty());
}

TEST_CASE("A profile extends another", "[catalog][profiles]") {
  const DataFolder data;
  data.write("hw_profiles/toy2.yaml", "extends: toy\ntitle: Two\nmemory: {bandwidth: 9 TB/s}\n");
  const Gpu gpu = Catalog(data.root()).gpu("toy2", {{"memory.bandwidth", "+10%"}});
  CHECK(gpu.title == "Two");
  CHECK(gpu.memory.bandwidth == 9.9e12);
  CHECK(gpu.memory.label_bytes == 180e9);
  CHECK(gpu.aliases.empty());
  CHECK(gpu.overridden == std::vector<std::string>{"memory.bandwidth"});
}

TEST_CASE("A GPU's fields", "[catalog][profiles]") {
  const DataFolder data;
  const Gpu gpu = Catalog(data.root()).gpu("toy");
  CHECK(gpu.compute_units == 148);
  CHECK(*gpu.memory.driver_bytes == 192265846784.0);
  CHECK(gpu.fabric.one_way() == 900e9);
  CHECK(gpu.nic_bandwidth == 50e9);
  CHECK(gpu.power == 1000);
  CHECK(gpu.achieved.bandwidth == 0.81);
  CHECK(gpu.achieved.layer_fixed == 45e-6);
  REQUIRE(gpu.facts.size() == 3);  // the file's source, that of `achieved`, one fact
  CHECK(gpu.facts[0].source == "a data sheet");
  CHECK(gpu.facts[2].note == "bus and clock give 7.67");
}

TEST_CASE("Native peaks and support of formats", "[catalog][profiles]") {
  const DataFolder data;
  const Gpu gpu = Catalog(data.root()).gpu("toy");
  CHECK(gpu.native_peak(Format::bf16) == 2250e12);
  CHECK(gpu.native_peak(Format::fp16) == 2250e12);
  CHECK(gpu.native_peak(Format::nvfp4) == 9000e12);
  CHECK(gpu.native_peak(Format::mxfp4) == 0);  // not in `formats`
  CHECK(gpu.native_peak(Format::int4_g128) == 0);
  CHECK(gpu.support_of(Format::fp8, "toyllm", "1.0").support == Support::native);
  const FormatSupport int4 = gpu.support_of(Format::int4_g128, "toyllm", "1.0");
  CHECK(int4.support == Support::dequantised);
  CHECK(int4.compute == Format::bf16);
  const FormatSupport mx = gpu.support_of(Format::mxfp4, "toyllm", "0.10.1");
  CHECK(mx.support == Support::native);
  CHECK(mx.compute == Format::fp8);
  // 0.9 is older than 0.10; another engine has only the entry for all.
  CHECK(gpu.support_of(Format::mxfp4, "toyllm", "0.9").support == Support::emulated);
  CHECK(gpu.support_of(Format::mxfp4, "other", "2").support == Support::emulated);
}

TEST_CASE("The bytes an engine's fraction applies to", "[catalog][profiles]") {
  Gpu gpu;
  gpu.vendor = "NVIDIA";
  gpu.name = "h100-sxm";
  gpu.memory.label_bytes = 80e9;
  gpu.memory.driver_bytes = 79.65 * gib;
  CHECK(gpu.engine_bytes() / gib == Approx(79.65 - 0.42 - 0.0016 * 79.65));
  gpu.name = "a100-80g";
  gpu.memory.driver_bytes = 80 * gib;
  CHECK(gpu.engine_bytes() / gib == Approx(79.2));
  gpu.vendor = "AMD";
  CHECK(gpu.engine_bytes() / gib == Approx(80));
  gpu.memory.torch_bytes = 70 * gib;
  CHECK(gpu.engine_bytes() == 70 * gib);
}

TEST_CASE("Defaults of an engine by memory", "[catalog][profiles]") {
  const DataFolder data;
  const EngineProfile engine = Catalog(data.root()).engine("toyllm");
  CHECK(engine.name == "toyllm-1.0");
  CHECK(engine.memory.graphs_charged);
  Gpu gpu;
  gpu.vendor = "AMD";
  gpu.memory.label_bytes = 200 * gib;
  CHECK(engine.defaults_on(gpu).max_num_batched_tokens == 16384);
  gpu.memory.label_bytes = 79.2 * gib;
  CHECK(engine.defaults_on(gpu).max_num_batched_tokens == 8192);
  gpu.name = "a100-80g";
  CHECK(engine.defaults_on(gpu).max_num_batched_tokens == 2048);
  CHECK(engine.defaults_on(gpu).max_num_seqs == 256);
}

TEST_CASE("Offers", "[catalog][profiles]") {
  const DataFolder data;
  const PriceSheet sheet = Catalog(data.root()).prices("sheet");
  REQUIRE(sheet.offers.size() == 3);
  CHECK(sheet.offers[0].month(3) == 4 * 1409);  // sold in fours
  CHECK(sheet.offers[0].month(9) < 0);
  CHECK(sheet.offers[1].month(5) == 8000);
  CHECK(sheet.offers[2].month(1) == 730);
  CHECK(sheet.find("toy", 1)->title == "single");
  CHECK(sheet.find("toy", 2)->title == "a box");
  CHECK(sheet.find("toy", 8)->title == "a server");
  CHECK(sheet.find("toy", 16) == nullptr);
  CHECK(sheet.find("b200", 1) == nullptr);
}

TEST_CASE("Layers, attention kinds and checkpoints of a model", "[catalog][profiles]") {
  const DataFolder data;
  data.write("models/mixed.yaml", R"(hidden: 64
vocab: 1000
max_context: 4096
source: a test
date: 2026-01
layers:
  - {count: 2, attention: {kind: window, window: 128, heads: 8, kv_heads: 2, head_dim: 16}, mlp: {intermediate: 256, gated: false}}
  - {count: 1, attention: {kind: mla, heads: 8, q_lora: 32, kv_lora: 16, qk_nope: 8, qk_rope: 4, v_head_dim: 8, sparse_top_k: 64, indexer_heads: 2, indexer_dim: 8}, mlp: {experts: 8, active_experts: 2, moe_intermediate: 32, shared_intermediate: 32}}
  - {count: 3, attention: {kind: linear, linear_key_heads: 2, linear_value_heads: 4, linear_key_dim: 8, linear_value_dim: 8, conv_kernel: 4}}
  - {count: 1, attention: {kind: mamba, heads: 4, head_dim: 8, ssm_state: 16, ssm_groups: 2, conv_kernel: 4, state_bytes_per_element: 2}}
  - {count: 1, attention: {kind: none}, mlp: {intermediate: 256}}
vision_parameters: 0.45e9
)");
  const Catalog catalog(data.root());
  const Model m = catalog.model("mixed");
  CHECK(m.depth() == 8);
  CHECK(m.vision_parameters == 0.45e9);
  CHECK(m.layers[0].attention.window == 128);
  CHECK_FALSE(m.layers[0].mlp.gated);
  CHECK(m.layers[1].attention.kind == AttentionKind::mla);
  CHECK(m.layers[1].attention.sparse_top_k == 64);
  CHECK(m.layers[1].mlp.experts == 8);
  CHECK(m.layers[2].attention.linear_value_heads == 4);
  CHECK(m.layers[3].attention.state_bytes_per_element == 2);
  CHECK(m.layers[4].attention.heads == 0);
  const Model toy = catalog.model("toy-70b");
  REQUIRE(toy.parts_for(Format::nvfp4).size() == 2);
  CHECK(toy.parts_for(Format::nvfp4)[0].part == "attention");
  CHECK(toy.parts_for(Format::fp8).empty());
}
