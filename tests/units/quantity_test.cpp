#include "units/quantity.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::units;
using Catch::Matchers::Contains;

TEST_CASE("Quantities are read in SI units", "[units]") {
  CHECK(parse("288 GB", Dimension::bytes) == 288e9);
  CHECK(parse("80 GiB", Dimension::bytes) == 80.0 * 1024 * 1024 * 1024);
  CHECK(parse("192265846784 B", Dimension::bytes) == 192265846784.0);
  CHECK(parse("8 TB/s", Dimension::bytes_per_second) == 8e12);
  CHECK(parse("400 Gb/s", Dimension::bytes_per_second) == 50e9);
  CHECK(parse("2.5 PFLOPS", Dimension::flops) == 2.5e15);
  CHECK(parse("4500 TOPS", Dimension::flops) == 4.5e15);
  CHECK(parse("10 ms", Dimension::seconds) == 0.01);
  CHECK(parse("3.5us", Dimension::seconds) == 3.5e-6);
  CHECK(parse("2 h", Dimension::seconds) == 7200);
  CHECK(parse("1.4 kW", Dimension::watts) == 1400);
  CHECK(parse("8K tokens", Dimension::tokens) == 8192);
  CHECK(parse("8 k  tokens", Dimension::tokens) == 8000);
  CHECK(parse("1 token", Dimension::tokens) == 1);
  CHECK(parse("3 /s", Dimension::hertz) == 3);
  CHECK(parse("30 req/min", Dimension::hertz) == 0.5);
  CHECK(parse("92 %", Dimension::ratio) == 0.92);
  CHECK(parse("0.92", Dimension::ratio) == 0.92);
}

TEST_CASE("A bare number shows the fix", "[units]") {
  CHECK_THROWS_WITH(parse("288", Dimension::bytes),
                    Contains("needs a unit: did you mean '288 GB'?"));
  CHECK_THROWS_WITH(parse("8", Dimension::bytes_per_second), Contains("'8 GB/s'"));
  CHECK_THROWS_WITH(parse("7680", Dimension::tokens), Contains("'7680 tokens'"));
}

TEST_CASE("What is no quantity is refused", "[units]") {
  for (const char* text : {"", " ", "GB", "nan GB", "inf GB", ".5 GB", "-1 GB", "-0 GB", "1e999 GB",
                           "010 GB", "1 GB x", "1,5 GB", "0x10 GB", "1 gb", "1 GBs", "1e308 PB"}) {
    INFO(text);
    CHECK_THROWS_AS(parse(text, Dimension::bytes), InputError);
  }
  CHECK_THROWS_WITH(parse("8 GB", Dimension::seconds), Contains("'GB' is not a unit of a time"));
  CHECK_THROWS_AS(parse("5 USD", Dimension::money), InputError);
}

TEST_CASE("Quantities are written for people and exactly", "[units]") {
  CHECK(format(8e12, Dimension::bytes_per_second) == "8 TB/s");
  CHECK(format(309.22e9, Dimension::bytes) == "309.2 GB");
  CHECK(format(0.92, Dimension::ratio) == "92 %");
  CHECK(format(0.0105, Dimension::seconds) == "10.5 ms");
  CHECK(format(7680, Dimension::tokens) == "7680 tokens");
  CHECK(format(0, Dimension::bytes) == "0 B");
  CHECK(exact(0.05, Dimension::seconds) == "50 ms");
  CHECK(exact(30e9, Dimension::bytes) == "30 GB");
  for (const Dimension d :
       {Dimension::bytes, Dimension::bytes_per_second, Dimension::flops, Dimension::seconds,
        Dimension::watts, Dimension::tokens, Dimension::hertz, Dimension::ratio}) {
    for (const double value : {0.0, 1.0, 1.0 / 3, 0.1, 1e-9, 7168.0, 1.23456789012345678e17,
                               std::nextafter(1.0, 2.0), 192265846784.0, 0.29, 5e-324}) {
      INFO(value << " " << describe(d) << " " << exact(value, d));
      CHECK(parse(exact(value, d), d) == value);
    }
  }
}
