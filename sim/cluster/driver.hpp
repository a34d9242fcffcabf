// The event heap: replicas and arrivals in order of (time, kind, id), in integer time.
#pragma once

#include <memory>
#include <queue>
#include <vector>

#include "cluster/id_table.hpp"
#include "cluster/router.hpp"
#include "cluster/simulate.hpp"
#include "metrics/request_sums.hpp"
#include "workload/source.hpp"

namespace servegrid::cluster {

/// Runs one scenario; also the replicas' listener. Per event O(log replicas + log arrivals).
class Driver final : public engine::Listener {
 public:
  Driver(const catalog::Scenario& scenario, const roofline::StepTimes& steps,
         std::int64_t num_blocks, std::int64_t blocks_fixed, const RunOptions& options);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Handles at most `events` more events; false when none is left.
  bool run(std::int64_t events);
  /// Time of the last event handled.
  [[nodiscard]] Ticks now() const { return now_; }
  /// The result, once; after run() has returned false.
  metrics::RunResult take_result();

 private:
  struct Due {
    Ticks at = 0;
    workload::RequestId id = 0;
    bool operator<(const Due& o) const { return at != o.at ? at > o.at : id > o.id; }
  };

  void scheduled(workload::RequestId id, Ticks at, std::int64_t cached_tokens) override;
  void preempted(workload::RequestId id, Ticks at) override;
  void first_token(workload::RequestId id, Ticks at) override;
  void finished(workload::RequestId id, Ticks at) override;
  void rejected(workload::RequestId id, Ticks at, const std::string& reason) override;
  void aborted(workload::RequestId id, Ticks at, std::int64_t generated) override;
  void epoch(const metrics::Epoch& epoch) override;

  void expect(const workload::Request& request);
  void arrive();
  /// Whether a client that waits no longer is next, before `limit`; forgets those of ended
  /// requests.
  [[nodiscard]] bool gives_up_before(Ticks limit);
  void give_up();
  void left(workload::RequestId id, Ticks at);
  void add_record(workload::RequestId id);
  void flush_timeline(Ticks before);
  void turn_away(workload::RequestId id, const std::string& reason);
  void ended(workload::RequestId id, Ticks at, bool completed);
  void update(std::size_t replica);
  void sift_up(std::size_t place);
  void sift_down(std::size_t place);
  [[nodiscard]] bool before(std::size_t a, std::size_t b) const;
  metrics::RequestRecord& record(workload::RequestId id) {
    return sums_ ? records_.at(id) : result_.requests[static_cast<std::size_t>(id)];
  }

  RunOptions options_;
  Fleet fleet_;
  std::unique_ptr<workload::Source> source_;
  std::unique_ptr<Router> router_;
  // Replicas as a heap by (next event, index); place_ is where each one is.
  std::vector<std::size_t> heap_, place_;
  std::vector<Ticks> next_;
  // Arrivals to come: all that follow from an end, and one of the source's own.
  std::priority_queue<Due> arrivals_;
  bool own_arrival_queued_ = false;
  workload::RequestId own_arrival_ = -1;
  // When the client of a request in flight gives up (timeout, cancellation).
  std::priority_queue<Due> deadlines_;
  std::int64_t unheard_ = 0;              // requests finished after their client had gone
  IdTable<workload::Request> in_flight_;  // to come, or not ended
  std::vector<metrics::Epoch> late_;      // told, but an earlier one may still come
  std::size_t late_limit_ = 0;
  // Without a record of each request: those of requests in flight, and what the ended ones came to.
  std::shared_ptr<metrics::RequestSums> sums_;
  IdTable<metrics::RequestRecord> records_;
  Ticks now_ = 0;
  metrics::RunResult result_;
};

}  // namespace servegrid::cluster
