#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "units/error.hpp"
#include "workload/source.hpp"

using namespace servegrid;
using catalog::LengthSpec;
using catalog::WorkloadSpec;
using workload::Request;

namespace {

LengthSpec fixed(double tokens) {
  LengthSpec spec;
  spec.mean = tokens;
  return spec;
}

WorkloadSpec conversations() {
  WorkloadSpec spec;
  spec.kind = WorkloadSpec::Kind::conversations;
  spec.concurrent = 2;
  spec.history = 1000;
  spec.turn_input = fixed(30);
  spec.output = fixed(20);
  spec.turns = 2;
  spec.requests = 7;
  spec.shared_prefix = 100;
  return spec;
}

}  // namespace

TEST_CASE("a conversation's prompt is all that was said and the new tokens", "[workload]") {
  WorkloadSpec spec = conversations();
  spec.think_time = 10;
  const auto source = workload::make_source(spec, 1);
  const auto first = source->next_arrival(), second = source->next_arrival();
  REQUIRE(first);
  REQUIRE(second);
  CHECK_FALSE(source->next_arrival());
  CHECK(first->id == 0);
  CHECK(first->user == 0);
  CHECK(first->arrival == 0);
  CHECK(first->prompt_tokens == 1030);
  CHECK(first->shared_prefix == 100);
  CHECK(first->shared_stream == second->shared_stream);
  CHECK(first->stream != second->stream);
  const auto next = source->on_end(*first, to_ticks(3), true);
  REQUIRE(next);
  CHECK(next->id == 2);
  CHECK(next->turn == 1);
  CHECK(next->stream == first->stream);
  CHECK(next->arrival == to_ticks(13));
  CHECK(next->prompt_tokens == 1030 + 20 + 30);
  const auto fresh = source->on_end(*next, to_ticks(20), true);
  REQUIRE(fresh);
  CHECK(fresh->turn == 0);
  CHECK(fresh->user == 0);
  CHECK(fresh->prompt_tokens == 1030);
  CHECK(fresh->stream != first->stream);
  CHECK(fresh->stream != second->stream);
}

TEST_CASE("a rejected turn ends its conversation", "[workload]") {
  const auto source = workload::make_source(conversations(), 1);
  const auto first = source->next_arrival();
  const auto next = source->on_end(*first, 0, false);
  REQUIRE(next);
  CHECK(next->turn == 0);
  CHECK(next->stream != first->stream);
  CHECK(next->prompt_tokens == 1030);
}

TEST_CASE("no more requests are issued than were asked for", "[workload]") {
  WorkloadSpec spec = conversations();
  for (const auto kind : {WorkloadSpec::Kind::conversations, WorkloadSpec::Kind::closed}) {
    spec.kind = kind;
    spec.prompt = fixed(5);
    for (const std::int64_t requests : {1, 2, 7}) {
      spec.requests = requests;
      const auto source = workload::make_source(spec, 1);
      std::vector<Request> open;
      std::int64_t issued = 0;
      while (const auto r = source->next_arrival()) open.push_back(*r);
      issued += static_cast<std::int64_t>(open.size());
      while (!open.empty()) {
        const Request r = open.back();
        open.pop_back();
        if (const auto next = source->on_end(r, 1, true)) {
          CHECK(next->id == issued++);
          open.push_back(*next);
        }
      }
      CHECK(issued == requests);
    }
  }
}

TEST_CASE("Poisson arrivals have the rate, and lengths do not depend on it", "[workload]") {
  WorkloadSpec spec;
  spec.kind = WorkloadSpec::Kind::open;
  spec.rate = 4;
  spec.requests = 100000;
  spec.prompt.kind = LengthSpec::Kind::uniform;
  spec.prompt.low = 1;
  spec.prompt.high = 1000;
  spec.output = fixed(3);
  const auto slow = workload::make_source(spec, 5);
  spec.rate = 8;
  const auto fast = workload::make_source(spec, 5);
  Ticks last = 0;
  double squares = 0;
  for (std::int64_t i = 0; i < spec.requests; ++i) {
    const auto a = slow->next_arrival(), b = fast->next_arrival();
    REQUIRE(a);
    REQUIRE(b);
    REQUIRE(a->arrival >= last);
    REQUIRE(a->prompt_tokens == b->prompt_tokens);
    const double gap = to_seconds(a->arrival - last);
    squares += gap * gap;
    last = a->arrival;
  }
  const auto n = static_cast<double>(spec.requests);
  CHECK(to_seconds(last) / n == Approx(0.25).epsilon(4 / std::sqrt(n)));
  // Second moment of an exponential: 2 mean^2; its relative error is sqrt(5 / n).
  CHECK(squares / n == Approx(2 * 0.25 * 0.25).epsilon(4 * std::sqrt(5 / n)));
  CHECK_FALSE(slow->next_arrival());
}

TEST_CASE("exponential think time has its mean and is none at 0", "[workload]") {
  WorkloadSpec spec;
  spec.kind = WorkloadSpec::Kind::closed;
  spec.concurrent = 1;
  spec.prompt = fixed(5);
  spec.output = fixed(5);
  spec.requests = 50000;
  spec.think_time = 2;
  spec.think_exponential = true;
  const auto source = workload::make_source(spec, 1);
  auto r = source->next_arrival();
  Ticks now = 0;
  while (const auto next = source->on_end(*r, now, true)) {
    REQUIRE(next->arrival >= now);
    now = next->arrival;
    r = next;
  }
  CHECK(to_seconds(now) / 50000 == Approx(2).epsilon(4 / std::sqrt(50000.0)));
}

TEST_CASE("a workload that cannot be issued is an error", "[workload]") {
  WorkloadSpec spec = conversations();
  spec.requests = 0;
  CHECK_THROWS_AS(workload::make_source(spec, 1), InputError);
  spec = conversations();
  spec.concurrent = 0;
  CHECK_THROWS_AS(workload::make_source(spec, 1), InputError);
  spec = conversations();
  spec.think_time = -1;
  CHECK_THROWS_AS(workload::make_source(spec, 1), InputError);
  spec.kind = WorkloadSpec::Kind::open;
  spec.think_time = 0;
  spec.prompt = fixed(5);
  spec.rate = 0;
  CHECK_THROWS_AS(workload::make_source(spec, 1), InputError);
}
