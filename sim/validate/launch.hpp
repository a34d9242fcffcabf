// How a measured server was launched: what no column of the data records and its scripts do.
#pragma once

#include "catalog/scenario.hpp"
#include "validate/measured.hpp"

namespace servegrid::validate {

/// Sets the knobs of `scenario`, whose GPU, model, weights and engine are set, to how the row's
/// server was started (docs/validation.md, "How the servers were launched").
void set_launch(const MeasuredRow& row, catalog::Scenario& scenario);

}  // namespace servegrid::validate
