#include <catch2/catch.hpp>
#include <cmath>

#include "units/error.hpp"
#include "workload/lengths.hpp"

using namespace servegrid;
using catalog::LengthSpec;
using workload::Lengths;
using workload::Stream;

TEST_CASE("a draw depends on seed, name and index alone", "[workload]") {
  LengthSpec spec;
  spec.kind = LengthSpec::Kind::uniform;
  spec.low = 1;
  spec.high = 1e6;
  const Stream a(7, "prompts"), b(7, "outputs"), c(8, "prompts");
  const Lengths lengths(spec, "prompt");
  const auto fifth = lengths.draw(a, 5);
  CHECK(lengths.draw(a, 5) == fifth);
  CHECK(lengths.draw(b, 5) != fifth);
  CHECK(lengths.draw(c, 5) != fifth);
  CHECK(lengths.draw(a, 6) != fifth);
}

TEST_CASE("SplitMix64 gives its published values", "[workload]") {
  workload::SplitMix64 random(1234567);  // seed and values: Rosetta Code, "Pseudo-random numbers"
  CHECK(random() == 6457827717110365317U);
  CHECK(random() == 3203168211198807973U);
}

TEST_CASE("lengths have the mean and the limits that were asked for", "[workload]") {
  const Stream stream(1, "prompts");
  const int n = 200000;
  const auto mean_of = [&](const LengthSpec& spec, std::int64_t& least, std::int64_t& most) {
    double sum = 0;
    least = 1'000'000'000;
    most = 0;
    const Lengths lengths(spec, "prompt");
    for (int i = 0; i < n; ++i) {
      const auto v = lengths.draw(stream, i);
      sum += static_cast<double>(v);
      least = std::min(least, v);
      most = std::max(most, v);
    }
    return sum / n;
  };
  std::int64_t least = 0, most = 0;
  LengthSpec uniform;
  uniform.kind = LengthSpec::Kind::uniform;
  uniform.low = 200;
  uniform.high = 400;
  CHECK(mean_of(uniform, least, most) == Approx(300).margin(4 * 58.0 / std::sqrt(n)));
  CHECK(least == 200);
  CHECK(most == 400);
  LengthSpec normal;
  normal.kind = LengthSpec::Kind::lognormal;
  normal.mean = 900;
  normal.sigma = 1;
  // Standard deviation of a lognormal: mean * sqrt(exp(sigma^2) - 1).
  CHECK(mean_of(normal, least, most) ==
        Approx(900).margin(4 * 900 * std::sqrt(std::exp(1.0) - 1) / std::sqrt(n)));
  normal.limit = 1000;
  CHECK(mean_of(normal, least, most) < 800);
  CHECK(most == 1000);
  LengthSpec fixed;
  fixed.mean = 17;
  CHECK(Lengths(fixed, "prompt").draw(stream, 3) == 17);
}

TEST_CASE("a length that cannot be drawn is an error", "[workload]") {
  LengthSpec spec;
  spec.mean = 0;
  CHECK_THROWS_AS(Lengths(spec, "prompt"), InputError);
  spec.kind = LengthSpec::Kind::uniform;
  spec.low = 5;
  spec.high = 4;
  CHECK_THROWS_AS(Lengths(spec, "prompt"), InputError);
}
