#include "calibrate/least_squares.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <unsupported/Eigen/NonLinearOptimization>
#include <unsupported/Eigen/NumericalDiff>

namespace servegrid::calibrate {
namespace {

// Free variable u -> parameter strictly inside its bounds, smoothly: low + (high - low) sigmoid(u).
double inside(const Bounds& b, double u) {
  const double s = 1 / (1 + std::exp(-u));
  if (b.logarithmic) return b.low * std::pow(b.high / b.low, s);
  return b.low + (b.high - b.low) * s;
}

double free_of(const Bounds& b, double x) {
  double s = b.logarithmic ? std::log(x / b.low) / std::log(b.high / b.low)
                           : (x - b.low) / (b.high - b.low);
  s = std::clamp(s, 0.02, 0.98);  // a start at a bound could not move away from it
  return std::log(s / (1 - s));
}

struct Functor {
  using Scalar = double;
  using InputType = Eigen::VectorXd;
  using ValueType = Eigen::VectorXd;
  using JacobianType = Eigen::MatrixXd;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

  const std::vector<Bounds>& bounds;
  std::size_t rows;
  const Residuals& residuals;
  double soft;

  [[nodiscard]] int inputs() const { return static_cast<int>(bounds.size()); }
  [[nodiscard]] int values() const {
    return static_cast<int>(std::max(rows, bounds.size()));  // the solver wants no fewer
  }
  [[nodiscard]] std::vector<double> parameters(const InputType& u) const {
    std::vector<double> x(bounds.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = inside(bounds[i], u[static_cast<Eigen::Index>(i)]);
    }
    return x;
  }
  int operator()(const InputType& u, ValueType& out) const {
    out.setZero();
    residuals(parameters(u).data(), out.data());
    for (double& r : out) {  // squares of these sum to the soft-L1 cost
      const double z = r / soft;
      r = std::isfinite(z) ? soft * z * std::sqrt(2 / (std::sqrt(1 + z * z) + 1)) : 1e6;
    }
    return 0;
  }
};

// Van der Corput sequence in a prime base: spreads the starts.
double spread(int index, int base) {
  double value = 0, scale = 1;
  for (; index > 0; index /= base) {
    scale /= base;
    value += scale * (index % base);
  }
  return value;
}

}  // namespace

std::vector<double> least_squares(const std::vector<Bounds>& bounds,
                                  const std::vector<double>& start, std::size_t rows,
                                  const Residuals& residuals, const LeastSquares& options) {
  static constexpr int primes[] = {2, 3, 5, 7, 11, 13, 17, 19};
  const Functor functor{bounds, rows, residuals, options.soft};
  Eigen::NumericalDiff<Functor> differences(functor, 1e-12);
  std::vector<double> best;
  double best_cost = 0;
  for (int s = 0; s < options.starts; ++s) {
    Eigen::VectorXd u(functor.inputs());
    for (int i = 0; i < functor.inputs(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      u[i] = s == 0 ? free_of(bounds[at], start[at]) : 5 * (spread(s, primes[i % 8]) - 0.5);
    }
    Eigen::LevenbergMarquardt<Eigen::NumericalDiff<Functor>> solver(differences);
    solver.parameters.maxfev = options.evaluations;
    solver.parameters.xtol = solver.parameters.ftol = 1e-7;
    solver.minimize(u);
    Eigen::VectorXd out(functor.values());
    functor(u, out);
    const double cost = out.squaredNorm();
    if (best.empty() || cost < best_cost) {
      best_cost = cost;
      best = functor.parameters(u);
    }
  }
  return best;
}

}  // namespace servegrid::calibrate
