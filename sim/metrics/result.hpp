// What came out of one run: per-request records, epochs of the timeline, counters. Summaries are
// computed from these.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "metrics/timeline.hpp"
#include "units/time.hpp"

namespace servegrid::metrics {

/// Rejected: refused on arrival. Failed: a timeout or a fault. Cancelled: its client went away.
enum class Outcome : std::uint8_t { completed, rejected, failed, cancelled, in_flight };

/// Why a request failed whose client had a timeout.
inline constexpr const char* timed_out = "timeout";

struct RequestRecord {
  std::int64_t id = -1;
  std::int64_t user = -1;
  int replica = 0;   // -1: ended before it was sent to one
  int attempts = 0;  // replicas it was started on; more than one after faults
  int turn = 0;
  int preemptions = 0;
  Outcome outcome = Outcome::in_flight;
  int priority = 0;
  int class_index = 0;                                // in the mix of the workload
  std::int64_t prompt_tokens = 0, output_tokens = 0;  // as asked for
  std::int64_t generated_tokens = 0;                  // output by its end
  std::int64_t cached_tokens = 0;  // found in the prefix cache at first admission
  Ticks arrival = 0;
  Ticks scheduled = -1;                 // first scheduled; -1: never
  Ticks first_token = -1, finish = -1;  // as the client sees them; -1: none
  std::string reason;                   // of a rejection or failure
};

struct Counters {
  std::int64_t faults = 0, retries = 0;  // replicas lost; requests started again
  std::int64_t tokens_loaded = 0;        // prompt tokens whose KV came from a prefill replica
  std::int64_t tokens_lost = 0;          // generated, then lost with their replica
  std::int64_t requests = 0, completed = 0, rejected = 0, aborted = 0, preemptions = 0;
  std::int64_t swapped_out = 0, swapped_in = 0;  // blocks, to host memory and back
  std::int64_t blocks_allocated = 0, blocks_freed = 0;
  std::int64_t tokens_generated = 0, tokens_prefilled = 0, tokens_cached = 0, tokens_recomputed = 0;
  std::int64_t prefix_queries = 0, prefix_hits = 0;  // tokens; hits in host memory and on disk too
  std::int64_t host_hits = 0, disk_hits = 0;         // of them, loaded from there
  std::int64_t drafts = 0;                           // decode steps of one sequence each
  std::int64_t decoded_tokens = 0;                   // generated in them
  std::vector<std::int64_t> accepted_at;  // sampled speculation: drafts accepted, by position
  std::int64_t events = 0;                // state-machine events, steps
  std::int64_t steps = 0;
  std::int64_t peak_running = 0, peak_waiting = 0;

  /// Of another scheduler: sums, and the larger of the peaks.
  Counters& operator+=(const Counters& one) {
    requests += one.requests;
    completed += one.completed;
    rejected += one.rejected;
    aborted += one.aborted;
    swapped_out += one.swapped_out;
    swapped_in += one.swapped_in;
    preemptions += one.preemptions;
    blocks_allocated += one.blocks_allocated;
    blocks_freed += one.blocks_freed;
    tokens_generated += one.tokens_generated;
    tokens_prefilled += one.tokens_prefilled;
    tokens_cached += one.tokens_cached;
    tokens_recomputed += one.tokens_recomputed;
    tokens_loaded += one.tokens_loaded;
    tokens_lost += one.tokens_lost;
    faults += one.faults;
    retries += one.retries;
    prefix_queries += one.prefix_queries;
    prefix_hits += one.prefix_hits;
    host_hits += one.host_hits;
    disk_hits += one.disk_hits;
    drafts += one.drafts;
    decoded_tokens += one.decoded_tokens;
    accepted_at.resize(std::max(accepted_at.size(), one.accepted_at.size()));
    for (std::size_t i = 0; i < one.accepted_at.size(); ++i) accepted_at[i] += one.accepted_at[i];
    events += one.events;
    steps += one.steps;
    peak_running = std::max(peak_running, one.peak_running);
    peak_waiting = std::max(peak_waiting, one.peak_waiting);
    return *this;
  }
};

class RequestSums;

/// The way of a disaggregated request to its decode replica; -1: not reached.
struct Handover {
  int replica = -1;                      // that prefilled it
  Ticks prefilled = -1;                  // end of its prefill
  Ticks started = -1, transferred = -1;  // of the transfer of its KV cache
};

/// A replica over the run.
struct ReplicaRecord {
  int pool = 0;  // index of the scenario's pools
  int gpus = 1;
  std::int64_t num_blocks = 0;
  Ticks held = 0;   // its GPUs were in use: loading, serving, draining or broken
  Ticks ready = 0;  // it took requests
};

struct RunResult {
  std::vector<RequestRecord> requests;
  std::shared_ptr<const RequestSums> request_sums;  // in place of records, where none were kept
  Timeline timeline;
  Counters counters;
  Ticks end = 0;
  std::int64_t num_blocks = 0;          // pool of one replica (the largest where they differ)
  std::vector<Handover> handovers;      // by request id; empty unless disaggregated
  std::vector<ReplicaRecord> replicas;  // by index
  std::vector<EpochSums> pool_sums;     // of the timeline, by pool; empty when there is one
  bool stopped = false;                 // before its requests had ended: by a duration or a limit
  std::string partial;                  // which limit stopped it; empty: none
  std::vector<std::string> notes;       // what a reader must know: rows of a trace left out, ...
};

/// name -> value in the names of `vllm bench serve`, in a stable order; undefined metrics are
/// absent.
using Summary = std::vector<std::pair<std::string, double>>;

/// Throws RunError naming the invariant that the record of an ended request breaks.
void check_record(const RequestRecord& record);

/// Throws RunError naming the invariant when conservation does not hold (requests, tokens, blocks,
/// time).
void check_conservation(const RunResult& result);

}  // namespace servegrid::metrics
