// The closed forms against a loop over sequences and steps.
#include "engine/decode_set.hpp"

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <catch2/catch.hpp>

using namespace servegrid;
using engine::DecodeSet;
using engine::Sequence;

TEST_CASE("sums over decoding sequences equal the loop") {
  boost::random::mt19937 rng(7);
  const auto in = [&](std::int64_t low, std::int64_t high) {
    return boost::random::uniform_int_distribution<std::int64_t>(low, high)(rng);
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<Sequence> sequences(20);
    const std::int64_t block = in(1, 9), clip = 30;
    const std::vector<std::int64_t> windows = {in(1, 20), in(21, 60)};
    DecodeSet set(sequences, block, windows, clip);
    set.advance(in(0, 30));
    std::vector<std::int64_t> tokens(20, -1);
    for (int i = 0; i < 20; ++i) {
      Sequence& s = sequences[static_cast<std::size_t>(i)];
      s.order = i;
      s.request.prompt_tokens = in(1, 40);
      s.request.output_tokens = in(60, 90);
      s.generated = 1;
      set.add(i);
      tokens[static_cast<std::size_t>(i)] = s.request.prompt_tokens + 1;
      if (in(1, 3) == 1) {
        set.remove(i);
        tokens[static_cast<std::size_t>(i)] = -1;
      }
      const std::int64_t steps = std::min<std::int64_t>(in(0, 3), 50);
      set.advance(steps);
      for (auto& t : tokens) t += t < 0 ? 0 : steps;
    }
    roofline::ContextTokens context{};
    std::int64_t remaining = 0, out = 0, free = in(0, 60), steps = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] < 0) continue;
      const auto& r = sequences[i].request;
      context[0] += tokens[i];
      for (std::size_t w = 0; w < 2; ++w) context[w + 1] += std::min(tokens[i], windows[w]);
      out += tokens[i] - r.prompt_tokens;
      remaining += std::min(r.prompt_tokens + r.output_tokens - tokens[i], clip);
    }
    CHECK(set.context() == context);
    CHECK(set.clipped_remainder(0) == remaining);
    CHECK(set.tokens_out() == out);
    const std::int64_t ahead = in(0, 12);
    for (std::int64_t left = free; set.size() > 0; ++steps) {
      for (const std::int64_t t : tokens) {
        if (t >= 0 && (t - 1 + ahead + steps) % block == 0) --left;
      }
      if (left < 0) break;
      CHECK(set.blocks_needed(ahead, steps + 1) == free - left);
    }
    if (set.size() > 0) CHECK(set.steps_within(ahead, free) == steps);
  }
}
