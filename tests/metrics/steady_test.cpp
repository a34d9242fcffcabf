// Warm-up, confidence and saturation, on values whose answer is known.
#include "metrics/steady.hpp"

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <catch2/catch.hpp>
#include <cmath>

using namespace servegrid;
using namespace servegrid::metrics;

namespace {

std::vector<double> noise(std::size_t count, double mean, std::uint32_t seed) {
  boost::random::mt19937 random(seed);
  boost::random::normal_distribution<double> normal(mean, 1);
  std::vector<double> out(count);
  for (double& v : out) v = normal(random);
  return out;
}

RequestRecord completed(std::int64_t id, double arrival, double first, double finish,
                        std::int64_t output = 2) {
  RequestRecord r;
  r.id = id;
  r.outcome = Outcome::completed;
  r.prompt_tokens = 10;
  r.output_tokens = output;
  r.arrival = r.scheduled = to_ticks(arrival);
  r.first_token = to_ticks(first);
  r.finish = to_ticks(finish);
  return r;
}

}  // namespace

TEST_CASE("MSER-5 finds where a transient ends", "[metrics]") {
  std::vector<double> values = noise(1000, 10, 1);
  CHECK(mser5(values) < 100);
  for (std::size_t i = 0; i < 200; ++i) values[i] += 20 * (1 - static_cast<double>(i) / 200);
  const std::size_t cut = mser5(values);
  CHECK(cut >= 150);
  CHECK(cut <= 260);
  CHECK(mser5(noise(49, 0, 1)) == 0);
  CHECK(mser5(std::vector<double>(100, 7.0)) == 0);  // of cuts as good, the one that keeps most
}

TEST_CASE("batch means cover the mean about 95 times in 100", "[metrics]") {
  int covered = 0;
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    const auto values = noise(1000, 3, seed);
    double mean = 0;
    for (const double v : values) mean += v / 1000;
    const auto half = half_width(values);
    REQUIRE(half);
    covered += std::abs(mean - 3) <= *half ? 1 : 0;
  }
  CHECK(covered >= 366);  // 380 expected, 4.4 standard deviation
  CHECK(covered <= 394);
  CHECK_FALSE(half_width(noise(99, 3, 1)));
}

TEST_CASE("batch means see that values depend on each other", "[metrics]") {
  // An autoregressive series: its mean is known far less well than independent values would say.
  auto values = noise(10000, 0, 5);
  for (std::size_t i = 1; i < values.size(); ++i) values[i] += 0.9 * values[i - 1];
  const double naive = 1.96 * std::sqrt(1 / (1 - 0.81)) / std::sqrt(10000.0);
  CHECK(*half_width(values) > 3 * naive);
}

TEST_CASE("what a warm-up leaves out", "[metrics]") {
  RunResult result;
  for (int i = 0; i < 10; ++i) result.requests.push_back(completed(i, i, i + 1, 30 - i));
  auto counts = measured(result, {});
  CHECK(std::count(counts.begin(), counts.end(), true) == 10);
  counts = measured(result, {0.2, 0, false});
  CHECK_FALSE(counts[9]);  // the first to finish
  CHECK_FALSE(counts[8]);
  CHECK(counts[7]);
  counts = measured(result, {0, 3, false});
  CHECK_FALSE(counts[2]);
  CHECK(counts[3]);
}

TEST_CASE("an open loop is saturated when its queue grows", "[metrics]") {
  RunResult steady, growing;
  for (int i = 0; i < 1000; ++i) {
    steady.requests.push_back(completed(i, i, i + 1, i + 20));
    growing.requests.push_back(completed(i, i, 1.5 * i + 1, 1.5 * i + 20));
  }
  CHECK_FALSE(verdict_of(steady, 0, 0).saturated);
  const Verdict v = verdict_of(growing, 0, 0);
  CHECK(v.saturated);
  CHECK_THAT(v.text, Catch::Matchers::Contains("grows"));
  CHECK_FALSE(verdict_of(steady, 50, 5).saturated);
  CHECK(verdict_of(steady, 50, 5.1).saturated);
}

TEST_CASE("a queue that clients leave does not grow, and does not keep up", "[metrics]") {
  RunResult result;
  for (int i = 0; i < 1000; ++i) {
    result.requests.push_back(completed(i, i, i + 1, i + 20));
    if (i % 50 == 0) {
      result.requests.back().outcome = Outcome::failed;
      result.requests.back().reason = timed_out;
    }
  }
  const Verdict v = verdict_of(result, 0, 0);
  CHECK(v.saturated);
  CHECK(v.text == "saturated: 20 of 1000 clients gave up waiting");
  // A GPU that is lost is not a queue.
  for (RequestRecord& r : result.requests) r.reason = r.reason.empty() ? "" : "lost";
  CHECK_FALSE(verdict_of(result, 0, 0).saturated);
}

TEST_CASE("a run is precise when both means are known", "[metrics]") {
  RunResult result;
  const auto spread = noise(2000, 10, 3);
  for (int i = 0; i < 2000; ++i) {
    const double ttft = spread[static_cast<std::size_t>(i)];
    result.requests.push_back(completed(i, i, i + ttft, i + ttft + 1));
  }
  CHECK(precise(result.requests, 0.05));
  CHECK_FALSE(precise(result.requests, 0.0005));
  result.requests.resize(80);
  CHECK_FALSE(precise(result.requests, 0.5));
}
