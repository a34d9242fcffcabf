#include "study/compare.hpp"

#include <catch2/catch.hpp>

#include "units/error.hpp"

using namespace servegrid;

namespace {

// Remembers the overrides each point was read with, in place of a catalogue.
struct FakeReader {
  std::vector<std::pair<std::string, std::vector<std::string>>> sweep;
  std::vector<catalog::Overrides>* seen;
  catalog::Scenario operator()(const catalog::Overrides& overrides) const {
    seen->push_back(overrides);
    catalog::Scenario s;
    s.name = "fake";
    s.sweep = sweep;
    return s;
  }
};

}  // namespace

TEST_CASE("the last axis of a sweep varies fastest") {
  std::vector<catalog::Overrides> seen;
  const auto cases = study::cases_of(FakeReader{
      {{"weights", {"bf16", "fp8"}}, {"workload.closed.concurrent", {"1", "2", "3"}}}, &seen});
  REQUIRE(cases.size() == 6);
  CHECK(cases[0].label == "weights=bf16, workload.closed.concurrent=1");
  CHECK(cases[1].label == "weights=bf16, workload.closed.concurrent=2");
  CHECK(cases[3].label == "weights=fp8, workload.closed.concurrent=1");
  CHECK(cases[3].variant == "weights=fp8");  // the load is no part of the set-up
  REQUIRE(seen.size() == 7);                 // the base, then each point
  CHECK(seen[6] == catalog::Overrides{{"weights", "fp8"}, {"workload.closed.concurrent", "3"}});
}

TEST_CASE("no sweep is one case; an empty axis and too many points are errors") {
  std::vector<catalog::Overrides> seen;
  CHECK(study::cases_of(FakeReader{{}, &seen}).size() == 1);
  CHECK_THROWS_AS(study::cases_of(FakeReader{{{"seed", {}}}, &seen}), InputError);
  const std::vector<std::string> many(200, "1");
  CHECK_THROWS_AS(study::cases_of(FakeReader{{{"seed", many}, {"tp", many}}, &seen}), InputError);
}

TEST_CASE("what is fixed is not swept, and what does not go together is a row") {
  std::vector<catalog::Overrides> seen;
  const FakeReader fake{{{"seed", {"1", "2"}}, {"replica.tp", {"1", "3"}}}, &seen};
  const auto cases = study::cases_of(
      [&](const catalog::Overrides& o) {
        for (const auto& [path, value] : o)
          if (value == "3") throw InputError("tp 3 does not divide\nsecond line");
        return fake(o);
      },
      {{"seed", "2"}});
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].invalid.empty());
  CHECK(cases[1].invalid == "tp 3 does not divide");
  CHECK(cases[1].set_up == "3");
  CHECK_THROWS_AS(study::cases_of([&](const catalog::Overrides& o) {
                    if (!o.empty()) throw InputError("never");
                    return fake(o);
                  }),
                  InputError);
}

TEST_CASE("tokens of a conversation at its end") {
  catalog::WorkloadSpec w;
  w.kind = catalog::WorkloadSpec::Kind::conversations;
  w.history = 7168;
  w.turns = 2;
  w.turn_input.mean = 300;
  w.output.mean = 212;
  CHECK(study::conversation_tokens(w) == 7168 + 2 * 512);
  w.kind = catalog::WorkloadSpec::Kind::closed;
  w.prompt.kind = catalog::LengthSpec::Kind::uniform;
  w.prompt.low = 100;
  w.prompt.high = 300;
  w.prompt.mean = 200;
  CHECK(study::conversation_tokens(w) == 412);
}
