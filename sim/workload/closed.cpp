// Closed loop: a new, unrelated request as soon as one ends.
#include "workload/slots.hpp"

namespace servegrid::workload {

namespace {

class Closed final : public Slots {
 public:
  using Slots::Slots;

 private:
  void fill(Request& request) override { mix().fill(request); }
  void ended(const Request&, bool) override {}
};

}  // namespace

std::unique_ptr<Source> make_closed(const catalog::WorkloadSpec& spec, std::uint64_t seed) {
  return std::make_unique<Closed>(spec, seed);
}

}  // namespace servegrid::workload
