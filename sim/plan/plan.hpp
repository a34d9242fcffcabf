// A plan's answer: which set-ups serve the load within the objectives, with how many replicas, for
// how much, and why the others do not.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/candidates.hpp"
#include "plan/capacity.hpp"
#include "plan/money.hpp"

namespace servegrid::plan {

struct PlanOptions {
  int jobs = 0;                 // 0 = as many as there are cores
  std::int64_t requests = 400;  // simulated at each load while searching, at least
  double tolerance = 0.04;      // of a capacity
  int finalists = 3;            // of each precision and price source: checked as whole fleets
  double keep = 1.6;            // candidates whose bound scores worse than this times the best are
                                // not simulated
  int check_seeds = 3;          // with which a finalist's fleet must hold
  int draws = 1000;             // of the model's error
  bool sensitivity = true;
  /// Called as work is done: what, how many of how many.
  std::function<void(const std::string&, std::size_t, std::size_t)> progress;
};

/// A ranked set-up under one source of prices.
struct Option {
  std::string source;
  int replicas = 0;
  std::optional<Rental> rental;
  std::string reason;      // why there is none
  double score = 0;        // smaller is better, by the plan's goal
  double served = 0;       // load that it sustains (requests/s or users)
  TokenCosts daily, full;  // cost over the daily curve; with the GPUs at capacity all month
  double break_even = 0;   // tokens a month at which it costs what the API does; 0 = no API
  int rank = 0;            // within its precision, from 1; 0 = unranked
  double wins = 0;         // share of draws in which it is the best of its precision
};

/// A point of a replica's curve.
struct CurvePoint {
  double load = 0;
  Measured measured;
};

struct Row {
  std::size_t candidate = 0;
  Capacity capacity;  // of one replica
  Bound bound;
  std::vector<Option> options;    // one a source of prices, in their order
  bool finalist = false;          // simulated as a fleet
  int replicas = 0;               // of the fleet that was simulated, without spare nodes
  Measured at;                    // the fleet at the plan's load
  std::string fewer;              // what one replica fewer misses; empty when there is none fewer
  double watts_per_gpu = 0;       // mean at that load, of GPUs in use
  std::vector<CurvePoint> curve;  // one replica, rising load, finalists only
  int low = 0, high = 0;          // replicas, 90 % interval over the model's error
  double served_low = 0, served_high = 0;  // load the fleet sustains, 90 % interval
  double hopeless = 0;  // share of draws in which no number of replicas is enough
  double latency = 0;   // goal latency: mean E2EL [s] with the replicas of the first option
};

struct Rejected {
  std::string label, precision, stage, reason, nearest;
};

/// One bar of the tornado: the chosen plan's cost (or replicas) when one thing changes.
struct Swing {
  std::string what, path, low_change, high_change;
  double low = 0, high = 0;  // per-replica capacity over the unchanged one; 0 = sustains nothing
  /// What the better side is worth: the price premium of a GPU at which the cost is the same.
  double premium = 0;
};

struct PlanResult {
  Demand demand;
  std::vector<Candidate> candidates;
  std::vector<std::string> sources;
  std::vector<std::string> precisions;  // in the order of the plan's formats
  std::vector<Row> rows;                // feasible and simulated, candidate order
  std::vector<Rejected> rejected;
  std::optional<std::size_t> chosen;  // row: the best of the first precision that has one
  std::vector<Swing> swings;          // of the chosen plan, widest first
  TokenVolume volume;                 // tokens a month, of the chosen plan's runs

  [[nodiscard]] const Candidate& of(const Row& row) const { return candidates[row.candidate]; }
  /// Rows ranked under `source` within a precision, best first.
  [[nodiscard]] std::vector<std::size_t> ranked(std::size_t source,
                                                const std::string& precision) const;
};

PlanResult make_plan(const PlanSpec& plan, const PlanOptions& options);

/// Tokens a month of a fleet that at the peak serves what `at` measured.
TokenVolume volume_of(const Demand& demand, const Measured& at);

}  // namespace servegrid::plan
