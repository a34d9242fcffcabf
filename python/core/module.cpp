// servegrid._core: the C++ library as Python sees it. It never loads SimGrid: a run does, in a
// process of its own.
#include <boost/math/distributions/students_t.hpp>

#include "core.hpp"
#include "metrics/version.hpp"

PYBIND11_MODULE(_core, m) {
  using namespace servegrid::python;
  m.doc() = "The C++ library of ServeGrid. Use the package `servegrid`; this module may change.";
  m.attr("__version__") = SERVEGRID_VERSION;
  m.attr("format_version") = servegrid::metrics::format_version;
  m.attr("model_version") = servegrid::metrics::model_version;
  bind_errors(m);
  bind_catalog(m);
  bind_scenario(m);
  bind_sizing(m);
  bind_policies(m);
  bind_run(m);
  bind_reports(m);
  bind_planning(m);
  m.def(
      "student_t",
      [](double probability, double degrees) {
        return boost::math::quantile(boost::math::students_t(degrees), probability);
      },
      py::arg("probability"), py::arg("degrees"),
      "Quantile of Student's t distribution with that many degrees of freedom.");
}
