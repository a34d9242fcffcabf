// A measured row as a scenario, and what ServeGrid predicts for it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "roofline/step_model.hpp"
#include "validate/measured.hpp"

namespace servegrid::validate {

struct Prediction {
  double ttft_ms = 0, tpot_ms = 0;  // means over requests
  std::vector<double> others;       // of the row's other metrics, in their order; NaN = undefined
  bool queues = false;              // more tokens wanted at once than the KV pool holds
  std::string trust;                // of the step model
  std::string skip;  // why there is none: does not fit, format refused, unknown model, ...
};

/// Everything of a row that does not change while serving costs are fitted, built once.
struct PreparedRow {
  MeasuredRow row;
  catalog::Scenario scenario;
  std::string gpu_key, engine_key;  // catalogue GPU and engine: who shares serving costs
  std::unique_ptr<roofline::StepModel> steps;
  std::int64_t num_blocks = 0, blocks_fixed = 0;
  bool queues = false;
  std::string skip;
};

/// What a prediction may know of the GPU's kernels: its own fits, its nearest relative's (the
/// profile's `inherits_fits_from`), or the data sheet alone. Without its own, serving costs are the
/// defaults.
enum class Knowledge { own, relative, data_sheet };

class Preparer {
 public:
  explicit Preparer(Knowledge knowledge = Knowledge::own) : knowledge_(knowledge) {}
  /// Never throws for a row that cannot be simulated: `skip` says why.
  PreparedRow prepare(const MeasuredRow& row);

 private:
  catalog::Scenario scenario_of(const MeasuredRow& row);
  const catalog::EngineProfile& engine_at(const std::string& engine, const std::string& version,
                                          const std::string& date);
  Knowledge knowledge_;
  catalog::Catalog catalog_;
  std::map<std::string, catalog::Gpu> gpus_;
  std::map<std::string, catalog::Model> models_;
  std::map<std::string, catalog::EngineProfile> engines_;
};

/// Sizes `row.scenario` and compiles its step model; `skip` says why it cannot run.
void compile(PreparedRow& row, const catalog::Catalog& catalog);

/// Simulates the row's run on the event heap (no SimGrid) with the step model's present serving
/// costs.
Prediction predict(const PreparedRow& row);

}  // namespace servegrid::validate
