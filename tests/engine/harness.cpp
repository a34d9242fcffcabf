#include "harness.hpp"

#include <algorithm>
#include <stdexcept>

namespace servegrid::test {
namespace {
std::string str(Ticks t) {
  return std::to_string(static_cast<long long>(t));
}
std::string str(std::int64_t t) {
  return std::to_string(t);
}
}  // namespace

void Log::scheduled(workload::RequestId id, Ticks at, std::int64_t cached) {
  add(str(at) + " scheduled " + str(id) + " cached " + str(cached));
}
void Log::preempted(workload::RequestId id, Ticks at) {
  add(str(at) + " preempted " + str(id));
}
void Log::first_token(workload::RequestId id, Ticks at) {
  add(str(at) + " first_token " + str(id));
}
void Log::finished(workload::RequestId id, Ticks at) {
  add(str(at) + " finished " + str(id));
}
void Log::rejected(workload::RequestId id, Ticks at, const std::string& reason) {
  add(str(at) + " rejected " + str(id) + ": " + reason);
}
void Log::aborted(workload::RequestId id, Ticks at, std::int64_t generated) {
  add(str(at) + " aborted " + str(id) + " after " + str(generated));
}
void Log::epoch(const metrics::Epoch& e) {
  epochs.push_back(e);
  add(str(e.start) + " epoch steps " + str(e.steps) + " n " + str(e.sequences) + " prefill " +
      str(e.prefill_tokens) + " over " + str(e.prefill_context) + " context " +
      str(e.context_tokens) + " running " + str(e.running) + " waiting " + str(e.waiting) +
      " blocks " + str(e.blocks_used) + " first " + str(e.first_step) + " growth " +
      str(e.step_growth));
}

namespace {

// Lives through a scenario; `planned` is called when a step has been planned.
template <class Planned>
Outcome live(const Scenario& s, bool leap, bool submit_first, Planned planned) {
  engine::ReplicaConfig config = s.config;
  config.leap = leap;
  Log log;
  engine::Replica replica(config, s.times, log);
  std::size_t next = 0, look = 0, gone = 0;
  std::int64_t events = 0;
  for (;;) {
    const Ticks arrival = next < s.requests.size() ? s.requests[next].arrival : engine::never;
    const Ticks leaves = gone < s.aborts.size() ? s.aborts[gone].at : engine::never;
    const Ticks event = replica.next_event();
    const Ticks now = std::min({arrival, event, leaves});
    if (now == engine::never) break;
    while (look < s.observe_at.size() && s.observe_at[look] < now) {
      const engine::Observation o = replica.observe(s.observe_at[look++]);
      log.add("observed " + str(o.running) + " " + str(o.waiting) + " " + str(o.blocks_used) + " " +
              str(o.context_tokens));
    }
    if (arrival == now && (arrival < event || submit_first)) {
      replica.submit(s.requests[next++], now);
    } else if (leaves == now && (leaves < event || submit_first)) {
      replica.abort(s.aborts[gone++].id, now);
    } else {
      replica.advance(now);
      planned(now, replica, log);
      if (++events > 5'000'000) throw std::runtime_error("livelock");
    }
  }
  return {log.lines, log.epochs, replica.counters()};
}

}  // namespace

Outcome run(const Scenario& s, bool leap, bool submit_first) {
  return live(s, leap, submit_first, [](Ticks, const engine::Replica&, const Log&) {});
}

std::vector<std::string> steps(const Scenario& s) {
  std::vector<std::string> out;
  std::size_t seen = 0;
  live(s, false, true, [&](Ticks, const engine::Replica& replica, const Log& log) {
    std::string line = str(static_cast<std::int64_t>(out.size()) + 1) + ":";
    for (const engine::Running& r : replica.running()) {
      line += " " + str(r.id) + "(" + str(r.blocks) + ")" + (r.decoding ? "" : "*");
    }
    for (; seen < log.lines.size(); ++seen) {
      const std::string what = log.lines[seen].substr(log.lines[seen].find(' ') + 1);
      if (what.rfind("preempted", 0) == 0) line += " | " + what;
    }
    if (line.back() != ':') out.push_back(line);
  });
  return out;
}

std::vector<std::string> events(const Outcome& outcome) {
  std::vector<std::string> lines;
  for (const std::string& line : outcome.lines) {
    if (line.find("epoch") == std::string::npos) lines.push_back(line);
  }
  return lines;
}

workload::Request request(std::int64_t id, Ticks arrival, std::int64_t prompt,
                          std::int64_t output) {
  workload::Request r;
  r.id = id;
  r.arrival = arrival;
  r.prompt_tokens = prompt;
  r.output_tokens = output;
  return r;
}

}  // namespace servegrid::test
