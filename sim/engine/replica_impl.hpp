// Inside a replica: its ranks, the epoch in progress, and the record of it.
#pragma once

#include <memory>
#include <vector>

#include "engine/clock.hpp"
#include "engine/rank.hpp"
#include "engine/replica.hpp"

namespace servegrid::engine {

struct Replica::Impl {
  Impl(const ReplicaConfig& config, const roofline::StepTimes& steps, Listener& listener);

  void submit(const workload::Request& request, Ticks now);
  void abort(workload::RequestId id, Ticks now);
  void advance(Ticks now);
  std::vector<Left> cut(Ticks now);
  [[nodiscard]] Ticks next_event() const;
  [[nodiscard]] std::vector<Running> running() const;
  [[nodiscard]] Observation observe(Ticks t) const;
  [[nodiscard]] Ticks open_since() const { return open_ ? record_.start : never; }
  [[nodiscard]] const metrics::Counters& counters() const;
  void catch_up(Ticks t);
  [[nodiscard]] std::int64_t cached_tokens(const workload::Request& request, Ticks now);
  void release(workload::RequestId id, Ticks now);
  void set_slowdown(double factor, Ticks now);
  std::vector<workload::RequestId> lose(Ticks now);

 private:
  enum class Mode { idle, starting, stepping };
  [[nodiscard]] Rank& choose();
  [[nodiscard]] std::int64_t in_queue() const;
  void complete(Ticks now);
  void begin(Ticks now);
  void stop(Ticks now);
  void change_soon(Ticks now);
  void slow_down(std::int64_t factor);
  void apply_changes(Ticks now);
  [[nodiscard]] std::int64_t set_times(Ticks now);
  [[nodiscard]] metrics::Epoch planned() const;
  void record();
  void close_record();

  const ReplicaConfig config_;
  Listener& listener_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::size_t turn_ = 0;
  Mode mode_ = Mode::idle;
  Clock clock_;
  std::int64_t steps_ = 0;  // of the epoch in progress
  Ticks start_at_ = 0;      // mode starting
  std::int64_t peak_running_ = 0, peak_waiting_ = 0;
  // A change from outside, seen by the first step boundary after it; factor 0: none pending.
  Ticks slow_at_ = 0;
  std::int64_t next_slow_ = 0;
  mutable metrics::Counters sum_;

  // The same epochs joined while nothing changed: equal with and without leaps.
  bool open_ = false;
  metrics::Epoch record_;
  std::vector<std::int64_t> record_counters_;  // step counters at its start
  Observation at_start_;
};

}  // namespace servegrid::engine
