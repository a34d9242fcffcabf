// The parts of the extension module. Each binds one subject; nothing here decides anything.
#pragma once

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace servegrid::python {

namespace py = pybind11;

void bind_errors(py::module_& m);
void bind_catalog(py::module_& m);
void bind_scenario(py::module_& m);
void bind_sizing(py::module_& m);
void bind_policies(py::module_& m);
void bind_run(py::module_& m);
void bind_reports(py::module_& m);
void bind_planning(py::module_& m);

}  // namespace servegrid::python
