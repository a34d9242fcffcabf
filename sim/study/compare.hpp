// Many points, in parallel, and the sentence a planner can quote.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "study/run.hpp"

namespace servegrid::study {

/// A scenario of the comparison, its label, and the part of the label that is not the load and not
/// the GPUs ("weights=fp8").
struct Case {
  std::string label;
  std::string variant;
  std::string set_up;   // of a case that cannot be read: its values
  std::string invalid;  // why this combination of values is no scenario; empty = it is one
  catalog::Scenario scenario;
};

/// Reads a scenario with overrides laid over it.
using Reader = std::function<catalog::Scenario(const catalog::Overrides&)>;

/// One case a point of the sweep, last axis fastest; axes that `fixed` sets are not swept. A
/// combination that is no scenario (an engine that does not run on one of the GPUs, a TP that does
/// not divide the heads) is a case with the reason. Throws InputError for a value that means
/// nothing by itself, or when no combination is a scenario.
std::vector<Case> cases_of(const Reader& read, const catalog::Overrides& fixed = {});

struct CompareOptions {
  int jobs = 0;  // 0 = as many as there are cores
  bool leap = true;
  bool check_events = false;
  cluster::Limits limits;      // of each point
  std::function<void()> done;  // after each point
};

/// Every case simulated in a process of its own, results in the order of the cases whatever the
/// number of workers. Throws RunError when a run fails.
std::vector<Point> simulate_all(const std::vector<Case>& cases, const CompareOptions& options);

/// Users (or requests at once) that a set-up carries at mean TPOT <= slo (and mean TTFT, where it
/// has an objective) without a standing queue: at most one in ten waits.
struct UsersAtSlo {
  double users = 0;
  bool interpolated = false;  // between two points of the sweep
  bool at_least = false;      // the largest point meets it too
  bool none = false;          // not even the smallest does
};

/// What a price sheet says about a set-up.
struct Cost {
  std::string sheet, currency;
  double per_month = 0;           // for the GPUs used
  int sold = 0;                   // smallest number sold together, over all pools
  double sold_per_month = 0;      // what that number costs
  double per_million_tokens = 0;  // output tokens, at the best point, of the GPUs used
  std::vector<std::pair<std::string, double>> pools;  // per_month of each; empty: one pool
};

/// One set-up over all its points.
struct SetUp {
  std::string name;
  std::string gpu, gpu_title;
  int gpus = 0;
  double resident = 0;  // of all replicas
  std::int64_t context_tokens = 0;
  double best_tokens_per_second = 0;  // output_throughput
  std::int64_t best_users = 0;
  std::optional<UsersAtSlo> at_slo;
  std::vector<Cost> costs;
  std::vector<std::string> unpriced;  // sheets without an offer
};

std::vector<SetUp> set_ups_of(const std::vector<Point>& points, const catalog::Catalog& catalog);

/// The sentences: each set-up against the first. Empty when nothing ran.
std::vector<std::string> headline(const std::vector<SetUp>& set_ups,
                                  const std::optional<double>& slo_tpot);

}  // namespace servegrid::study
