// Where requests come from. A source is asked for the first arrivals and told of each end; it never
// looks at the clock.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/scenario.hpp"
#include "units/time.hpp"

namespace servegrid::workload {

using RequestId = std::int64_t;
using StreamId = std::int64_t;  // identity of a growing token sequence; equal prefixes of one
                                // stream are the same tokens

/// Where a stream branches off: its first `tokens` tokens are those of `stream`, which may branch
/// off another one itself. Owned by the source; lives as long as it.
struct Fork {
  StreamId stream = -1;
  std::int64_t tokens = 0;
  const Fork* parent = nullptr;
};

/// One request as it arrives.
struct Request {
  RequestId id = 0;
  Ticks arrival = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  StreamId stream = -1;            // conversation; -1 = a fresh prompt that nobody else shares
  std::int64_t shared_prefix = 0;  // leading tokens that belong to `shared_stream`
  StreamId shared_stream = -1;     // e.g. the system prompt
  const Fork* fork = nullptr;      // of `stream`, when it branches deeper than off a shared prefix
  std::int64_t stream_tokens =     // of `stream`: what comes after them is found by nobody
      std::numeric_limits<std::int64_t>::max();
  int class_index = 0;     // in the mix of the workload
  std::int64_t user = -1;  // closed loop: which slot
  int turn = 0;
  std::int64_t max_tokens = 0;  // the client's cap on the output; 0: output_tokens is the cap. An
                                // engine books the cap, the request ends at output_tokens
  std::int64_t loaded_tokens = 0;  // leading prompt tokens whose KV comes with the request
  bool hold = false;               // its blocks stay held after its end, until Replica::release
  int priority = 0;                // lower is served first, where the engine schedules by priority
  Ticks timeout = 0;               // after its arrival the request fails; 0 = never
  Ticks cancel_after = 0;          // after its arrival its client goes away; 0 = never
  [[nodiscard]] std::int64_t output_cap() const {
    return max_tokens > output_tokens ? max_tokens : output_tokens;
  }
};

class Source {
 public:
  virtual ~Source() = default;
  /// The next arrival that does not depend on any completion, in time order; nullopt when there is
  /// none (left).
  virtual std::optional<Request> next_arrival() = 0;
  /// Called when a request ends at `now`: the request that follows from it, if any (its arrival is
  /// >= now). After a rejection (`completed` false) a conversation does not go on: its user starts
  /// a new one.
  virtual std::optional<Request> on_end(const Request& request, Ticks now, bool completed) = 0;
  /// Requests that will be issued in all; of a trace, whose end is known when it is reached, those
  /// issued so far.
  [[nodiscard]] virtual std::int64_t total() const = 0;
  /// What a reader of the result must know: rows of a trace that were left out, and why.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
};

/// The source a scenario describes. Ids count from 0 in the order of issue. Random streams are
/// named (arrivals, prompts, outputs, think) and split from `seed`; lengths are drawn by request
/// id, so that the n-th request is as long whatever serves it. Users and slots issue their first
/// request at time 0 in the order of their number; between the requests of one, also across
/// conversations, lies the think time. Throws InputError for a workload that cannot be issued and
/// for a bad trace.
std::unique_ptr<Source> make_source(const catalog::WorkloadSpec& spec, std::uint64_t seed);

}  // namespace servegrid::workload
