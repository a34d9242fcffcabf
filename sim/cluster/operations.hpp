// What happens to replicas beside requests: faults, stragglers, loading, rolling restarts,
// autoscaling. Decisions are taken on the integer clock, from what an operator could see.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "catalog/cluster.hpp"
#include "cluster/fleet.hpp"
#include "cluster/timers.hpp"
#include "metrics/result.hpp"
#include "workload/random.hpp"

namespace servegrid::cluster {

/// What operations ask of the event loop.
class Crew {
 public:
  virtual ~Crew() = default;
  /// A replica takes requests from now on, or no longer does.
  virtual void set_ready(int replica, bool ready) = 0;
  /// All that is on the replica is lost; it comes back empty.
  virtual void lose(int replica) = 0;
  virtual void set_slowdown(int replica, double factor) = 0;
  /// Requests that wait in front of a pool for a replica to be ready.
  [[nodiscard]] virtual std::int64_t parked(int pool) const = 0;
};

class Operations {
 public:
  /// `load_seconds`: of each pool's weights and warm-up.
  Operations(const catalog::ClusterSpec& spec, const Placement& placement, const Fleet& fleet,
             std::vector<double> load_seconds, std::uint64_t seed, Timers& timers, Crew& crew);

  /// Sets the replicas' first states and timers. Called once, at time 0.
  void start();
  void handle(const Timer& timer);
  /// The replica has no request left: told while `wants_to_know`.
  [[nodiscard]] bool draining(int replica) const {
    return states_[static_cast<std::size_t>(replica)].state == State::draining;
  }
  void emptied(int replica, Ticks now);
  /// Whether a replica of the pool is or may become ready.
  [[nodiscard]] bool hopeful(int pool) const;
  [[nodiscard]] std::int64_t faults() const { return faults_; }
  /// Fills in the times of the records at the end of the run.
  void account(Ticks end, std::vector<metrics::ReplicaRecord>& records);

 private:
  enum class State { off, provisioned, loading, ready, draining, down };
  struct Replica {
    State state = State::ready;
    Ticks since = 0;
    std::int64_t life = 0;    // counts changes: timers of an earlier one are void
    bool comes_back = false;  // down, with a repair to come
    bool restarts = false;    // draining, to load again; else to go off
    Ticks held = 0, ready = 0;
  };

  Replica& at(int replica) { return states_[static_cast<std::size_t>(replica)]; }
  [[nodiscard]] int pool_of(int replica) const {
    return placement_.replicas[static_cast<std::size_t>(replica)].pool;
  }
  void enter(int replica, State state, Ticks now);
  void load(int replica, Ticks now);
  void fail(int replica, Ticks now, std::optional<Ticks> back);
  void fault(const catalog::FaultSpec::Event& event, Ticks now);
  void draw_failure(int replica, Ticks now);
  void drain(int replica, Ticks now, bool restarts, double seconds);
  void next_restart(Ticks now);
  void look(std::size_t scaler, Ticks now);
  [[nodiscard]] std::vector<int> replicas_of(int pool) const;
  [[nodiscard]] std::vector<int> hit_by(const catalog::FaultSpec::Event& event) const;

  struct Scaler {
    catalog::AutoscaleSpec spec;
    int pool = 0;
    Ticks changed = -1;
  };

  const catalog::ClusterSpec& spec_;
  const Placement& placement_;
  const Fleet& fleet_;
  std::vector<double> load_seconds_;
  Timers& timers_;
  Crew& crew_;
  workload::Stream failures_, repairs_;
  std::vector<Replica> states_;
  std::vector<std::int64_t> drawn_;  // failures drawn, by replica
  std::vector<Scaler> scalers_;
  int restarting_ = -1;  // the replica at work in the rolling restart
  std::int64_t faults_ = 0;
};

}  // namespace servegrid::cluster
