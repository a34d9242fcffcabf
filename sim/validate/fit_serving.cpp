#include "validate/fit_serving.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace servegrid::validate {
namespace {

using catalog::ServingCosts;

constexpr int n_parameters = 9;
using Parameters = Eigen::Matrix<double, n_parameters, 1>;

// Fitted in log space, so that every cost stays positive. `width` is the prior's standard deviation
// in log space and [low, high] keeps a parameter physical.
struct Slot {
  double ServingCosts::*member;
  double width, low, high;
};
constexpr std::array<Slot, n_parameters> slots{{
    {&ServingCosts::alpha, 0.5, 0.2, 1.6},
    {&ServingCosts::group_per_layer, 1.0, 0.3e-6, 30e-6},
    {&ServingCosts::per_step, 0.8, 50e-6, 6e-3},
    {&ServingCosts::per_sequence, 1.0, 0.2e-6, 80e-6},
    {&ServingCosts::prefill_per_layer, 1.0, 5e-6, 2e-3},
    {&ServingCosts::prefill_factor, 0.3, 0.6, 2.5},
    {&ServingCosts::first_token, 1.0, 1e-3, 0.4},
    {&ServingCosts::routing_skew, 0.7, 0.05, 50},
    {&ServingCosts::first_token_steps, 1.0, 0.1, 20},
}};

// A model of n rows weighs n^(1 - 2 model_weight): neither rows nor models count alike.
constexpr double model_weight = 0.4, prior_weight = 0.04;

Parameters to_parameters(const ServingCosts& costs) {
  Parameters x;
  for (int i = 0; i < n_parameters; ++i) x[i] = std::log(costs.*slots[i].member);
  return x;
}

ServingCosts to_costs(const Parameters& x, ServingCosts base) {
  for (int i = 0; i < n_parameters; ++i)
    base.*slots[i].member = std::clamp(std::exp(x[i]), slots[i].low, slots[i].high);
  return base;
}

// sqrt of the soft L1 loss, so that least squares minimises it.
double soft(double residual, double scale) {
  const double z = residual / scale;
  const double loss = 2 * (std::sqrt(1 + z * z) - 1);
  return std::copysign(scale * std::sqrt(loss), residual);
}

class Problem {
 public:
  Problem(std::vector<PreparedRow*> rows, const ServingCosts& start, unsigned threads)
      : rows_(std::move(rows)), start_(start), threads_(threads) {
    std::map<std::string, double> per_model;
    for (const auto* row : rows_) per_model[row->scenario.model.name] += 1;
    for (const auto* row : rows_)
      weights_.push_back(std::pow(per_model.at(row->scenario.model.name), -model_weight));
  }

  Eigen::VectorXd residuals(const Parameters& x) {
    const ServingCosts costs = to_costs(x, start_);
    const auto n = static_cast<Eigen::Index>(rows_.size());
    Eigen::VectorXd r = Eigen::VectorXd::Zero(2 * n + n_parameters);
    for_each_index(rows_.size(), threads_, [&](std::size_t i) {
      auto& row = *rows_[i];
      row.steps->set_costs(costs);
      const Prediction p = predict(row);
      const auto at = static_cast<Eigen::Index>(i);
      if (p.tpot_ms > 0 && row.row.tpot_ms > 0)
        r[2 * at] = weights_[i] * soft(std::log(p.tpot_ms / row.row.tpot_ms), 0.08);
      // End-to-end time alone is mostly time per token.
      for (std::size_t k = 0; k < p.others.size() && row.row.tpot_ms <= 0; ++k) {
        const auto& [name, measured] = row.row.others[k];
        if (name == "mean_e2el_ms")
          r[2 * at] = weights_[i] * soft(std::log(p.others[k] / measured), 0.08);
      }
      if (p.ttft_ms > 0 && row.row.ttft_ms > 0 && row.row.ttft_ms < 5000 && !row.queues)
        r[2 * at + 1] = weights_[i] * soft(0.5 * std::log(p.ttft_ms / row.row.ttft_ms), 0.08);
    });
    for (int j = 0; j < n_parameters; ++j)
      r[2 * n + j] = prior_weight * (x[j] - prior_[j]) / slots[static_cast<std::size_t>(j)].width;
    return r;
  }

 private:
  std::vector<PreparedRow*> rows_;
  std::vector<double> weights_;
  ServingCosts start_;
  const Parameters prior_ = to_parameters(ServingCosts{});
  unsigned threads_;
};

struct Minimum {
  Parameters x;
  Eigen::VectorXd r;
};

Eigen::MatrixXd differences(Problem& problem, const Minimum& at) {
  constexpr double step = 0.06;  // wide: a discrete schedule makes the simulator's answers rough
  Eigen::MatrixXd jacobian(at.r.size(), n_parameters);
  for (int j = 0; j < n_parameters; ++j) {
    Parameters moved = at.x;
    moved[j] += step;
    jacobian.col(j) = (problem.residuals(moved) - at.r) / step;
  }
  return jacobian;
}

// Levenberg-Marquardt. The Jacobian is measured at first and where a step fails; in between it
// follows the steps taken (Broyden), which saves nine simulations of all rows in ten.
void minimise(Problem& problem, int iterations, Minimum& at) {
  Eigen::MatrixXd jacobian = differences(problem, at);
  bool fresh = true;
  double lambda = 1e-2;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    Eigen::Matrix<double, n_parameters, n_parameters> damped = jacobian.transpose() * jacobian;
    damped.diagonal() += lambda * damped.diagonal().cwiseMax(1e-6);
    Parameters dx = -damped.ldlt().solve(jacobian.transpose() * at.r);
    dx = dx.cwiseMax(-1.0).cwiseMin(1.0);
    const Eigen::VectorXd trial = problem.residuals(at.x + dx);
    const double ratio = trial.squaredNorm() / at.r.squaredNorm();
    if (ratio < 1) {
      jacobian += (trial - at.r - jacobian * dx) * dx.transpose() / dx.squaredNorm();
      at = {at.x + dx, trial};
      lambda = std::max(lambda / 4, 1e-4);
      if (ratio < 1 - 1e-3) {
        fresh = false;
        continue;
      }
    } else {
      lambda *= 6;
    }
    if (fresh && (ratio < 1 || lambda > 100)) return;
    if (!fresh) jacobian = differences(problem, at);
    fresh = true;
  }
}

}  // namespace

void for_each_index(std::size_t n, unsigned threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto loop = [&] {
    for (std::size_t i = next++; i < n; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = n;
      }
    }
  };
  std::vector<std::thread> pool;
  for (unsigned t = 1; t < std::max(1U, threads); ++t) pool.emplace_back(loop);
  loop();
  for (auto& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
}

ServingFit fit_serving(std::vector<PreparedRow*> all, const ServingCosts& start,
                       const FitOptions& options) {
  std::vector<PreparedRow*> rows;
  for (auto* row : all) {
    // What drafts gain was not measured apart: such runs are judged, not fitted.
    if (row->skip.empty() && !row->scenario.speculation.on() &&
        row->scenario.model.name != options.leave_out_model) {
      rows.push_back(row);
    }
  }
  ServingFit fit;
  fit.costs = start;
  fit.rows = static_cast<std::int64_t>(rows.size());
  if (rows.empty()) return fit;
  fit.gpu = rows.front()->gpu_key;
  fit.engine = rows.front()->engine_key;

  Problem problem(rows, start, options.threads);
  Minimum minimum{to_parameters(start), problem.residuals(to_parameters(start))};
  fit.loss_before = minimum.r.squaredNorm();
  minimise(problem, options.iterations, minimum);
  fit.loss_after = minimum.r.squaredNorm();
  fit.costs = to_costs(minimum.x, start);
  fit.costs.origin = "fitted";
  for (auto* row : all) {
    if (row->steps) row->steps->set_costs(fit.costs);
  }
  return fit;
}

}  // namespace servegrid::validate
