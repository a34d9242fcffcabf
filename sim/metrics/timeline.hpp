// The epochs of a run: kept packed, in some 35 bytes each, and added up as they come.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "metrics/epoch.hpp"
#include "metrics/epoch_sums.hpp"

namespace servegrid::metrics {

/// What an epoch takes when kept, about: 33 to 38 in long runs.
inline constexpr double bytes_of_packed_epoch = 40;

class Timeline {
  struct Chunk {
    std::unique_ptr<unsigned char[]> bytes;
    std::size_t used = 0;
  };

 public:
  Timeline() = default;
  Timeline(std::initializer_list<Epoch> epochs) {
    for (const Epoch& e : epochs) push_back(e);
  }

  /// In the order of their starts. `keep` false: only the sums grow.
  void push_back(const Epoch& epoch, bool keep = true);
  /// Epochs that were kept.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// What all epochs come to, kept or not.
  [[nodiscard]] const EpochSums& sums() const { return sums_; }
  void clear() { *this = {}; }

  /// Reads the kept epochs in order.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Epoch;
    using difference_type = std::ptrdiff_t;
    using pointer = const Epoch*;
    using reference = const Epoch&;
    Iterator(const std::vector<Chunk>& chunks, std::size_t left) : chunks_(&chunks), left_(left) {
      if (left_ > 0) read();
    }
    const Epoch& operator*() const { return epoch_; }
    const Epoch* operator->() const { return &epoch_; }
    Iterator& operator++() {
      if (--left_ > 0) read();
      return *this;
    }
    bool operator==(const Iterator& other) const { return left_ == other.left_; }

   private:
    void read();
    const std::vector<Chunk>* chunks_;
    std::size_t left_, chunk_ = 0, at_ = 0;
    Epoch epoch_;
  };
  [[nodiscard]] Iterator begin() const { return {chunks_, size_}; }
  [[nodiscard]] Iterator end() const { return {chunks_, 0}; }

 private:
  std::vector<Chunk> chunks_;
  Ticks last_start_ = 0;
  std::size_t size_ = 0;
  EpochSums sums_;
};

}  // namespace servegrid::metrics
