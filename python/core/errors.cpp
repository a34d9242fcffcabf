// The C++ exception family as servegrid.errors, with file, line and column.
#include "core.hpp"
#include "units/error.hpp"

namespace servegrid::python {

namespace {

void set_error(const char* name, const std::string& message, const Location* where = nullptr) {
  const py::object type = py::module_::import("servegrid.errors").attr(name);
  py::object error = type(message);
  if (where != nullptr) {
    error.attr("file") = where->file.empty() ? py::object(py::none()) : py::str(where->file);
    error.attr("line") = where->line == 0 ? py::object(py::none()) : py::int_(where->line);
    error.attr("column") = where->column == 0 ? py::object(py::none()) : py::int_(where->column);
  }
  PyErr_SetObject(type.ptr(), error.ptr());
}

}  // namespace

void bind_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const InputError& e) {
      set_error("InputError", e.what(), &e.where());
    } catch (const InfeasibleError& e) {
      set_error("InfeasibleError", e.what());
    } catch (const RunError& e) {
      set_error("RunError", e.what());
    } catch (const Error& e) {
      set_error("ServeGridError", e.what());
    }
  });
}

}  // namespace servegrid::python
