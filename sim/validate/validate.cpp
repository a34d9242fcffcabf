#include "validate/validate.hpp"

#include <set>
#include <tuple>

#include "validate/fit_serving.hpp"

namespace servegrid::validate {
namespace {

Scored scored(const PreparedRow& p, Prediction prediction) {
  Scored s;
  s.row = &p.row;
  s.gpu = p.gpu_key;
  s.engine = p.engine_key;
  s.model = p.scenario.model.name;
  s.weights = std::string(catalog::name(p.scenario.weights));
  s.prediction = std::move(prediction);
  return s;
}

// Rows of one (GPU, engine) together.
std::map<std::pair<std::string, std::string>, std::vector<PreparedRow*>> by_stack(
    std::vector<PreparedRow>& rows) {
  std::map<std::pair<std::string, std::string>, std::vector<PreparedRow*>> stacks;
  for (auto& row : rows) {
    if (row.skip.empty()) stacks[{row.gpu_key, row.engine_key}].push_back(&row);
  }
  return stacks;
}

// Predicts each model's rows with costs fitted to the other models of the same stack; stacks with
// one model have none.
void leave_models_out(Report& report, unsigned threads, std::vector<Prediction>& predictions) {
  for (const auto& one : by_stack(report.prepared)) {
    const std::vector<PreparedRow*>& rows = one.second;
    std::set<std::string> models;
    for (const auto* row : rows) models.insert(row->scenario.model.name);
    const catalog::ServingCosts fitted = rows.front()->steps->costs();
    for (const auto& model : models) {
      if (models.size() > 1) {
        FitOptions fit;
        fit.threads = threads;
        fit.iterations = left_out_iterations;
        fit.leave_out_model = model;
        // From the defaults, not from the fit that has seen the model.
        fit_serving(rows, catalog::ServingCosts{}, fit);
      }
      for_each_index(rows.size(), threads, [&](std::size_t i) {
        if (rows[i]->scenario.model.name != model) return;
        const auto at = static_cast<std::size_t>(rows[i] - report.prepared.data());
        if (models.size() > 1) {
          predictions[at] = predict(*rows[i]);
        } else {
          predictions[at].skip = "the only model of its (GPU, engine)";
        }
      });
    }
    for (auto* row : rows) row->steps->set_costs(fitted);
  }
}

// Rows that were skipped because nobody knows whether they drafted, simulated without drafts.
void judge_by_median(Report& report, Preparer& preparer, unsigned threads) {
  for (const auto& p : report.prepared) {
    if (!p.row.only_by_median) continue;
    MeasuredRow row = p.row;
    row.skip.clear();
    report.drafting_unknown.push_back(preparer.prepare(row));
  }
  const auto& rows = report.drafting_unknown;
  std::vector<Prediction> predictions(rows.size());
  for_each_index(rows.size(), threads, [&](std::size_t i) { predictions[i] = predict(rows[i]); });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (predictions[i].skip.empty()) report.by_median.push_back(scored(rows[i], predictions[i]));
  }
}

}  // namespace

Report validate(const ValidateOptions& options) {
  Report report;
  Preparer preparer(options.knowledge);
  const auto measured = read_measured(options.measured);
  report.rows = static_cast<std::int64_t>(measured.size());
  report.left_out = options.leave_out_models                     ? "model"
                    : options.knowledge == Knowledge::relative   ? "gpu"
                    : options.knowledge == Knowledge::data_sheet ? "kernels"
                                                                 : "";
  report.prepared.reserve(measured.size());
  for (const auto& row : measured) report.prepared.push_back(preparer.prepare(row));

  std::vector<Prediction> predictions(report.prepared.size());
  if (options.leave_out_models) {
    for (std::size_t i = 0; i < predictions.size(); ++i)
      predictions[i].skip = report.prepared[i].skip;
    leave_models_out(report, options.threads, predictions);
  } else {
    for_each_index(predictions.size(), options.threads,
                   [&](std::size_t i) { predictions[i] = predict(report.prepared[i]); });
  }
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    if (!predictions[i].skip.empty()) {
      ++report.skipped[predictions[i].skip];
    } else {
      report.scored.push_back(scored(report.prepared[i], predictions[i]));
    }
  }
  if (report.left_out.empty()) judge_by_median(report, preparer, options.threads);
  report.decisions = decisions_of(report.scored, options.tpot_limit_ms);
  return report;
}

}  // namespace servegrid::validate
