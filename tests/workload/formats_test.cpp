// Every trace format on a file of its own, hash chains, and what is left out.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <vector>

#include "units/error.hpp"
#include "workload/describe.hpp"
#include "workload/hash_streams.hpp"
#include "workload/source.hpp"
#include "workload/trace_size.hpp"
#include "workload/traces/reader.hpp"

using namespace servegrid;
using namespace servegrid::workload;
using Catch::Matchers::Contains;

namespace {

class TraceFile {
 public:
  explicit TraceFile(const std::string& text)
      : path_("/tmp/servegrid-format-" + std::to_string(::getpid())) {
    std::ofstream(path_) << text;
    spec.kind = catalog::WorkloadSpec::Kind::trace;
    spec.trace.file = path_;
  }
  ~TraceFile() { std::remove(path_.c_str()); }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  [[nodiscard]] std::string format() const { return trace_format(spec.trace).name; }
  std::vector<Request> all() {
    source = make_source(spec, 1);
    std::vector<Request> out;
    while (const auto r = source->next_arrival()) out.push_back(*r);
    return out;
  }
  catalog::WorkloadSpec spec;
  std::unique_ptr<Source> source;  // of the last all(): forks live as long

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("Azure traces: wall clock to 100 ns, from the first row on", "[trace]") {
  TraceFile file(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 23:59:59.9799600,4808,10\n"
      "2023-11-17 00:00:00.0319600,3180,8\n2024-02-29T00:00:00Z,5,6\n");
  CHECK(file.format() == "azure");
  const auto all = file.all();
  REQUIRE(all.size() == 3);
  CHECK(all[0].arrival == 0);
  CHECK(to_seconds(all[1].arrival) == Approx(0.052).epsilon(1e-9));
  CHECK(to_seconds(all[2].arrival) == Approx(105 * 86400 - 86399.97996).epsilon(1e-12));
  CHECK(all[1].prompt_tokens == 3180);
  CHECK(all[1].output_tokens == 8);
  TraceFile bad("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 25:00:00,1,1\n");
  CHECK_THROWS_WITH(bad.all(), Contains(":2: column 'TIMESTAMP'"));
}

TEST_CASE("BurstGPT: failed requests are left out and counted, sessions are users", "[trace]") {
  TraceFile file(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log "
      "Type\n"
      "5,s1,2,ChatGPT,472,18,490,API log\n7,s2,2,ChatGPT,10,0,10,API log\n"
      "9,s1,2,GPT-4,500,20,520,API log\n9,s3,2,GPT-4,0,20,20,API log\n");
  CHECK(file.format() == "burstgpt");
  const auto all = file.all();
  REQUIRE(all.size() == 2);
  CHECK(to_seconds(all[0].arrival) == 5);
  CHECK(all[0].user == all[1].user);
  CHECK(all[1].turn == 1);
  CHECK(all[1].id == 1);
  const auto notes = file.source->notes();
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0],
             Contains("1 of 4 rows: no output tokens (a failed request) (first in line 3)"));
  CHECK_THAT(notes[0], Contains("1 of 4 rows: no prompt tokens (first in line 5)"));
}

TEST_CASE("Splitwise and Vidur: seconds from 0", "[trace]") {
  TraceFile file("arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.3145,396,109\n");
  CHECK(file.format() == "splitwise");
  CHECK(file.all()[1].arrival == to_ticks(4.3145));
}

TEST_CASE("Mooncake: milliseconds, 512 tokens a hash id", "[trace]") {
  TraceFile file(
      R"({"timestamp": 0, "input_length": 1300, "output_length": 5, "hash_ids": [0, 1, 2]})"
      "\n"
      R"({"timestamp": 1500, "input_length": 1600, "output_length": 5, "hash_ids": [0, 1, 3, 4]})"
      "\n"
      R"({"timestamp": 1501, "input_length": 600, "output_length": 5, "hash_ids": [9, 8]})"
      "\n");
  CHECK(file.format() == "mooncake");
  const auto all = file.all();
  REQUIRE(all.size() == 3);
  CHECK(all[1].arrival == to_ticks(1.5));
  CHECK(all[0].fork == nullptr);
  CHECK(all[0].stream_tokens == 1300);
  REQUIRE(all[1].fork != nullptr);
  CHECK(all[1].fork->stream == all[0].stream);
  CHECK(all[1].fork->tokens == 1024);
  CHECK(all[2].fork == nullptr);
  CHECK(all[2].stream != all[0].stream);
  const Description d = describe(file.spec, 1);
  CHECK(d.prefix_share == Approx(1024.0 / 3500));
}

TEST_CASE("Qwen-Bailian: seconds, 16 tokens a hash id, chats are users", "[trace]") {
  TraceFile file(
      R"({"chat_id": 1, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 40, "output_length": 5, "type": "text", "turn": 1, "hash_ids": [7, 8, 9]})"
      "\n"
      R"({"chat_id": 3, "parent_chat_id": -1, "timestamp": 1, "input_length": 40, "output_length": 5, "type": "text", "turn": 1, "hash_ids": [17, 18, 19]})"
      "\n"
      R"({"chat_id": 2, "parent_chat_id": 1, "timestamp": 9.25, "input_length": 70, "output_length": 5, "type": "text", "turn": 2, "hash_ids": [7, 8, 10, 11, 12]})"
      "\n");
  CHECK(file.format() == "qwen-bailian");
  const auto all = file.all();
  REQUIRE(all.size() == 3);
  CHECK(all[2].user == all[0].user);
  CHECK(all[1].user != all[0].user);
  CHECK(all[2].turn == 1);
  REQUIRE(all[2].fork != nullptr);
  CHECK(all[2].fork->tokens == 32);
  const Description d = describe(file.spec, 1);
  CHECK(d.conversations == 2);
  CHECK(d.most_turns == 2);
}

TEST_CASE("vllm bench serve: by start time, failures left out", "[trace]") {
  TraceFile file(
      R"({"date": "20260801", "input_lens": [10, 20, 30], "output_lens": [3, 4, 0], "start_times": [7.5, 7.0, 9.0], "errors": ["", "", "timeout"], "generated_texts": ["a", "b", ""], "metadata": {"input_lens": [1]}})"
      "\n");
  CHECK(file.format() == "vllm-bench");
  const auto all = file.all();
  REQUIRE(all.size() == 2);
  CHECK(all[0].prompt_tokens == 20);
  CHECK(all[1].arrival == to_ticks(0.5));
  CHECK_THAT(file.source->notes()[0], Contains("failed when it was recorded"));
  TraceFile short_one(R"({"input_lens": [10], "output_lens": [3]})");
  CHECK_THROWS_WITH(short_one.all(), Contains("--save-detailed"));
}

TEST_CASE("any CSV with its columns and unit", "[trace]") {
  TraceFile file("when,who,in,out\n1000,a,5,6\n2500,b,7,8\n");
  CHECK_THROWS_WITH(file.all(), Contains("give 'format'"));
  file.spec.trace.format = "csv";
  CHECK_THROWS_WITH(file.all(), Contains("arrival_s"));
  file.spec.trace.arrival = "when";
  file.spec.trace.prompt = "in";
  file.spec.trace.output = "out";
  file.spec.trace.time_unit = 1e-3;
  const auto all = file.all();
  CHECK(all[1].arrival == to_ticks(2.5));
  CHECK(all[1].output_tokens == 8);
}

TEST_CASE("speed, window, limit and longest request", "[trace]") {
  std::string text = "arrival_s,prompt,output\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + "," + std::to_string(i + 1) + ",1\n";
  TraceFile file(text);
  file.spec.trace.speed = 4;
  file.spec.trace.from = 20;
  file.spec.trace.to = 60;
  file.spec.trace.max_tokens = 50;
  auto all = file.all();
  REQUIRE(all.size() == 29);  // prompts 21 to 49
  CHECK(all[0].arrival == 0);
  CHECK(all[4].arrival == to_ticks(1));
  CHECK_THAT(file.source->notes()[0], Contains("11 of 40 rows: longer than max_tokens"));
  file.spec.requests = 3;
  CHECK(file.all().size() == 3);
  CHECK(size_of_trace(file.spec).requests_at_most == 3);
  CHECK(size_of_trace(file.spec).mean_prompt == 22);
  file.spec.requests = 30;
  CHECK_THROWS_WITH(file.all(), Contains("has 29 requests, the workload asks for 30"));
}

TEST_CASE("hash ids become streams that branch", "[trace]") {
  HashStreams streams(10);
  std::vector<Request> r(6);
  const auto place = [&](std::size_t i, std::int64_t prompt, const std::vector<std::int64_t>& ids) {
    r[i].prompt_tokens = prompt;
    return streams.place(ids, r[i]);
  };
  CHECK(place(0, 30, {1, 2, 3}) == 0);
  CHECK(place(1, 50, {1, 2, 3, 4, 5}) == 3);  // goes on where the first ended: one stream
  CHECK(r[1].stream == r[0].stream);
  CHECK(r[1].fork == nullptr);
  CHECK(place(2, 40, {1, 2, 6, 7}) == 2);
  REQUIRE(r[2].fork != nullptr);
  CHECK(r[2].fork->tokens == 20);
  CHECK(place(3, 40, {1, 2, 6, 8}) == 3);
  REQUIRE(r[3].fork != nullptr);
  CHECK(r[3].fork->stream == r[2].stream);
  CHECK(r[3].fork->tokens == 30);
  REQUIRE(r[3].fork->parent != nullptr);
  CHECK(r[3].fork->parent->stream == r[0].stream);
  CHECK(place(4, 25, {1, 2, 6}) == 3);  // within a stream: not all of the last block
  CHECK(r[4].stream == r[2].stream);
  CHECK(r[4].stream_tokens == 25);
  CHECK(streams.contradictions() == 0);
  CHECK(place(5, 30, {1, 3, 9}) == 1);  // 3 once followed 2
  CHECK(streams.contradictions() == 1);
  CHECK(r[5].stream_tokens == 10);
}

TEST_CASE("hostile traces are errors with their line", "[trace]") {
  const auto says = [](const std::string& text, const char* what) {
    TraceFile file(text);
    CHECK_THROWS_WITH(file.all(), Contains(what));
  };
  const std::string good =
      R"({"timestamp": 0, "input_length": 10, "output_length": 5, "hash_ids": [0]})"
      "\n";
  says(good + "{\"timestamp\": ", ":2: is not valid JSON");
  says(good + R"({"timestamp": 1, "input_length": 1e300, "output_length": 5, "hash_ids": [0]})",
       ":2:");
  says(good + R"({"timestamp": 1e308, "input_length": 1, "output_length": 5, "hash_ids": [0]})",
       "'timestamp'");
  says(good + R"({"timestamp": 1, "input_length": 1, "output_length": 5, "hash_ids": ["a"]})",
       "'hash_ids'");
  says(good + R"({"timestamp": 1, "input_length": 1, "output_length": 5, "hash_ids": [1,2,3]})",
       "hash_ids of 512");
  says(good + R"({"timestamp": 1, "timestamp": 1})", "twice");
  says(good + "[1]", "an object");
  says(good + std::string(900000, '['), ":2:");
  says(good + std::string(2u << 20, ' '), "1 MiB");
  says(std::string("arrival_s,prompt,output\n0,1,1\n\0,1,1\n", 37), "NUL");
  says("arrival_s,prompt,output\n1e308,1,1\n", ":2:");
  says("", "is empty");
}
