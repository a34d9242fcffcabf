// The event heap: arrivals, replicas and timers in order of (time, kind, id), in integer time.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "cluster/agenda.hpp"
#include "cluster/event_loop.hpp"
#include "cluster/id_table.hpp"
#include "cluster/invariants.hpp"
#include "cluster/operations.hpp"
#include "cluster/router.hpp"
#include "cluster/simulate.hpp"
#include "cluster/timers.hpp"
#include "metrics/request_sums.hpp"
#include "workload/source.hpp"

namespace servegrid::cluster {

/// Runs one scenario; also the replicas' listener. Per event O(log replicas + log arrivals).
class Driver final : public EventLoop, public engine::Listener, public Crew {
 public:
  Driver(const catalog::Scenario& scenario, std::vector<PoolModel> models,
         const RunOptions& options);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  Ticks next_event() override;
  void run(std::int64_t events, Ticks until) override;
  [[nodiscard]] Ticks now() const override { return now_; }
  std::vector<Flow> take_flows() override;
  void flow_over(std::int64_t id, Ticks at) override;
  /// Latency of a transfer between two GPUs [s], given by the platform; without: none.
  void set_latency(std::function<double(int, int)> latency) { latency_ = std::move(latency); }

  /// The links between two GPUs, for the invariants.
  void set_links(std::function<Invariants::Links(int, int)> links) { links_ = std::move(links); }

  /// The result, once; after next_event() was no_event.
  metrics::RunResult take_result();

 private:
  struct Due {
    Ticks at = 0;
    workload::RequestId id = 0;
    bool operator<(const Due& o) const { return at != o.at ? at > o.at : id > o.id; }
  };
  /// A model's way in: those that take arrivals, and those that decode what others prefilled.
  struct Service {
    std::vector<int> pools, decode_pools;
    std::vector<int> ready, decode_ready;  // replicas
    std::unique_ptr<Router> router, decode_router;
    std::deque<workload::RequestId> parked, decode_parked;  // nobody is ready
  };
  /// Where a disaggregated request is.
  enum class Phase { prefill, transfer, decode };
  struct Way {
    Phase phase = Phase::prefill;
    int prefill = -1, decode = -1;
    int flows = 0;                          // in flight
    int generation = 0;                     // of its transfer: flows of an earlier one are void
    std::int64_t blocks = 0, reserved = 0;  // needed and set aside on the decode replica
    bool complete = false;                  // the flows in flight are the last ones
  };
  enum class Part { all, body, tail };

  // engine::Listener
  void scheduled(workload::RequestId id, Ticks at, std::int64_t cached_tokens) override;
  void preempted(workload::RequestId id, Ticks at) override;
  void first_token(workload::RequestId id, Ticks at) override;
  void finished(workload::RequestId id, Ticks at) override;
  void rejected(workload::RequestId id, Ticks at, const std::string& reason) override;
  void aborted(workload::RequestId id, Ticks at, std::int64_t generated) override;
  void prefilled(workload::RequestId id, Ticks at) override;
  void epoch(const metrics::Epoch& epoch) override;

  // Crew
  void set_ready(int replica, bool ready) override;
  void lose(int replica) override;
  void set_slowdown(int replica, double factor) override;
  [[nodiscard]] std::int64_t parked(int pool) const override;

  void build(const catalog::Scenario& scenario);
  [[nodiscard]] engine::Replica make_replica(int replica);
  /// Of arrivals, replicas, clients and timers; flows are SimGrid's.
  [[nodiscard]] Ticks next_due();
  void expect(const workload::Request& request);
  void arrive();
  void handle(const Timer& timer);
  void dispatch(workload::RequestId id);
  void send(workload::RequestId id, int replica, const workload::Request& request);
  void vacate(int replica);
  /// The client of a request gives up at `at`: its timeout, or it goes away.
  void left(workload::RequestId id, Ticks at);
  /// Throws InputError where no record of each request is kept.
  void need_records(const char* what) const;
  void add_record(workload::RequestId id);
  void add_to_timeline(const metrics::Epoch& epoch);
  void flush_timeline(Ticks before);
  void turn_away(workload::RequestId id, const std::string& reason);
  /// When the next client gives up; those of ended requests are forgotten.
  [[nodiscard]] Ticks next_deadline();
  void give_up();
  void withdraw(workload::RequestId id);
  void ended(workload::RequestId id, Ticks at, bool completed);
  void fail(workload::RequestId id, const std::string& reason);
  void lost(workload::RequestId id);
  void unpark(Service& service);
  [[nodiscard]] bool hopeful(const std::vector<int>& pools) const;

  // driver_handover.cpp
  void ask_for_room(workload::RequestId id);
  [[nodiscard]] bool has_room(int decode, std::int64_t blocks) const;
  void give_room(int decode);
  struct Holders {
    int first = 0, gpus = 1;
  };
  [[nodiscard]] Holders holders(int replica, workload::RequestId id) const;
  void send_flows(workload::RequestId id, Part part);
  void transferred(workload::RequestId id);
  void release_prefill(workload::RequestId id);
  void unreserve(workload::RequestId id);
  void give_up_transfer(workload::RequestId id);
  void redirect(int decode);
  void give_room_everywhere();
  void retire(const engine::Replica& replica, bool prefills);

  // driver_stop.cpp
  static void need_no_records(const catalog::WorkloadSpec& workload);
  void stop_when(const catalog::WorkloadSpec& workload);
  void look_at_precision();
  void cut();
  [[nodiscard]] bool limit_reached();
  void drop_those_to_come();
  void update(std::size_t replica);
  [[nodiscard]] Service& service_of(workload::RequestId id) {
    return services_[services_.size() > 1 ? service_of_[static_cast<std::size_t>(id)] : 0];
  }
  [[nodiscard]] bool prefills(int replica) const {
    return pools_[static_cast<std::size_t>(pool_of(replica))].role == catalog::PoolRole::prefill;
  }
  [[nodiscard]] int pool_of(int replica) const {
    return placement_.replicas[static_cast<std::size_t>(replica)].pool;
  }
  metrics::RequestRecord& record(workload::RequestId id) {
    return sums_ ? records_.at(id) : result_.requests[static_cast<std::size_t>(id)];
  }
  Way& way(workload::RequestId id) { return ways_[static_cast<std::size_t>(id)]; }

  RunOptions options_;
  catalog::ClusterSpec spec_;
  std::vector<catalog::PoolSpec> pools_;
  std::vector<PoolModel> models_;  // by pool
  std::vector<engine::ReplicaConfig> configs_;
  Placement placement_;
  Fleet fleet_;
  std::unique_ptr<workload::Source> source_;
  std::vector<Service> services_;
  std::vector<int> service_of_pool_;
  std::vector<std::uint8_t> service_of_;  // by request; empty when there is one model
  std::unique_ptr<workload::Stream> model_draws_;
  bool disaggregated_ = false;
  Agenda agenda_;
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
  std::int64_t live_ = 0;  // arrived and not ended
  Timers timers_;
  std::optional<Operations> operations_;
  // Disaggregation.
  std::vector<Way> ways_;                                   // by id
  std::vector<std::int64_t> reserved_, incoming_;           // blocks, requests; by replica
  std::vector<std::deque<workload::RequestId>> want_room_;  // by decode replica
  std::map<std::int64_t, std::pair<workload::RequestId, int>> flow_of_;  // request, generation
  std::vector<Flow> flows_;
  std::int64_t next_flow_ = 0;
  std::function<double(int, int)> latency_;
  std::function<Invariants::Links(int, int)> links_;
  std::optional<LimitWatch> limits_;
  std::optional<Invariants> invariants_;
  Ticks now_ = 0;
  // A run that ends before its requests do.
  Ticks stop_at_ = engine::never;
  bool stopped_ = false;
  double precision_ = 0;                     // 0: not asked for
  std::int64_t ends_ = 0, next_look_ = 200;  // requests that ended
  metrics::RunResult result_;
};

}  // namespace servegrid::cluster
