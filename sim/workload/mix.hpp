// The classes of a workload: which one a request is of, and what it asks for.
#pragma once

#include <vector>

#include "workload/lengths.hpp"
#include "workload/source.hpp"

namespace servegrid::workload {

class Mix {
 public:
  Mix(const catalog::WorkloadSpec& spec, std::uint64_t seed);

  /// The class of the index-th request (or conversation).
  [[nodiscard]] int class_of(std::int64_t index) const;
  [[nodiscard]] const catalog::ClassSpec& operator[](int index) const {
    return classes_[static_cast<std::size_t>(index)];
  }
  /// Class, priority, timeout and patience of a request; everything that comes from its class but
  /// lengths.
  void mark(Request& request, int class_index) const;
  /// mark, and the lengths and shared prefix of a request that stands alone.
  void fill(Request& request) const;

 private:
  std::vector<catalog::ClassSpec> classes_;  // at least one
  std::vector<double> cumulative_;
  std::vector<RequestLengths> lengths_;
  Stream choices_, prompts_, outputs_, leaving_, patience_;
};

}  // namespace servegrid::workload
