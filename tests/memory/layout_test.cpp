#include "memory/layout.hpp"

#include <catch2/catch.hpp>

#include "memory/reserve.hpp"
#include "scenario.hpp"

using namespace servegrid;
using memory::BlockPool;
using memory::LayoutOptions;

namespace {

model::Deployment deploy(const catalog::Model& m, int tp,
                         catalog::Format kv = catalog::Format::bf16) {
  model::Deployment d;
  d.model = m;
  d.parallel.tp = tp;
  d.kv_cache = kv;
  return d;
}

LayoutOptions options(const char* kind = "vllm", std::int64_t block = 16) {
  LayoutOptions o;
  o.kind = kind;
  o.block_tokens = block;
  return o;
}

}  // namespace

TEST_CASE("One type of layer: bytes, blocks and tokens by hand", "[memory]") {
  const auto kinds = memory::kv_kinds(deploy(test::llama_70b(), 1));
  REQUIRE(kinds.size() == 1);
  CHECK(kinds[0].layers * kinds[0].bytes_per_token == 327680);
  const auto pool = memory::make_pool(kinds, options());
  CHECK(pool.block_bytes == 327680 * 16);
  CHECK(pool.blocks_in(43'000'000'000) == 43'000'000'000 / (327680 * 16));
  CHECK(pool.blocks_of(8192) == 512);
  CHECK(pool.blocks_of(8193) == 513);
  CHECK(pool.fixed_blocks() == 0);
  CHECK(memory::sequence_bytes(kinds, 131072) == 42949672960.0);
  // FP8 halves it, TP divides the heads, and no further than one head a rank.
  CHECK(memory::kv_kinds(deploy(test::llama_70b(), 1, catalog::Format::fp8))[0].bytes_per_token ==
        2048);
  CHECK(memory::kv_kinds(deploy(test::llama_70b(), 8))[0].bytes_per_token == 512);
  CHECK(memory::kv_kinds(deploy(test::llama_70b(), 16))[0].bytes_per_token == 512);
}

TEST_CASE("MLA keeps one latent on each rank; the sparse indexer adds 132 B", "[memory]") {
  auto m = test::deepseek_v3();
  CHECK(memory::kv_kinds(deploy(m, 8))[0].bytes_per_token == 1152);
  for (auto& g : m.layers) {
    g.attention.indexer_heads = 64;
    g.attention.indexer_dim = 128;
  }
  const auto kinds = memory::kv_kinds(deploy(m, 8, catalog::Format::fp8));
  REQUIRE(kinds.size() == 1);
  CHECK(kinds[0].layers == 61);
  CHECK(kinds[0].bytes_per_token == 576 + 132);
}

TEST_CASE("Hybrid groups of a gated-delta-net model", "[memory]") {
  // Worked in the source of vLLM and checked against a start-up log: TP 2, bf16 KV, 3 drafts.
  const auto kinds = memory::kv_kinds(deploy(test::qwen_hybrid_27b(), 2), 3);
  REQUIRE(kinds.size() == 2);
  CHECK(kinds[0].layers == 17);  // 16 and the MTP layer
  CHECK(kinds[0].bytes_per_token == 2048);
  CHECK(kinds[1].state_bytes == 61440 + 1572864);
  LayoutOptions o = options();
  o.draft_tokens = 3;
  const BlockPool pool = memory::make_pool(kinds, o);
  CHECK(pool.block_tokens == 800);
  CHECK(pool.page_bytes == 1638400);
  CHECK(pool.group_size == 17);
  CHECK(pool.groups.size() == 4);
  CHECK(pool.block_bytes == 27852800);
  CHECK(pool.blocks_of(262144) == 343);
  CHECK(pool.fixed_blocks() == 15);
  CHECK(pool.longest(343, 1 << 20) == 328 * 800);
  CHECK(pool.printed_tokens(343, 262144, "concurrency") == 262144);
  CHECK(pool.printed_tokens(343, 262144, "blocks") == 343 / 4 * 800);
  // FP8 KV halves the attention page, so the block holds twice the tokens.
  const auto fp8 = memory::kv_kinds(deploy(test::qwen_hybrid_27b(), 2, catalog::Format::fp8), 3);
  CHECK(memory::make_pool(fp8, o).block_tokens == 1600);
  // Without prefix caching a state holds one block and the drafts.
  o.prefix_caching = false;
  CHECK(memory::make_pool(kinds, o).fixed_blocks() == 12);
}

TEST_CASE("Hybrid groups of a sliding-window model", "[memory]") {
  const auto kinds = memory::kv_kinds(deploy(test::gpt_oss(24, 32), 1));
  LayoutOptions o = options();
  o.tokens_in_flight = 2048;
  const BlockPool pool = memory::make_pool(kinds, o);
  CHECK(pool.group_size == 12);
  CHECK(pool.block_bytes == 393216);
  // 8192 / 16 of the full group; min(127 + 2048, 8192) / 16 rounded up, + 1, of the window group
  CHECK(pool.blocks_of(8192) == 512 + 136 + 1);
  CHECK(pool.blocks_resident(8192) == 512 + 8 + 1);
  CHECK(pool.blocks_resident(32) == 2 + 2);
  CHECK(pool.fixed_blocks() == 9);
}

TEST_CASE("Groups follow the smaller count unless the counts are close", "[memory]") {
  using Kind = memory::KvKind::Kind;
  const auto groups = [](std::int64_t full, std::int64_t window) {
    const auto p = memory::make_pool(
        {{Kind::full, full, 2048, 0, 0}, {Kind::window, window, 2048, 0, 512}}, options());
    return std::make_pair(p.group_size, p.groups.size());
  };
  CHECK(groups(10, 52) == std::make_pair(std::int64_t{10}, std::size_t{1 + 6}));  // last padded
  CHECK(groups(10, 14) == std::make_pair(std::int64_t{14}, std::size_t{2}));      // 14 < 1.5 x 10
  CHECK(groups(10, 15) == std::make_pair(std::int64_t{10}, std::size_t{3}));
}

TEST_CASE("Windows only: blocks grow up to the window", "[memory]") {
  auto a = test::gqa(32, 8, 128);
  a.kind = catalog::AttentionKind::window;
  a.window = 4096;
  const auto m = test::model("mistral", 4096, 32000, {{32, a, test::dense(14336)}});
  const auto pool = memory::make_pool(memory::kv_kinds(deploy(m, 1)), options());
  CHECK(pool.groups.size() == 1);
  CHECK(pool.growing_groups() == 1);
  CHECK(pool.fixed_blocks() == 0);
  CHECK(pool.blocks_resident(1600) == 100);
  CHECK(pool.blocks_resident(100000) == 257);
}

TEST_CASE("SGLang and TensorRT-LLM pools", "[memory]") {
  const auto window = memory::kv_kinds(deploy(test::gpt_oss(24, 32), 1));
  // 12 full layers of 2048 B and 0.8 of 12 window layers
  CHECK(memory::make_pool(window, options("sglang", 1)).block_bytes == 24576 + 19660);
  CHECK(memory::make_pool(window, options("trtllm", 32)).block_bytes == 2 * 24576 * 32);
  const auto hybrid = memory::kv_kinds(deploy(test::qwen_hybrid_27b(), 2));
  const auto pool = memory::make_pool(hybrid, options("sglang", 1));
  CHECK(pool.block_bytes == 16 * 2048);
  // (10240 / 2 channels x 3 taps x 2 B + 24 heads x 128 x 128 x 4 B) x 48 layers
  CHECK(pool.state_slot_bytes == (30720 + 1572864) * 48);
  const std::int64_t kv = 10'000'000'000;
  CHECK(pool.state_sequences_in(kv) == kv * 9 / 19 / pool.state_slot_bytes / 3);
  CHECK(pool.blocks_in(kv) == (kv - kv * 9 / 19) / 32768);
}

TEST_CASE("Capacity grows with bytes and shrinks with length", "[memory]") {
  const auto pool =
      memory::make_pool(memory::kv_kinds(deploy(test::qwen_hybrid_27b(), 2)), options());
  std::int64_t last = -1;
  for (std::int64_t bytes = 0; bytes < 2'000'000'000; bytes += 77'777'777) {
    CHECK(pool.blocks_in(bytes) >= last);
    last = pool.blocks_in(bytes);
  }
  for (std::int64_t blocks = 20; blocks < 400; blocks += 37) {
    const auto longest = pool.longest(blocks, 1 << 20);
    CHECK(pool.blocks_of(longest) <= blocks);
    CHECK(pool.blocks_of(longest + 1) > blocks);
  }
}

TEST_CASE("Versions compare by number", "[memory]") {
  CHECK(memory::version_at_least("0.19.0", "0.8"));
  CHECK(memory::version_at_least("0.26.1rc1", "0.26"));
  CHECK_FALSE(memory::version_at_least("0.7.0-dev V1", "0.8"));
  CHECK_FALSE(memory::version_at_least("0.7.x", "0.8"));
  CHECK_FALSE(memory::version_at_least("", "0.8"));
}
