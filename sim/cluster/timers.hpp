// Events of the loop that are neither arrivals nor a replica's: retries, transfers, operations.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "units/time.hpp"

namespace servegrid::cluster {

struct Timer {
  enum class Kind {
    retry,        // subject: request
    transferred,  // request, detail: its attempt
    fault,        // index of the event in the scenario
    failure,      // replica, detail: its life
    repaired,     // replica, life
    loaded,       // replica, life
    emptied,      // replica, life
    drained,      // replica, life
    provisioned,  // replica, life
    slow_over,    // replica
    restart,      // the rolling restart
    look          // index of the autoscaler
  };
  Ticks at = 0;
  std::int64_t order = 0;  // ties: as they were set
  Kind kind = Kind::retry;
  std::int64_t subject = 0, detail = 0;
};

class Timers {
 public:
  void set(Ticks at, Timer::Kind kind, std::int64_t subject, std::int64_t detail = 0) {
    queue_.push({at, set_++, kind, subject, detail});
  }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  [[nodiscard]] Ticks next() const { return queue_.top().at; }
  Timer take() {
    const Timer timer = queue_.top();
    queue_.pop();
    return timer;
  }

 private:
  struct Later {
    bool operator()(const Timer& a, const Timer& b) const {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };
  std::priority_queue<Timer, std::vector<Timer>, Later> queue_;
  std::int64_t set_ = 0;
};

}  // namespace servegrid::cluster
