// Python objects in the place of a router, an admission policy, lengths or arrivals.
#pragma once

#include <memory>

#include "catalog/scenario.hpp"
#include "cluster/simulate.hpp"
#include "core.hpp"

namespace servegrid::python {

/// Callables that servegrid.policy makes of the user's objects; None = the scenario's own.
struct PythonPolicies {
  py::object route, admit, lengths, gap;
  py::object collect;  // () -> bytes: the objects' state after the run, pickled
  [[nodiscard]] bool any() const {
    return !route.is_none() || !admit.is_none() || !lengths.is_none() || !gap.is_none();
  }
};

/// The hooks of a run. Throws InputError when the workload has no place for one.
cluster::CustomPolicies hooks_of(const PythonPolicies& policies, const catalog::Scenario& scenario);

}  // namespace servegrid::python
