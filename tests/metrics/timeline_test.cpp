#include "metrics/timeline.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace servegrid;
using metrics::Epoch;

namespace {

std::vector<Ticks> values_of(const Epoch& e) {
  std::vector<Ticks> values = {e.start};
  Epoch::fields(e, [&values](auto v) { values.push_back(v); });
  return values;
}

}  // namespace

TEST_CASE("epochs are read back as they were put in", "[metrics]") {
  std::mt19937_64 random(11);
  const auto any = [&random] { return static_cast<std::int64_t>(random() >> (random() % 64)); };
  std::vector<Epoch> epochs(20'000);  // several chunks
  metrics::Timeline timeline;
  for (Epoch& e : epochs) {
    e.start = static_cast<Ticks>(any()) << (random() % 60);
    Epoch::fields(e, [&any](auto& v) { v = static_cast<std::decay_t<decltype(v)>>(any()); });
    e.replica = static_cast<int>(random() % 8);
    e.steps = static_cast<std::int64_t>(random() % 1'000'000);
    e.sequences = static_cast<std::int64_t>(random() % 1'000'000);
    e.first_step = static_cast<Ticks>(any()) << (random() % 20);
    e.step_growth =
        (random() % 3 == 0 ? -1 : 1) * static_cast<Ticks>(any());  // also what cannot be
    timeline.push_back(e);
  }
  REQUIRE(timeline.size() == epochs.size());
  std::size_t i = 0;
  for (const Epoch& e : timeline) REQUIRE(values_of(e) == values_of(epochs[i++]));
  CHECK(i == epochs.size());
}

TEST_CASE("what is not kept is still added up", "[metrics]") {
  metrics::Timeline kept, passing;
  for (int i = 0; i < 100; ++i) {
    Epoch e;
    e.start = i * to_ticks(1);
    e.steps = 10;
    e.sequences = 1 + i % 3;
    e.running = e.sequences;
    e.first_step = to_ticks(0.05);
    kept.push_back(e);
    passing.push_back(e, false);
  }
  CHECK(passing.empty());
  CHECK(passing.sums().epochs == 100);
  CHECK(passing.sums().busy == Approx(50));
  CHECK(passing.sums().running == kept.sums().running);
  CHECK(passing.sums().gaps.count() == kept.sums().gaps.count());
}

TEST_CASE("a long run keeps a bounded sample of the steps that hold prefill", "[metrics]") {
  metrics::Timeline timeline;
  constexpr int epochs = 40'000;
  for (int i = 0; i < epochs; ++i) {
    Epoch e;
    e.start = i * to_ticks(1);
    e.steps = 1;
    e.prefill_tokens = i % 2 == 0 ? 8192 : 100;  // the chunks of a prompt come in a pattern
    e.first_step = to_ticks(0.5);
    timeline.push_back(e, false);
  }
  const auto& sample = timeline.sums().prefill_sample();
  CHECK(sample.size() <= 1024);
  CHECK(sample.size() > 256);
  double large = 0;
  for (const Epoch& e : sample) large += e.prefill_tokens == 8192 ? 1 : 0;
  CHECK(large / static_cast<double>(sample.size()) == Approx(0.5).margin(0.1));
  CHECK(to_seconds(timeline.sums().prefill_time) == Approx(0.5 * epochs));
}
