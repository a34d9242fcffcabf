// What must hold of every run, whatever the policy.
#include <string>

#include "metrics/request_sums.hpp"
#include "metrics/result.hpp"
#include "units/error.hpp"

namespace servegrid::metrics {

namespace {

void require(bool holds, const char* invariant, const std::string& detail) {
  if (!holds) {
    throw RunError(std::string("invariant '") + invariant + "' is broken: " + detail +
                   "; this is a defect of the simulator, not of the input");
  }
}

std::string text(std::int64_t value) {
  return std::to_string(value);
}

struct Sums {
  std::int64_t completed = 0, rejected = 0, aborted = 0, in_flight = 0;
  std::int64_t output_tokens = 0;  // of completed requests, and what aborted ones got
  std::int64_t preemptions = 0;
};

// The same for one request; its words are put together only when it fails.
void require(bool holds, const char* invariant, const RequestRecord& r, const char* what) {
  if (!holds) require(false, invariant, "request " + text(r.id) + ' ' + what);
}

void check_times(const RequestRecord& r) {
  require(r.arrival >= 0, "time order", r, "arrives before the start");
  if (r.outcome != Outcome::completed) return;
  require(r.scheduled >= r.arrival, "time order", r, "is scheduled before it arrives");
  require(r.first_token >= r.scheduled, "time order", r, "has a token before it is scheduled");
  require(r.finish >= r.first_token, "time order", r, "ends before its first token");
}

Sums check_requests(const RunResult& result) {
  Sums sums;
  std::int64_t id = 0;
  for (const RequestRecord& r : result.requests) {
    require(r.id == id, "requests", r, "is not at the place of its number");
    ++id;
    check_record(r);
    sums.completed += r.outcome == Outcome::completed ? 1 : 0;
    sums.rejected += r.outcome == Outcome::rejected ? 1 : 0;
    sums.aborted += r.outcome == Outcome::failed || r.outcome == Outcome::cancelled ? 1 : 0;
    sums.in_flight += r.outcome == Outcome::in_flight ? 1 : 0;
    sums.preemptions += r.preemptions;
    if (r.outcome == Outcome::failed || r.outcome == Outcome::cancelled) {
      sums.output_tokens += r.generated_tokens;
    }
    if (r.outcome == Outcome::completed) {
      sums.output_tokens += r.output_tokens;
      require(r.finish <= result.end, "time order", r, "ends after the end of the run");
    }
  }
  return sums;
}

Sums sums_of(const RequestSums& r) {
  Sums sums;
  sums.completed = r.completed;
  sums.rejected = r.rejected;
  sums.aborted = r.failed + r.cancelled;
  sums.output_tokens = r.output_tokens;
  sums.in_flight = r.in_flight;
  sums.preemptions = r.preemptions;
  return sums;
}

void check_handovers(const RunResult& result) {
  for (const RequestRecord& r : result.requests) {
    const Handover& h = result.handovers[static_cast<std::size_t>(r.id)];
    if (r.outcome != Outcome::completed || h.replica < 0) continue;
    const std::string who = "request " + text(r.id);
    require(h.prefilled >= r.scheduled, "time order", who + " is prefilled before it is scheduled");
    require(h.started >= r.scheduled, "time order", who + " is sent before it is scheduled");
    require(h.transferred >= h.prefilled && h.transferred >= h.started, "time order",
            who + " has arrived before it was prefilled and sent");
    require(r.first_token >= h.transferred, "time order",
            who + " has a token before its KV cache has arrived");
  }
}

void check_timeline(const RunResult& result) {
  const EpochSums& sums = result.timeline.sums();
  require(sums.defect.empty(), "time order", sums.defect);
  require(
      sums.peak_blocks <= result.num_blocks, "pool never exceeded",
      text(sums.peak_blocks) + " blocks are used on a replica that has " + text(result.num_blocks));
}

}  // namespace

void check_record(const RequestRecord& r) {
  check_times(r);
  require(r.cached_tokens >= 0 && r.cached_tokens <= r.prompt_tokens, "tokens", r,
          "has more cached tokens than its prompt");
  if (r.outcome == Outcome::failed || r.outcome == Outcome::cancelled) {
    require(r.generated_tokens >= 0 && r.generated_tokens <= r.output_tokens, "tokens", r,
            "generated more tokens than it asked for");
  }
}

void check_conservation(const RunResult& result) {
  const Counters& c = result.counters;
  const Sums sums = result.request_sums ? sums_of(*result.request_sums) : check_requests(result);
  require(c.requests == sums.completed + sums.rejected + sums.aborted + sums.in_flight, "requests",
          text(c.requests) + " came in, " + text(sums.completed) + " completed + " +
              text(sums.rejected) + " rejected + " + text(sums.aborted) +
              " failed or cancelled + " + text(sums.in_flight) + " in flight");
  require(c.completed == sums.completed && c.rejected == sums.rejected, "requests",
          "the replicas count " + text(c.completed) + " completed and " + text(c.rejected) +
              " rejected, the records " + text(sums.completed) + " and " + text(sums.rejected));
  require(c.preemptions == sums.preemptions, "preemptions",
          "the replicas count " + text(c.preemptions) + ", the records " + text(sums.preemptions));
  if (!result.stopped) {
    require(sums.in_flight == 0, "requests", text(sums.in_flight) + " never ended");
    require(
        c.tokens_generated == sums.output_tokens, "tokens",
        text(c.tokens_generated) + " were generated, " + text(sums.output_tokens) + " asked for");
    require(c.blocks_allocated == c.blocks_freed, "blocks",
            text(c.blocks_allocated) + " were allocated, " + text(c.blocks_freed) + " freed");
  } else {
    require(c.tokens_generated >= sums.output_tokens, "tokens",
            "fewer were generated than completed requests asked for");
    require(c.blocks_allocated >= c.blocks_freed, "blocks", "more were freed than allocated");
  }
  if (!result.handovers.empty()) check_handovers(result);
  check_timeline(result);
}

}  // namespace servegrid::metrics
