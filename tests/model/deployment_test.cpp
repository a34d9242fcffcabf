#include "model/deployment.hpp"

#include <catch2/catch.hpp>

#include "models.hpp"
#include "units/error.hpp"

using namespace servegrid;

namespace {

model::Deployment deployment(catalog::Model m, catalog::Parallelism p) {
  model::Deployment d;
  d.model = std::move(m);
  d.parallel = p;
  d.gpu.name = "test-gpu";
  d.gpu.fabric.domain = 8;
  d.gpu.fabric.kind = catalog::FabricKind::switched;
  d.gpu.hardware_formats = {catalog::Format::fp8};
  d.gpu.software.engines = {{"vllm", "yes"}, {"trtllm", "no: CUDA only"}};
  return d;
}

std::string message(const model::Deployment& d) {
  try {
    model::check(d);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("What can be built passes", "[model]") {
  CHECK_NOTHROW(model::check(deployment(test::llama_70b(), {8, 1, 1, 1})));
  CHECK_NOTHROW(model::check(deployment(test::deepseek_v3(), {1, 1, 8, 8})));
  CHECK_NOTHROW(model::check(deployment(test::deepseek_v3(), {8, 2, 8, 1})));
  // 4 KV heads on 8 ranks: each on two.
  const auto m = test::model("q", 4096, 1000, {{2, test::gqa(64, 4, 128), test::dense(4096)}});
  CHECK_NOTHROW(model::check(deployment(m, {8, 1, 1, 1})));
}

TEST_CASE("What cannot is refused with the arithmetic", "[model]") {
  CHECK_THROWS_AS(model::check(deployment(test::llama_70b(), {3, 1, 1, 1})), InputError);
  CHECK(message(deployment(test::llama_70b(), {3, 1, 1, 1})).find("64 = 3 x 21 + 1") !=
        std::string::npos);
  CHECK_THROWS_AS(model::check(deployment(test::llama_70b(), {1, 81, 1, 1})), InputError);
  CHECK_THROWS_AS(model::check(deployment(test::llama_70b(), {4, 1, 4, 1})), InputError);
  CHECK_THROWS_AS(model::check(deployment(test::deepseek_v3(), {8, 1, 3, 1})), InputError);
  CHECK_THROWS_AS(model::check(deployment(test::llama_70b(), {0, 1, 1, 1})), InputError);
  // 6 ranks and 4 KV heads: no even share
  const auto m = test::model("q", 4096, 1000, {{2, test::gqa(48, 4, 128), test::dense(6144)}});
  CHECK_THROWS_AS(model::check(deployment(m, {6, 1, 1, 1})), InputError);
}

TEST_CASE("Collectives across servers are not modelled", "[model]") {
  CHECK_THROWS_AS(model::check(deployment(test::deepseek_v3(), {16, 1, 1, 1})), InfeasibleError);
  CHECK_NOTHROW(model::check(deployment(test::deepseek_v3(), {8, 4, 1, 1})));
}

TEST_CASE("Engines and formats that the GPU refuses", "[model]") {
  auto d = deployment(test::llama_70b(), {1, 1, 1, 1});
  d.engine = "trtllm";
  CHECK_THROWS_AS(model::check(d), InfeasibleError);
  CHECK(message(d).find("vllm") != std::string::npos);
  d.engine = "vllm";
  d.gpu.format_support = {{catalog::Format::int8, "vllm", "", catalog::Support::refused,
                           catalog::Format::bf16, "a test"}};
  d.weights = catalog::Format::int8;
  CHECK_THROWS_AS(model::check(d), InfeasibleError);
  d.weights = catalog::Format::bf16;
  d.kv_cache = catalog::Format::nvfp4;
  CHECK_THROWS_AS(model::check(d), InfeasibleError);
  d.kv_cache = catalog::Format::int4_g32;
  CHECK_THROWS_AS(model::check(d), InputError);
}
