// Classes of requests, and lengths that are drawn together.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "units/error.hpp"
#include "workload/lengths.hpp"
#include "workload/source.hpp"

using namespace servegrid;
using catalog::ClassSpec;
using catalog::LengthSpec;
using catalog::RequestSpec;
using catalog::WorkloadSpec;
using workload::Lengths;
using workload::RequestLengths;
using workload::Stream;

namespace {

ClassSpec of_class(const char* name, double share, double prompt) {
  ClassSpec c;
  c.name = c.tenant = name;
  c.share = share;
  c.prompt.mean = prompt;
  c.output.mean = 5;
  return c;
}

LengthSpec lognormal(double mean) {
  LengthSpec l;
  l.kind = LengthSpec::Kind::lognormal;
  l.mean = mean;
  l.sigma = 0.5;
  return l;
}

}  // namespace

TEST_CASE("classes come in their shares, with their own lengths and rights", "[workload]") {
  WorkloadSpec spec;
  spec.kind = WorkloadSpec::Kind::open;
  spec.rate = 1;
  spec.requests = 40000;
  spec.classes = {of_class("chat", 3, 100), of_class("batch", 1, 900)};
  spec.classes[0].shared_prefix = 40;
  spec.classes[1].priority = 7;
  spec.classes[1].timeout = 2.5;
  const auto source = workload::make_source(spec, 1);
  double second = 0;
  while (const auto r = source->next_arrival()) {
    const bool batch = r->class_index == 1;
    second += batch ? 1 : 0;
    REQUIRE(r->prompt_tokens == (batch ? 900 : 100));
    REQUIRE(r->priority == (batch ? 7 : 0));
    REQUIRE(r->timeout == to_ticks(batch ? 2.5 : 0));
    REQUIRE(r->shared_prefix == (batch ? 0 : 40));
  }
  CHECK(second / 40000 == Approx(0.25).margin(4 * std::sqrt(0.25 * 0.75 / 40000)));
}

TEST_CASE("system prompts of two classes are two prefixes", "[workload]") {
  WorkloadSpec spec;
  spec.kind = WorkloadSpec::Kind::batch;
  spec.requests = 50;
  spec.classes = {of_class("a", 1, 100), of_class("b", 1, 100)};
  for (ClassSpec& c : spec.classes) c.shared_prefix = 10;
  std::map<int, workload::StreamId> streams;
  const auto source = workload::make_source(spec, 1);
  while (const auto r = source->next_arrival()) streams[r->class_index] = r->shared_stream;
  REQUIRE(streams.size() == 2);
  CHECK(streams[0] != streams[1]);
}

TEST_CASE("a conversation is of one class to its end", "[workload]") {
  WorkloadSpec spec;
  spec.kind = WorkloadSpec::Kind::conversations;
  spec.requests = 3000;
  spec.concurrent = 1;
  for (const char* name : {"short", "long"}) {
    ClassSpec c = of_class(name, 1, 0);
    c.turn_input.mean = name[0] == 's' ? 10 : 1000;
    c.turns = name[0] == 's' ? 2 : 3;
    spec.classes.push_back(c);
  }
  const auto source = workload::make_source(spec, 1);
  auto r = source->next_arrival();
  int last = 0, conversations[2] = {0, 0};
  while (r) {
    if (r->turn > 0) REQUIRE(r->class_index == last);
    if (r->turn == 0) ++conversations[r->class_index];
    REQUIRE(r->turn < (r->class_index == 0 ? 2 : 3));
    last = r->class_index;
    r = source->on_end(*r, r->arrival, true);
  }
  CHECK(conversations[0] > 400);
  CHECK(conversations[1] > 400);
}

TEST_CASE("distributions have their means and their shapes", "[workload]") {
  const Stream stream(5, "prompts");
  const int n = 100000;
  const auto mean_of = [&](const LengthSpec& spec) {
    const Lengths lengths(spec, "prompt");
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += static_cast<double>(lengths.draw(stream, i));
    return sum / n;
  };
  LengthSpec normal;
  normal.kind = LengthSpec::Kind::normal;
  normal.mean = 1000;
  normal.sigma = 100;
  CHECK(mean_of(normal) == Approx(1000).margin(4 * 100 / std::sqrt(n)));
  LengthSpec zipf;  // P(1), P(2), P(3) ~ 1, 1/2, 1/3
  zipf.kind = LengthSpec::Kind::zipf;
  zipf.low = 1;
  zipf.high = 3;
  zipf.exponent = 1;
  CHECK(mean_of(zipf) == Approx(18.0 / 11).epsilon(0.01));
  LengthSpec histogram;
  histogram.kind = LengthSpec::Kind::empirical;
  histogram.bins = {{10, 19, 1}, {100, 100, 3}, {7, 7, 0}};
  CHECK(mean_of(histogram) == Approx((14.5 + 3 * 100) / 4).epsilon(0.01));
  std::map<std::int64_t, int> seen;
  const Lengths lengths(histogram, "prompt");
  for (int i = 0; i < n; ++i) ++seen[lengths.draw(stream, i)];
  CHECK(seen.count(7) == 0);
  CHECK(seen.size() == 11);
  CHECK(seen[10] == Approx(n / 40.0).epsilon(0.1));
  CHECK(seen[19] == Approx(n / 40.0).epsilon(0.1));
}

TEST_CASE("correlated lengths are correlated, and have their own distributions", "[workload]") {
  RequestSpec spec;
  spec.prompt = lognormal(1000);
  spec.output = lognormal(200);
  spec.correlation = 0.8;
  const RequestLengths lengths(spec, "");
  const Stream prompts(1, "prompts"), outputs(1, "outputs");
  const int n = 50000;
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0, mean = 0;
  for (int i = 0; i < n; ++i) {
    const auto pair = lengths.draw(prompts, outputs, i);
    const double a = std::log(static_cast<double>(pair.prompt)),
                 b = std::log(static_cast<double>(pair.output));
    x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
    mean += static_cast<double>(pair.output);
  }
  const double r =
      (xy / n - x / n * y / n) / std::sqrt((xx / n - x / n * x / n) * (yy / n - y / n * y / n));
  CHECK(r == Approx(0.8).margin(0.01));
  CHECK(mean / n == Approx(200).epsilon(0.02));
}

TEST_CASE("measured pairs stay together", "[workload]") {
  RequestSpec spec;
  spec.pairs = std::make_shared<std::vector<std::pair<std::int64_t, std::int64_t>>>(
      std::vector<std::pair<std::int64_t, std::int64_t>>{{10, 1}, {20, 2}, {30, 3}});
  const RequestLengths lengths(spec, "");
  const Stream prompts(1, "prompts"), outputs(1, "outputs");
  std::map<std::int64_t, int> seen;
  for (int i = 0; i < 3000; ++i) {
    const auto pair = lengths.draw(prompts, outputs, i);
    REQUIRE(pair.prompt == 10 * pair.output);
    ++seen[pair.output];
  }
  for (const int output : {1, 2, 3}) CHECK(seen[output] > 850);
}
