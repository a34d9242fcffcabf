// Times of a GEMM by its number of rows: batches of the same size come again and again, and a time
// has powers in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace servegrid::roofline {

class GemmMemo {
 public:
  struct Time {
    double rows = -1;
    double stream = 0;  // [s] without the floor
    bool compute_bound = false;
  };
  /// The time for `rows`, from `compute` unless it is still known. Not thread-safe.
  template <class Compute>
  const Time& get(double rows, Compute&& compute) {
    Time* time = times_.empty() ? nullptr : &place_of(rows);
    if (time != nullptr && time->rows == rows) return *time;
    // More places when those there are have been filled over and over: models that are asked little
    // stay small.
    if (++misses_ > 2 * times_.size() && times_.size() < most_places) {
      misses_ = 0;
      times_.assign(times_.empty() ? 32 : 4 * times_.size(), Time{});
    }
    time = &place_of(rows);
    *time = compute();
    return *time;
  }

 private:
  static constexpr std::size_t most_places = 8192;  // 192 KB
  Time& place_of(double rows) {
    return times_[static_cast<std::size_t>(static_cast<std::int64_t>(rows)) & (times_.size() - 1)];
  }

  std::vector<Time> times_;  // a power of two of them
  std::size_t misses_ = 0;
};

}  // namespace servegrid::roofline
