// Robust bounded least squares of a few parameters: Levenberg-Marquardt from several starts.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace servegrid::calibrate {

/// A parameter and its bounds, searched on a logarithmic or a linear scale.
struct Bounds {
  double low = 0, high = 1;
  bool logarithmic = false;  // needs low > 0
};

/// Residuals of all rows at parameters `x`: out[i], count = rows.
using Residuals = std::function<void(const double* x, double* out)>;

struct LeastSquares {
  double soft = 0.05;  // residuals beyond this count linearly (soft L1)
  int starts = 8;
  int evaluations = 400;  // per start
};

/// The parameters with the least robust cost inside the bounds. `start` is the first start, the
/// others are spread over the bounds by a fixed sequence: same data, same answer.
std::vector<double> least_squares(const std::vector<Bounds>& bounds,
                                  const std::vector<double>& start, std::size_t rows,
                                  const Residuals& residuals, const LeastSquares& options = {});

}  // namespace servegrid::calibrate
