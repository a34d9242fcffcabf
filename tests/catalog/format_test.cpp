#include "catalog/format.hpp"

#include <catch2/catch.hpp>

#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::catalog;
using Catch::Matchers::Contains;

TEST_CASE("Formats have one spelling and known synonyms", "[catalog][format]") {
  for (const Format f : all_formats()) CHECK(parse_format(name(f)) == f);
  CHECK(all_formats().size() == 12);
  CHECK(parse_format("BFloat16") == Format::bf16);
  CHECK(parse_format("FP8_E4M3") == Format::fp8);
  CHECK(parse_format("float8_e4m3fn") == Format::fp8);
  CHECK(parse_format("fp8_block") == Format::fp8_block);
  CHECK(parse_format("W4A16 AWQ") == Format::int4_g128);
  CHECK_THROWS_WITH(parse_format("fp4"), Contains("nvfp4 or mxfp4"));
  CHECK_THROWS_WITH(parse_format("int4"), Contains("int4-g32 or int4-g128"));
  CHECK_THROWS_WITH(parse_format("fp6"), Contains("mxfp6"));
  CHECK_THROWS_WITH(parse_format("nvfp5"), Contains("did you mean 'nvfp4'?"));
  CHECK_THROWS_AS(parse_format(""), InputError);
}

TEST_CASE("Bytes with and without scales", "[catalog][format]") {
  CHECK(bytes_per_element(Format::nvfp4) == 0.5625);
  CHECK(bytes_per_element(Format::mxfp4) == 0.53125);
  CHECK(bytes_per_element(Format::fp8_block) == 1 + 4.0 / (128 * 128));
  CHECK(bytes_per_element(Format::bf16) == 2);
  for (const Format f : all_formats()) CHECK(nominal_bytes(f) <= bytes_per_element(f));
  CHECK(nominal_bytes(Format::mxfp6) == 0.75);
}
