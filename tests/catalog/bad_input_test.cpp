// Every bad input gives a message with its place, and soon.
#include <catch2/catch.hpp>
#include <ctime>
#include <functional>

#include "catalog/catalog.hpp"
#include "catalog/reader.hpp"
#include "temporary.hpp"

using namespace servegrid;
using namespace servegrid::catalog;
using namespace servegrid::test;
using Catch::Matchers::Contains;

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool sanitised = true;
#else
constexpr bool sanitised = false;
#endif

/// Runs `read`, which must throw an InputError that says `message` at line and column, in a second.
void refused(const std::function<void()>& read, int line, int column, const std::string& message) {
  const std::clock_t start = std::clock();
  try {
    read();
    FAIL("accepted; expected: " << message);
  } catch (const InputError& e) {
    INFO(e.what());
    CHECK_THAT(e.what(), Contains(message));
    CHECK(e.where().line == line);
    CHECK(e.where().column == column);
    CHECK(e.code() == Exit::bad_input);
    if (line > 0) {
      const std::string place = ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
      CHECK_THAT(e.what(), Contains(e.where().file + place));
    }
  }
  // Processor time: the limit is ours, not that of what else runs on the machine.
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  CHECK(took < (sanitised ? 5.0 : 1.0));
}

void refused_text(const std::string& text, int line, int column, const std::string& message) {
  refused([&] { (void)Value::from_text(text, "x.yaml"); }, line, column, message);
}

struct Edit {
  const char* from;
  const char* to;
  int line, column;
  const char* message;
};

}  // namespace

TEST_CASE("Texts that are no data file are refused with their place", "[catalog][bad]") {
  refused_text("", 1, 1, "is empty");
  refused_text("# only a comment\n", 1, 1, "is empty");
  refused_text("a: 1\nb: 2\na: 3\n", 3, 1, "duplicate key 'a' (first on line 1");
  refused_text("a: [1, 2\nb: 3\n", 2, 2, "not valid YAML");
  refused_text("a: 1\n---\nb: 2\n", 2, 1, "second document");
  refused_text("a: !!int 3\n", 1, 4, "tags");
  refused_text("a: 1\nb: *nobody\n", 2, 4, "has no anchor");
  refused_text("a: &x [1, *x]\n", 1, 11, "refers to what it is part of");
  refused_text("? [1, 2]\n: 3\n", 1, 3, "a key must be a word");
  refused_text(std::string("a: 1\nb: \0", 9), 2, 4, "NUL byte");
  refused_text("a: 1\nb: \xC3(\n", 2, 4, "not UTF-8");
  refused_text("a: \x1B[31m\n", 1, 4, "control character 0x1b");
  refused_text(
      "\xFF\xFE"
      "a",
      1, 1, "not UTF-8");
}

TEST_CASE("Hostile files are refused by limits, in time", "[catalog][bad]") {
  refused_text(std::string(1'000'000, '['), 1, 257, "nested deeper than 32");
  refused_text("a: " + std::string(40, '[') + std::string(40, ']'), 1, 35, "nested deeper than 32");
  std::string dashes;
  for (int i = 0; i < 1'000'000; ++i) dashes += "- ";
  refused_text(dashes, 1, 65, "nested deeper than 32");
  std::string questions;
  for (int i = 0; i < 1'000'000; ++i) questions += "? ";
  refused([&] { (void)Value::from_text(questions, "x.yaml"); }, 1, 3, "a key must be a word");

  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string b = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + b;
    for (int j = 0; j < 9; ++j) bomb += ", " + b;
    bomb += "]\n";
  }
  refused_text(bomb, 6, 10, "aliases expand to more than");
  std::string long_text = "a: &a " + std::string(60'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 1000; ++i) long_text += ", *a";
  refused([&] { (void)Value::from_text(long_text + "]\n", "x.yaml"); }, 2, 1117,
          "aliases expand to more than");
  refused_text("a: " + std::string(70'000, 'x') + "\n", 1, 4, "the limit is 65536");
  std::string many = "a:\n";
  for (int i = 0; i < 300'000; ++i) many += "- 1\n";
  refused([&] { (void)Value::from_text(many, "x.yaml"); }, 200'000, 3, "more than 200000 values");
}

TEST_CASE("Files that cannot be read are refused", "[catalog][bad]") {
  const DataFolder data;
  const auto file = [&](const std::string& name, const std::string& message) {
    refused([&] { (void)Value::from_file(data.path(name)); }, 0, 0, message);
  };
  file("missing.yaml", "no such file");
  file("models", "is a folder");
  refused([&] { (void)Value::from_file("/dev/zero"); }, 0, 0, "larger than 4 MiB");
  data.write("big.yaml", "");
  std::filesystem::resize_file(data.path("big.yaml"), 100u << 20);  // sparse
  file("big.yaml", "larger than 4 MiB");
}

TEST_CASE("Bad scenarios", "[catalog][bad]") {
  const DataFolder data;
  const Edit edits[] = {
      {"tp: 2", "tp: 3", 4, 25, "tp 3 does not divide the 64 attention heads"},
      {"tp: 2", "tp: 010", 4, 25, "leading zeros"},
      {"tp: 2", "tp: -1", 4, 25, "must be between 1 and 65536"},
      {"tp: 2", "tp: 9223372036854775808", 4, 25, "must be between 1 and 65536"},
      {"tp: 2", "tp: 2.5", 4, 25, "expected a whole number"},
      {"tp: 2", "tpp: 2", 4, 21, "unknown key 'tpp': did you mean 'tp'?"},
      {"tp: 2", "ep: 2", 4, 25, "no experts"},
      {"tp: 2", "tp: 65536, dp: 65536", 4, 10, "takes 4294967296 GPUs"},
      {"gpu: toy", "gpu: tox", 4, 16, "there is no GPU 'tox': did you mean 'toy'?"},
      {"model: toy-70b", "model: toy-71b", 2, 8, "did you mean 'toy-70b'?"},
      {"model:", "modle:", 2, 1, "unknown key 'modle': did you mean 'model'?"},
      {"weights: bf16", "weights: fp4", 3, 10, "say nvfp4 or mxfp4"},
      {"weights: bf16", "weights: bf61", 3, 10, "did you mean 'bf16'?"},
      {"max_num_seqs: 256", "max_num_seq: 256", 5, 31, "did you mean 'max_num_seqs'?"},
      {"max_num_seqs: 256", "mem_fraction_static: 0.9", 5, 31, "known here: profile, max_num_seqs"},
      {"max_num_seqs: 256", "max_model_len: 200000", 5, 46, "above the 131072 tokens of toy-70b"},
      {"max_num_seqs: 256", "gpu_memory_utilization: nan", 5, 55, "expected a ratio"},
      {"7680 tokens", "7680", 7, 36, "did you mean '7680 tokens'?"},
      {"7680 tokens", "7680 GB", 7, 36, "'GB' is not a unit of a number of tokens"},
      {"7680 tokens", "-5 tokens", 7, 36, "negative"},
      {"7680 tokens", "1e10 tokens", 7, 36, "must be between"},
      {"7680 tokens", "0.5 tokens", 7, 36, "must be between"},
      {"concurrent: 15", "concurrent: 1e308", 7, 24, "expected a whole number"},
      {"concurrent: 15", "concurrent: .nan", 7, 24, "expected a whole number"},
      {"concurrent: 15, ", "", 7, 11, "lacks the key 'concurrent' in workload.closed"},
      {"requests: 600", "requests: 1000000001", 8, 13, "must be between 1 and 1000000000"},
      {"requests: 600", "open: {rate: 1 /s}\n  requests: 6", 7, 3, "exactly one of"},
      {"ttft: 2 s", "ttft: 2 GB", 9, 13, "'GB' is not a unit of a time"},
      {"[sheet]", "[sheep]", 10, 10, "there is no price sheet 'sheep': did you mean 'sheet'?"},
      {"[sheet]", "sheet", 10, 9, "expected a list"},
      {"seed: 7", "seed: 0x7", 11, 7, "expected a whole number"},
      {"seed: 7", "seed: 7\nextends: scenario.yaml", 12, 10, "scenario -> scenario"},
      {"seed: 7", "sweep: {replica.gpu: []}", 11, 22, "at least one value"},
      {"seed: 7", "overrides: {replica.tp: 2}", 11, 25, "starts with gpu."},
  };
  for (const Edit& edit : edits) {
    INFO(edit.from << " => " << edit.to);
    data.write("scenario.yaml", edited(scenario_yaml, edit.from, edit.to));
    refused([&] { (void)read_scenario(data.path("scenario.yaml")); }, edit.line, edit.column,
            edit.message);
  }
}

TEST_CASE("Bad profiles", "[catalog][bad]") {
  const DataFolder data;
  const auto bad = [&](const char* file, const char* text, const Edit& edit) {
    INFO(edit.from << " => " << edit.to);
    const std::string path = data.write(file, edited(text, edit.from, edit.to));
    refused([&] { (void)read_scenario(data.path("scenario.yaml")); }, edit.line, edit.column,
            edit.message);
    data.write(file, text);
  };
  const auto gpu = [&](const Edit& e) { bad("hw_profiles/toy.yaml", gpu_yaml, e); };
  gpu({"180 GB", "180", 8, 30, "did you mean '180 GB'?"});
  gpu({"8 TB/s", "8 TB", 8, 92, "'TB' is not a unit of a bandwidth"});
  gpu({"bandwidth: 8", "bandwith: 8", 8, 81, "did you mean 'bandwidth'?"});
  gpu({"nvfp4]", "fp4]", 10, 40, "say nvfp4 or mxfp4"});
  gpu({"nvfp4]", "mxfp6]", 10, 40, "peak has no 'fp6'"});
  gpu({"switched", "switch", 12, 16, "did you mean 'switched'?"});
  gpu({"source: a data sheet\n", "", 1, 1, "lacks the key 'source'"});
  gpu({"{toyllm: yes", "{toyllm: \"no\"", 5, 19, "toyllm does not run on Test GPU"});
  // The place is the scenario's: it is what asks for the engine.
  const auto model = [&](const Edit& e) { bad("models/toy-70b.yaml", model_yaml, e); };
  model({"kv_heads: 8", "kv_heads: 7", 13, 50, "64 heads cannot share 7 KV heads"});
  model({"count: 80", "count: 0", 12, 12, "must be between"});
  model({"kind: full", "kind: window", 13, 16, "lacks the key 'window'"});
  const auto engine = [&](const Edit& e) { bad("engines/toyllm-1.0.yaml", engine_yaml, e); };
  engine(
      {"{max_num_seqs: 256", "{memory_at_least: 1 GB, max_num_seqs: 256", 12, 5, "the last class"});
  const auto prices = [&](const Edit& e) { bad("hw_profiles/prices/sheet.yaml", prices_yaml, e); };
  prices({"1409 USD/month", "1409", 6, 61, "a price needs currency and period"});
  prices({"1409 USD/month", "1409 EUR/month", 6, 61, "not a price in the sheet's currency"});
  prices({"per_gpu: 1409 USD/month, ", "", 6, 5, "exactly one of 'per_gpu' and 'per_server'"});
}

TEST_CASE("A circle of extends prints its chain", "[catalog][bad]") {
  const DataFolder data;
  data.write("hw_profiles/a.yaml", "extends: b\n");
  data.write("hw_profiles/b.yaml", "title: B\nextends: a\n");
  refused([&] { (void)Catalog(data.root()).gpu("a"); }, 2, 10, "a -> b -> a");
}

TEST_CASE("Bad --set says so", "[catalog][bad]") {
  const DataFolder data;
  const auto set = [&](const std::string& path, const std::string& text, const std::string& says) {
    INFO(path << "=" << text);
    refused([&] { (void)read_scenario(data.path("scenario.yaml"), {{path, text}}); }, 0, 0, says);
    refused(
        [&] {
          (void)read_scenario(data.path("scenario.yaml"), {{path, text}});
        },
        0, 0, "--set " + path + "=" + text + ": ");
  };
  set("replica.tp", "x", "expected a whole number");
  set("replica.tpp", "2", "did you mean 'tp'?");
  set("replica.tp.x", "2", "'replica.tp' is a single value");
  set("replica..tp", "2", "is not a path");
  set("gpu.memory.bandwith", "9 TB/s", "did you mean 'bandwidth'?");
  set("gpu.memory.bandwidth", "9", "did you mean '9 GB/s'?");
  set("gpu.memory.bus", "+10%", "has no number to change");
  set("engine.max_running_requests", "2", "unknown key");
  set("model.layers.7.count", "2", "is a list of 1 items");
}

TEST_CASE("Messages show the line, a caret, and no terminal escapes", "[catalog][bad]") {
  try {
    (void)Value::from_text("x: 1\nkey: \"\\e[31m\\a\" # \xC3\xA4\n", "bad\x1B[0m.yaml")
        .at("key")
        .integer(0, 9);
    FAIL("accepted");
  } catch (const InputError& e) {
    CHECK(std::string(e.what()) ==
          "bad?[0m.yaml:2:6: expected a whole number between 0 and 9, got '?[31m?'\n"
          "  key: \"\\e[31m\\a\" # \xC3\xA4\n"
          "       ^");
  }
  // A long line is cut around the place.
  try {
    (void)Value::from_text("{a: " + std::string(500, 'x') + ", b: y}", "x").at("b").integer(0, 9);
    FAIL("accepted");
  } catch (const InputError& e) {
    const std::string text = e.what();
    CHECK(text.size() < 260);
    CHECK_THAT(text, Contains(", b: y}\n"));
  }
}
