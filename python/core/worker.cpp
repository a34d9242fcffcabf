#include "worker.hpp"

#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "jobs/fork_pool.hpp"
#include "units/error.hpp"

namespace servegrid::python {

namespace {

using Json = nlohmann::json;

constexpr double poll_interval = 0.02;  // [s]
// First byte of what a child sends: a result, or what it threw.
constexpr char result_tag = 'R', input_tag = 'I', infeasible_tag = 'F', run_tag = 'E',
               python_tag = 'P';

std::string caught(char tag, const std::string& message, const Location& where = {}) {
  const Json json = {
      {"message", message}, {"file", where.file}, {"line", where.line}, {"column", where.column}};
  return tag + json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string guarded(const std::function<std::string()>& job) {
  try {
    return result_tag + job();
  } catch (const InputError& e) {
    return caught(input_tag, e.what(), e.where());
  } catch (const InfeasibleError& e) {
    return caught(infeasible_tag, e.what());
  } catch (const RunError& e) {
    return caught(run_tag, e.what());
  } catch (py::error_already_set& e) {
    const py::object trace = py::module_::import("servegrid.policy").attr("_describe_error");
    return python_tag +
           std::string(py::bytes(trace(e.value(), e.trace() ? e.trace() : py::none())));
  }
}

[[noreturn]] void raise_policy_error(const std::string& pickled, const std::string& log) {
  const py::object raise = py::module_::import("servegrid.policy").attr("_raise_error");
  raise(py::bytes(pickled), log);
  throw RunError("a policy failed without saying how");
}

void rethrow(const std::string& bytes, const std::string& log) {
  const std::string rest = bytes.substr(1);
  if (bytes.front() == python_tag) raise_policy_error(rest, log);
  const Json json = Json::parse(rest);
  const std::string message = json.at("message");
  if (bytes.front() == input_tag)
    throw InputError(message, {json.at("file"), json.at("line"), json.at("column")});
  if (bytes.front() == infeasible_tag) throw InfeasibleError(message);
  throw RunError(message);
}

// What Python needs around a fork of its process to go on in the child. The child keeps the lock.
void keep_python_usable(jobs::Options& options, std::unique_ptr<py::gil_scoped_acquire>& lock) {
  options.before_fork = [&lock] {
    lock = std::make_unique<py::gil_scoped_acquire>();
    PyOS_BeforeFork();
  };
  options.after_fork_parent = [&lock] {
    PyOS_AfterFork_Parent();
    lock.reset();
  };
  options.after_fork_child = [] {
    PyOS_AfterFork_Child();
    py::module_::import("servegrid.policy").attr("_print_to_log")();
  };
}

[[noreturn]] void raise_run_error(const std::string& message, const std::string& log) {
  const py::object type = py::module_::import("servegrid.errors").attr("RunError");
  py::object error = type(log.empty() ? message : message + "\nIts log ends:\n" + log);
  error.attr("log") = log;
  PyErr_SetObject(type.ptr(), error.ptr());
  throw py::error_already_set();
}

}  // namespace

WorkerResult run_in_worker(const std::function<std::string()>& job, const CancelToken* cancel,
                           bool python) {
  std::unique_ptr<py::gil_scoped_acquire> lock;
  jobs::Options options;
  options.handle_signals = false;
  options.keep_log = true;
  options.poll_interval = poll_interval;
  options.poll = [cancel] {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (cancel == nullptr || !cancel->set) return;
    PyErr_SetString(PyExc_KeyboardInterrupt, "the run was cancelled");
    throw py::error_already_set();
  };
  if (python) keep_python_usable(options, lock);
  std::vector<jobs::Outcome> outcomes;
  {
    const py::gil_scoped_release release;
    outcomes = jobs::run_in_workers(
        1, 1, [&job](std::size_t) { return guarded(job); }, options);
  }
  jobs::Outcome& outcome = outcomes.front();
  if (!outcome.ok) raise_run_error(outcome.error, outcome.log);
  if (outcome.bytes.front() != result_tag) rethrow(outcome.bytes, outcome.log);
  return {outcome.bytes.substr(1), std::move(outcome.log)};
}

}  // namespace servegrid::python
