#include "columns.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "units/error.hpp"

namespace servegrid::python {

namespace {

using metrics::Epoch;
using metrics::RequestRecord;

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t alignment = 64;  // of a column [B], as Arrow recommends

template <typename T>
constexpr const char* dtype_of() {
  if constexpr (std::is_same_v<T, std::int64_t>) return "<i8";
  if constexpr (std::is_same_v<T, std::int32_t>) return "<i4";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "|u1";
  return "<f8";
}

template <typename T, typename Row, typename Get>
Column<Row> column(const char* name, const char* unit, const char* about, Get get) {
  return {name,
          dtype_of<T>(),
          unit,
          about,
          sizeof(T),
          [get](const std::vector<Row>& rows, std::byte* out) {
            auto* to = reinterpret_cast<T*>(out);
            for (const Row& row : rows) *to++ = static_cast<T>(get(row));
          }};
}

bool completed(const RequestRecord& r) {
  return r.outcome == metrics::Outcome::completed;
}

double tpot(const RequestRecord& r) {
  if (!completed(r) || r.output_tokens < 2) return none;
  return to_seconds(r.finish - r.first_token) / static_cast<double>(r.output_tokens - 1);
}

Ticks duration(const Epoch& e) {
  const Ticks steps = e.steps;
  return steps * e.first_step + e.step_growth * (steps * (steps - 1) / 2);
}

class Layout {
 public:
  template <typename Row>
  void add(const char* name, const std::vector<Column<Row>>& columns,
           const std::vector<Row>& rows) {
    Json described = Json::array();
    for (const auto& c : columns) {
      described.push_back({{"name", c.name},
                           {"dtype", c.dtype},
                           {"unit", c.unit},
                           {"about", c.about},
                           {"offset", bytes_}});
      writers_.push_back([&c, &rows, at = bytes_](std::byte* base) { c.write(rows, base + at); });
      bytes_ += (c.size * rows.size() + alignment - 1) / alignment * alignment;
    }
    tables_[name] = {{"rows", rows.size()}, {"columns", described}};
  }

  Json write(int file) const {
    const std::size_t size = std::max<std::size_t>(bytes_, alignment);
    if (::ftruncate(file, static_cast<off_t>(size)) != 0) fail("make room for");
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) fail("map");
    for (const auto& writer : writers_) writer(static_cast<std::byte*>(memory));
    ::munmap(memory, size);
    return {{"bytes", size}, {"tables", tables_}};
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    throw RunError(std::string("cannot ") + what + " the result's tables: " + std::strerror(errno));
  }
  std::size_t bytes_ = 0;
  Json tables_ = Json::object();
  std::vector<std::function<void(std::byte*)>> writers_;
};

}  // namespace

const std::vector<std::string>& outcome_names() {
  static const std::vector<std::string> names = {"completed", "rejected", "failed", "cancelled",
                                                 "in_flight"};
  return names;
}

const std::vector<Column<RequestRecord>>& request_columns() {
  using R = RequestRecord;
  using I = std::int64_t;
  static const auto time = [](auto member) {
    return [member](const R& r) { return r.*member >= 0 ? to_seconds(r.*member) : none; };
  };
  static const std::vector<Column<R>> columns = {
      column<I, R>("id", "", "order of issue", [](const R& r) { return r.id; }),
      column<I, R>("user", "", "closed loop: slot or user; -1 = none",
                   [](const R& r) { return r.user; }),
      column<std::int32_t, R>("turn", "", "of a conversation", [](const R& r) { return r.turn; }),
      column<std::int32_t, R>("replica", "", "that served it; -1 = turned away before routing",
                              [](const R& r) { return r.replica; }),
      column<std::uint8_t, R>("outcome", "", "code of the outcome",
                              [](const R& r) { return r.outcome; }),
      column<I, R>("prompt_tokens", "tokens", "", [](const R& r) { return r.prompt_tokens; }),
      column<I, R>("output_tokens", "tokens", "asked for",
                   [](const R& r) { return r.output_tokens; }),
      column<I, R>("generated_tokens", "tokens", "output by its end",
                   [](const R& r) { return r.generated_tokens; }),
      column<I, R>("cached_tokens", "tokens", "found in the prefix cache at first admission",
                   [](const R& r) { return r.cached_tokens; }),
      column<std::int32_t, R>("priority", "", "", [](const R& r) { return r.priority; }),
      column<std::int32_t, R>("preemptions", "", "", [](const R& r) { return r.preemptions; }),
      column<double, R>("arrival_s", "s", "", [](const R& r) { return to_seconds(r.arrival); }),
      column<double, R>("scheduled_s", "s", "first scheduled; NaN if never", time(&R::scheduled)),
      column<double, R>("first_token_s", "s", "as the client sees it; NaN if never",
                        time(&R::first_token)),
      column<double, R>("finish_s", "s", "as the client sees it; NaN if never", time(&R::finish)),
      column<double, R>(
          "ttft_s", "s", "time to first token",
          [](const R& r) { return completed(r) ? to_seconds(r.first_token - r.arrival) : none; }),
      column<double, R>("tpot_s", "s", "time per output token after the first; NaN for one token",
                        tpot),
      column<double, R>(
          "e2el_s", "s", "end-to-end latency",
          [](const R& r) { return completed(r) ? to_seconds(r.finish - r.arrival) : none; }),
  };
  return columns;
}

const std::vector<Column<Epoch>>& epoch_columns() {
  using E = Epoch;
  using I = std::int64_t;
  static const std::vector<Column<E>> columns = {
      column<std::int32_t, E>("replica", "", "", [](const E& e) { return e.replica; }),
      column<double, E>("start_s", "s", "", [](const E& e) { return to_seconds(e.start); }),
      column<double, E>("end_s", "s", "",
                        [](const E& e) { return to_seconds(e.start + duration(e)); }),
      column<I, E>("steps", "", "engine steps with this batch", [](const E& e) { return e.steps; }),
      column<I, E>("sequences", "", "decoding", [](const E& e) { return e.sequences; }),
      column<I, E>("running", "", "admitted: decoding, or prompt not complete",
                   [](const E& e) { return e.running; }),
      column<I, E>("waiting", "", "in the queue", [](const E& e) { return e.waiting; }),
      column<I, E>("prefill_tokens", "tokens", "new ones of the step, when it holds prefill",
                   [](const E& e) { return e.prefill_tokens; }),
      column<I, E>("prefill_context", "tokens", "cached ones under the chunks",
                   [](const E& e) { return e.prefill_context; }),
      column<I, E>("context_tokens", "tokens", "of decoding sequences at the start",
                   [](const E& e) { return e.context_tokens; }),
      column<I, E>("blocks_used", "blocks", "at the start",
                   [](const E& e) { return e.blocks_used; }),
      column<double, E>("first_step_s", "s", "duration of the first step",
                        [](const E& e) { return to_seconds(e.first_step); }),
      column<double, E>("step_growth_s", "s", "each later step takes this much longer",
                        [](const E& e) { return to_seconds(e.step_growth); }),
  };
  return columns;
}

Json write_tables(int file, const metrics::RunResult& result) {
  const std::vector<Epoch> epochs(result.timeline.begin(), result.timeline.end());  // unpacked
  Layout layout;
  layout.add("requests", request_columns(), result.requests);
  layout.add("timeline", epoch_columns(), epochs);
  return layout.write(file);
}

}  // namespace servegrid::python
