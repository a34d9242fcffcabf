// Every model of the catalogue against the total recomputed, apart from this code, from its
// published configuration (billions, without vision tower and MTP module).
#include <catch2/catch.hpp>

#include "catalog/catalog.hpp"
#include "model/parameters.hpp"

using namespace servegrid;

namespace {
struct Total {
  const char* model;
  double billions;
};
const Total totals[] = {
    {"deepseek-r1", 671.026},
    {"deepseek-v3", 671.026},
    {"deepseek-v3.1", 671.026},
    {"deepseek-v3.2", 671.878},
    {"gemma-2-27b", 27.227},
    {"gemma-3-27b", 27.009},
    {"glm-4.5", 352.798},
    {"glm-4.5-air", 106.852},
    {"glm-4.6", 352.798},
    {"gpt-oss-120b", 116.829},
    {"gpt-oss-20b", 20.915},
    {"kimi-k2", 1026.408},
    {"llama-2-70b", 68.977},
    {"llama-3-70b", 70.554},
    {"llama-3-8b", 8.03},
    {"llama-3.1-405b", 405.853},
    {"llama-3.1-70b", 70.554},
    {"llama-3.1-8b", 8.03},
    {"llama-3.2-1b", 1.236},
    {"llama-3.2-3b", 3.213},
    {"llama-3.3-70b", 70.554},
    {"llama-3.3-nemotron-super-49b", 49.867},
    {"llama-4-maverick", 400.712},
    {"llama-4-scout", 107.77},
    {"minimax-m1", 456.09},
    {"minimax-m2", 228.69},
    {"mistral-7b-v0.1", 7.242},
    {"mistral-7b-v0.3", 7.248},
    {"mistral-large-2407", 122.61},
    {"mistral-small-2409", 22.247},
    {"mistral-small-3-24b", 23.572},
    {"mixtral-8x22b", 140.621},
    {"mixtral-8x7b", 46.703},
    {"nemotron-3-nano-30b-a3b", 31.578},
    {"nemotron-3-super-120b-a12b", 120.669},
    {"nemotron-3-ultra-550b-a55b", 549.309},
    {"nemotron-4-340b", 341.026},
    {"nemotron-h-56b", 56.324},
    {"phi-4-14b", 14.66},
    {"qwen2.5-32b", 32.764},
    {"qwen2.5-72b", 72.706},
    {"qwen2.5-7b", 7.616},
    {"qwen3-14b", 14.768},
    {"qwen3-235b-a22b", 235.094},
    {"qwen3-30b-a3b", 30.532},
    {"qwen3-32b", 32.762},
    {"qwen3-8b", 8.191},
    {"qwen3-coder-480b-a35b", 480.155},
    {"qwen3-next-80b-a3b", 79.674},
};
}  // namespace

TEST_CASE("Models of the catalogue have the parameters they should", "[memory][models]") {
  const catalog::Catalog catalog;
  for (const Total& t : totals) {
    const auto p = model::parameters_of(catalog.model(t.model));
    const auto n = static_cast<double>(p.total() - p.of(model::Part::vision));
    INFO(t.model << ": " << n / 1e9 << " against " << t.billions);
    CHECK(n / 1e9 == Approx(t.billions).epsilon(1e-3));
  }
}
