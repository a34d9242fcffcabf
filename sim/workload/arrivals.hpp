// When the requests of an open loop arrive: gaps drawn once for all rates, stretched by the rate at
// the time.
#pragma once

#include "catalog/scenario.hpp"
#include "units/time.hpp"
#include "workload/random.hpp"

namespace servegrid::workload {

class Arrivals {
 public:
  /// Throws InputError for rates that cannot be.
  Arrivals(const catalog::WorkloadSpec& spec, std::uint64_t seed);
  /// The next arrival; never earlier than the last.
  Ticks next();

 private:
  [[nodiscard]] double gap() const;  // with mean 1
  [[nodiscard]] double ramped_rate() const;
  [[nodiscard]] double factor() const;  // of the rate, in the present piece
  [[nodiscard]] double piece_end() const;
  void move_to(double time);

  catalog::ArrivalSpec spec_;
  double rate_;
  std::int64_t requests_;
  Stream stream_;
  std::int64_t issued_ = 0;
  Ticks last_ = 0;
  // Rates that change with time: pieces of constant rate.
  double curve_mean_ = 1;
  double now_ = 0;          // [s]
  std::int64_t piece_ = 0;  // of the curve or of on/off, counted through
  std::size_t spike_ = 0;   // the present or the next one
};

}  // namespace servegrid::workload
