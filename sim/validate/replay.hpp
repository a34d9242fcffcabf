// A measured run replayed request by request: when each came, with how many tokens, against when
// its first and last tokens were measured and predicted.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "catalog/scenario.hpp"
#include "metrics/result.hpp"

namespace servegrid::validate {

struct MeasuredRequest {
  std::int64_t prompt = 0, output = 0;                  // tokens
  double arrival = 0, first_token = 0, last_token = 0;  // [s] on one clock
};

struct MeasuredRequests {
  std::string file;
  std::string arrival, prompt, output;    // the columns' names there
  std::vector<MeasuredRequest> requests;  // by arrival
};

/// Reads a CSV with a row a request (docs/validation.md). Throws InputError with file and line.
MeasuredRequests read_requests(const std::string& path);
MeasuredRequests read_requests(std::istream& in, const std::string& path);

/// The requests as the load of a scenario; what load it had is forgotten.
void replay(const MeasuredRequests& measured, catalog::Scenario& scenario);

/// Means of a latency [s] over the requests that both finished, and the error of the prediction.
struct ReplayedLatency {
  std::int64_t n = 0;
  double measured = 0, predicted = 0;
  double median_ape = 0;  // [%] of single requests
  [[nodiscard]] double error_percent() const { return 100 * (predicted / measured - 1); }
};

/// How far the k-th request to finish is from when the k-th was measured to: times since the first
/// arrival, at the k where the two are furthest apart.
struct FinishCurve {
  std::int64_t finished = 0;
  double measured = 0, predicted = 0;  // [s]
  [[nodiscard]] double error_percent() const { return 100 * (predicted / measured - 1); }
};

struct Replay {
  std::int64_t requests = 0, finished = 0;  // measured; of them, those the simulation finished
  ReplayedLatency ttft, tpot, e2el;
  FinishCurve worst;
};

/// `result` is of the scenario that `replay` made. Throws RunError when no request finished.
Replay compare(const MeasuredRequests& measured, const metrics::RunResult& result);

std::string to_table(const Replay& replay);
std::string to_json(const Replay& replay);
/// A row a request.
std::string rows_csv(const MeasuredRequests& measured, const metrics::RunResult& result);

}  // namespace servegrid::validate
