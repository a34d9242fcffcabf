#include "catalog/reader.hpp"

#include <catch2/catch.hpp>

using namespace servegrid;
using namespace servegrid::catalog;
using Catch::Matchers::Contains;

TEST_CASE("Nodes keep kind, order and place", "[catalog][reader]") {
  const Value v = Value::from_text("b: {x: 1, y: [1, two]}\na: ~\nc: \"\"\n", "f.yaml");
  REQUIRE(v.is_map());
  CHECK(v.at("a").is_null());
  CHECK(v.at("c").text().empty());
  CHECK(v.at("b").at("y").items()[1].text() == "two");
  CHECK(v.at("b").at("y").items()[1].path() == "b.y.1");
  CHECK(v.at("b").at("y").where().line == 1);
  CHECK(v.at("b").at("y").where().column == 14);
  CHECK_FALSE(v.find("d").present());
  const auto entries = v.entries();
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].first == "b");
}

TEST_CASE("Scalars are read strictly", "[catalog][reader]") {
  const Value v = Value::from_text("i: 12\nneg: -3\nz: 0\nb: true\nno: no\nf: 0.45e9\n", "f");
  CHECK(v.at("i").integer(0, 100) == 12);
  CHECK(v.at("neg").integer(-5, 5) == -3);
  CHECK(v.at("z").integer(0, 5) == 0);
  CHECK(v.at("b").boolean());
  CHECK(v.at("f").number(0, 1e10) == 0.45e9);
  CHECK_THROWS_WITH(v.at("no").boolean(), Contains("true or false, got 'no'"));
  CHECK_THROWS_AS(v.at("b").number(0, 1), InputError);
}

TEST_CASE("Aliases are copies", "[catalog][reader]") {
  const Value v = Value::from_text("a: &x {k: 1}\nb: *x\nc: {d: *x}\n", "f");
  CHECK(v.at("b").at("k").integer(0, 9) == 1);
  CHECK(v.at("c").at("d").at("k").integer(0, 9) == 1);
  CHECK_THROWS_WITH(v.at("b").at("j"), Contains("lacks the key 'j'"));
}

TEST_CASE("Values are set, created, scaled and laid over others", "[catalog][reader]") {
  Value v = Value::from_text("a: {b: 8 TB/s, l: [1, 2]}\ns: x\n", "f");
  v.set("a.b", "+20%", "--set");
  CHECK(v.at("a").at("b").text() == "9.6 TB/s");
  v.set("a.b", "x0.5", "--set");
  CHECK(v.at("a").at("b").text() == "4.8 TB/s");
  v.set("a.l.1", "7", "--set");
  v.set("n.m", "[1, {k: v}]", "--set");
  CHECK(v.dump() == "a:\n  b: 4.8 TB/s\n  l: [1, 7]\ns: x\nn:\n  m:\n    - 1\n    - {k: v}\n");
  CHECK(Value::from_text(v.dump(), "again").dump() == v.dump());

  const Value base = Value::from_text("a: {x: 1, y: 2}\nl: [1, 2]\nz: 3\n", "base");
  const Value top = Value::from_text("a: {y: 5}\nl: [9]\n", "top");
  const Value both = top.over(base);
  CHECK(both.flow() == "{a: {x: 1, y: 5}, l: [9], z: 3}");
  CHECK(both.at("a").at("x").where().file == "base");
  CHECK(both.at("a").at("y").where().file == "top");
}

TEST_CASE("Text is quoted where it must be", "[catalog][reader]") {
  for (const std::string text : {"a: b", "- x", "",      " x",          "true",    "~",
                                 "a #b", "[x",  "\"q\"", "line\nbreak", "\\",      "a,b",
                                 "#",    "-5",  "- ",    "x:",          "\x1b[0m", "\xC3\xA4",
                                 "null", "'",   "%",     "*a",          "---",     "?"}) {
    Value v = Value::from_text("k: 0\nm: {k: 0}\n", "f");
    INFO(text);
    if (text.empty() || text[0] != '[') {
      v.set("k", text == "~" || text == "null" ? "\"" + text + "\"" : text, "t");
      const std::string now = v.at("k").text();
      CHECK(Value::from_text(v.dump(), "again").at("k").text() == now);
      CHECK(Value::from_text(v.flow(), "again").at("k").text() == now);
    }
  }
}

TEST_CASE("The nearest word", "[catalog][reader]") {
  CHECK(nearest("bandwith", {"bandwidth", "label"}) == "bandwidth");
  CHECK(nearest("tp", {"pp", "xyz"}) == "pp");
  CHECK(nearest("completely", {"different"}).empty());
}
