// When each replica's next event is: a heap by (time, replica).
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "units/time.hpp"

namespace servegrid::cluster {

/// The earliest comes first, of equals the lower number. A change costs O(log replicas).
class Agenda {
 public:
  /// One more replica, with the next number.
  void add(Ticks at) {
    heap_.push_back(next_.size());
    place_.push_back(next_.size());
    next_.push_back(at);
    sift_up(heap_.size() - 1);
  }
  [[nodiscard]] std::size_t first() const { return heap_.front(); }
  [[nodiscard]] Ticks next() const { return next_[heap_.front()]; }
  void set(std::size_t replica, Ticks at) {
    next_[replica] = at;
    sift_up(place_[replica]);
    sift_down(place_[replica]);
  }

 private:
  [[nodiscard]] bool before(std::size_t a, std::size_t b) const {
    return next_[a] != next_[b] ? next_[a] < next_[b] : a < b;
  }
  void swap_places(std::size_t a, std::size_t b) {
    std::swap(heap_[a], heap_[b]);
    std::swap(place_[heap_[a]], place_[heap_[b]]);
  }
  void sift_up(std::size_t place) {
    while (place > 0) {
      const std::size_t parent = (place - 1) / 2;
      if (!before(heap_[place], heap_[parent])) return;
      swap_places(place, parent);
      place = parent;
    }
  }
  void sift_down(std::size_t place) {
    for (;;) {
      std::size_t least = place;
      for (std::size_t child = 2 * place + 1; child < std::min(2 * place + 3, heap_.size());
           ++child) {
        if (before(heap_[child], heap_[least])) least = child;
      }
      if (least == place) return;
      swap_places(place, least);
      place = least;
    }
  }

  std::vector<std::size_t> heap_, place_;  // place_ is where each replica is in the heap
  std::vector<Ticks> next_;                // by replica
};

}  // namespace servegrid::cluster
