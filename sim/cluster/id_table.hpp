// What is in flight, by the number of its request: as much memory as there is in flight at once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "units/error.hpp"

namespace servegrid::cluster {

/// Open addressing with linear probing; values stay where they are in a pool while the table grows.
template <class Value>
class IdTable {
 public:
  /// `id` >= 0, not in the table.
  void insert(std::int64_t id, const Value& value) {
    if (2 * (size_ + 1) > entries_.size()) grow();
    std::int32_t place;
    if (unused_.empty()) {
      place = static_cast<std::int32_t>(pool_.size());
      pool_.push_back(value);
    } else {
      place = unused_.back();
      unused_.pop_back();
      pool_[static_cast<std::size_t>(place)] = value;
    }
    put({id, place});
    ++size_;
  }
  /// Valid until the next insert.
  [[nodiscard]] Value& at(std::int64_t id) {
    return pool_[static_cast<std::size_t>(entries_[find(id)].place)];
  }
  /// Takes it out.
  Value take(std::int64_t id) {
    std::size_t hole = find(id);
    const std::int32_t place = entries_[hole].place;
    unused_.push_back(place);
    --size_;
    // Later entries of the same run move up, so that no search ends early.
    for (std::size_t i = next(hole); entries_[i].id >= 0; i = next(i)) {
      const std::size_t distance = (i - home(entries_[i].id)) & (entries_.size() - 1);
      if (distance >= ((i - hole) & (entries_.size() - 1))) {
        entries_[hole] = entries_[i];
        hole = i;
      }
    }
    entries_[hole] = {};
    return std::move(pool_[static_cast<std::size_t>(place)]);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Every value, in no order that means anything.
  template <typename F>
  void each(F use) const {
    for (const Entry& entry : entries_) {
      if (entry.id >= 0) use(pool_[static_cast<std::size_t>(entry.place)]);
    }
  }

 private:
  struct Entry {
    std::int64_t id = -1;
    std::int32_t place = -1;
  };
  [[nodiscard]] std::size_t home(std::int64_t id) const {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(id) * 0x9e3779b97f4a7c15U) >> 32) &
           (entries_.size() - 1);
  }
  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & (entries_.size() - 1); }
  [[nodiscard]] std::size_t find(std::int64_t id) const {
    if (!entries_.empty()) {
      for (std::size_t i = home(id); entries_[i].id >= 0; i = next(i)) {
        if (entries_[i].id == id) return i;
      }
    }
    throw RunError("event loop: request " + std::to_string(id) + " is not in flight");
  }
  void put(const Entry& entry) {
    std::size_t i = home(entry.id);
    while (entries_[i].id >= 0) i = next(i);
    entries_[i] = entry;
  }
  void grow() {
    std::vector<Entry> old(entries_.empty() ? 64 : 2 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.id >= 0) put(entry);
    }
  }

  std::vector<Entry> entries_;  // a power of two of them
  std::vector<Value> pool_;
  std::vector<std::int32_t> unused_;
  std::size_t size_ = 0;
};

}  // namespace servegrid::cluster
