// Arrival processes: their rate, their burstiness, and how the rate follows the clock.
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "units/error.hpp"
#include "workload/source.hpp"

using namespace servegrid;
using catalog::ArrivalSpec;
using catalog::WorkloadSpec;

namespace {

WorkloadSpec open_loop(double rate, std::int64_t requests) {
  WorkloadSpec spec;
  spec.kind = WorkloadSpec::Kind::open;
  spec.rate = rate;
  spec.requests = requests;
  spec.prompt.mean = 10;
  spec.output.mean = 10;
  return spec;
}

std::vector<double> arrivals_of(const WorkloadSpec& spec) {
  const auto source = workload::make_source(spec, 3);
  std::vector<double> out;
  Ticks last = 0;
  while (const auto r = source->next_arrival()) {
    REQUIRE(r->arrival >= last);
    last = r->arrival;
    out.push_back(to_seconds(r->arrival));
  }
  return out;
}

/// Mean and coefficient of variation of the gaps.
std::pair<double, double> gaps_of(const std::vector<double>& times) {
  double last = 0, sum = 0, squares = 0;
  for (const double t : times) {
    sum += t - last;
    squares += (t - last) * (t - last);
    last = t;
  }
  const auto n = static_cast<double>(times.size());
  const double mean = sum / n;
  return {mean, std::sqrt(squares / n - mean * mean) / mean};
}

std::int64_t between(const std::vector<double>& times, double from, double to) {
  return std::count_if(times.begin(), times.end(), [&](double t) { return t >= from && t < to; });
}

}  // namespace

TEST_CASE("Gamma gaps have the burstiness of vllm bench serve", "[workload]") {
  for (const double burstiness : {0.25, 1.0, 4.0}) {
    WorkloadSpec spec = open_loop(5, 100000);
    spec.arrivals.process = ArrivalSpec::Process::gamma;
    spec.arrivals.burstiness = burstiness;
    const auto [mean, cv] = gaps_of(arrivals_of(spec));
    // A Gamma of that shape: CV = 1 / sqrt(shape).
    CHECK(mean == Approx(0.2).epsilon(0.03));
    CHECK(cv == Approx(1 / std::sqrt(burstiness)).epsilon(0.03));
  }
}

TEST_CASE("constant gaps are equal", "[workload]") {
  WorkloadSpec spec = open_loop(8, 100);
  spec.arrivals.process = ArrivalSpec::Process::constant;
  const auto times = arrivals_of(spec);
  CHECK(times[0] == 0.125);
  CHECK(times[99] == 12.5);
}

TEST_CASE("on/off: the rate while on, the other while off", "[workload]") {
  WorkloadSpec spec = open_loop(100, 60000);
  spec.arrivals.on = 10;
  spec.arrivals.off = 30;
  spec.arrivals.off_rate = 10;
  const auto times = arrivals_of(spec);
  double on = 0, off = 0;
  for (int i = 0; i < 40; ++i) {
    on += static_cast<double>(between(times, 40.0 * i, 40.0 * i + 10));
    off += static_cast<double>(between(times, 40.0 * i + 10, 40.0 * i + 40));
  }
  CHECK(on / 400 == Approx(100).epsilon(0.03));
  CHECK(off / 1200 == Approx(10).epsilon(0.05));
  spec.arrivals.off_rate = 0;
  for (const double t : arrivals_of(spec)) REQUIRE(std::fmod(t, 40) <= 10.0);
}

TEST_CASE("a daily curve repeats and keeps the mean rate", "[workload]") {
  WorkloadSpec spec = open_loop(10, 96000);
  spec.arrivals.curve = {1, 0, 3};
  spec.arrivals.period = 300;
  const auto times = arrivals_of(spec);
  CHECK(static_cast<double>(times.size()) / times.back() == Approx(10).epsilon(0.05));
  double parts[3] = {0, 0, 0};
  for (const double t : times) ++parts[static_cast<int>(std::fmod(t, 300) / 100) % 3];
  CHECK(parts[1] == 0);
  CHECK(parts[2] / parts[0] == Approx(3).epsilon(0.05));
}

TEST_CASE("spikes multiply the rate while they last", "[workload]") {
  WorkloadSpec spec = open_loop(20, 30000);
  spec.arrivals.spikes = {{100, 50, 10}, {300, 100, 0}};
  const auto times = arrivals_of(spec);
  CHECK(static_cast<double>(between(times, 0, 100)) == Approx(2000).epsilon(0.08));
  CHECK(static_cast<double>(between(times, 100, 150)) == Approx(10000).epsilon(0.04));
  CHECK(static_cast<double>(between(times, 150, 300)) == Approx(3000).epsilon(0.08));
  CHECK(between(times, 300, 400) == 0);
  CHECK(between(times, 400, 500) > 1800);
}

TEST_CASE("a ramp goes by the share of requests, as vllm bench serve does", "[workload]") {
  WorkloadSpec spec = open_loop(1, 101);
  spec.arrivals.process = ArrivalSpec::Process::constant;
  spec.arrivals.ramp = ArrivalSpec::Ramp::linear;
  spec.arrivals.ramp_from = 1;
  spec.arrivals.ramp_to = 11;
  auto times = arrivals_of(spec);
  CHECK(times[0] == Approx(1));
  CHECK(times[50] - times[49] == Approx(1.0 / 6));
  CHECK(times[100] - times[99] == Approx(1.0 / 11));
  spec.arrivals.ramp = ArrivalSpec::Ramp::exponential;
  spec.arrivals.ramp_to = 100;
  times = arrivals_of(spec);
  CHECK(times[50] - times[49] == Approx(0.1));
}

TEST_CASE("rates that change far faster than requests come are refused", "[workload]") {
  WorkloadSpec spec = open_loop(1e-6, 10);
  spec.arrivals.on = spec.arrivals.off = 1e-6;
  CHECK_THROWS_AS(workload::make_source(spec, 1), InputError);
}

TEST_CASE("a closed loop starts over its ramp-up, or as its rate allows", "[workload]") {
  WorkloadSpec spec = open_loop(0, 10);
  spec.kind = WorkloadSpec::Kind::closed;
  spec.concurrent = 4;
  spec.ramp_up = 8;
  auto source = workload::make_source(spec, 1);
  for (const double at : {0, 2, 4, 6}) CHECK(to_seconds(source->next_arrival()->arrival) == at);
  CHECK_FALSE(source->next_arrival());
  // --request-rate with --max-concurrency: requests are released one after the other.
  spec.ramp_up = 0;
  spec.rate = 1;
  spec.concurrent = 2;
  spec.arrivals.process = ArrivalSpec::Process::constant;
  source = workload::make_source(spec, 1);
  const auto first = source->next_arrival(), second = source->next_arrival();
  CHECK(to_seconds(first->arrival) == 1);
  CHECK(to_seconds(second->arrival) == 2);
  CHECK(to_seconds(source->on_end(*first, to_ticks(1.5), true)->arrival) == 3);  // released at 3
  CHECK(to_seconds(source->on_end(*second, to_ticks(9), true)->arrival) == 9);   // a slot free at 9
}

TEST_CASE("a batch is all there at the start", "[workload]") {
  WorkloadSpec spec = open_loop(0, 7);
  spec.kind = WorkloadSpec::Kind::batch;
  const auto source = workload::make_source(spec, 1);
  int count = 0;
  for (; const auto r = source->next_arrival(); ++count) CHECK(r->arrival == 0);
  CHECK(count == 7);
}
