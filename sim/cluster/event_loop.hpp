// The event loop as the simulated world (the SimGrid plugin) sees it: plain data, no SimGrid.
#pragma once

#include <cstdint>
#include <vector>

#include "units/time.hpp"

namespace servegrid::cluster {

inline constexpr Ticks no_event = static_cast<Ticks>(1) << 120;

/// A bulk transfer from one GPU to another that contends with the others.
struct Flow {
  std::int64_t id = 0;
  int from = 0, to = 0;
  std::uint64_t bytes = 0;
};

class EventLoop {
 public:
  virtual ~EventLoop() = default;
  /// Time of the next event, no_event when all is over.
  virtual Ticks next_event() = 0;
  /// Handles at most `events` events up to `until`; stops early when flows were begun.
  virtual void run(std::int64_t events, Ticks until) = 0;
  /// Time of the last event handled.
  [[nodiscard]] virtual Ticks now() const = 0;
  /// Flows begun at now() and not taken yet.
  virtual std::vector<Flow> take_flows() = 0;
  /// A flow is over at `at`, which is later than now() or equal to it.
  virtual void flow_over(std::int64_t id, Ticks at) = 0;
};

}  // namespace servegrid::cluster
