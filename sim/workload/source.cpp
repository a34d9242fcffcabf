#include "workload/source.hpp"

#include <cmath>

#include "units/error.hpp"
#include "workload/sources.hpp"

namespace servegrid::workload {

std::unique_ptr<Source> make_source(const catalog::WorkloadSpec& spec, std::uint64_t seed) {
  using Kind = catalog::WorkloadSpec::Kind;
  const auto require = [](bool ok, const char* message) {
    if (!ok) throw InputError(std::string("workload: ") + message);
  };
  require(spec.requests >= 1 || (spec.kind == Kind::trace && spec.requests == 0),
          "requests must be at least 1");
  require(spec.shared_prefix >= 0, "shared_prefix must not be negative");
  require(std::isfinite(spec.think_time) && spec.think_time >= 0,
          "think_time must not be negative");
  switch (spec.kind) {
    case Kind::conversations:
      return make_conversations(spec, seed);
    case Kind::closed:
      return make_closed(spec, seed);
    case Kind::open:
      return make_open(spec, seed);
    case Kind::batch:
      return make_batch(spec, seed);
    case Kind::trace:
      return make_trace(spec);
  }
  throw InputError("workload: unknown kind");
}

}  // namespace servegrid::workload
