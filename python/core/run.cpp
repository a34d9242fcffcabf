// Simulating: a run lives in a child, its tables in memory shared with it.
#include "study/run.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "columns.hpp"
#include "core.hpp"
#include "model/deployment.hpp"
#include "policies.hpp"
#include "units/error.hpp"
#include "worker.hpp"

namespace servegrid::python {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() { ::close(file_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return file_; }

 private:
  int file_;
};

struct Mapping {
  void* memory;
  std::size_t size;
  Mapping(int file, std::size_t bytes) : size(bytes) {
    memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED)
      throw RunError(std::string("cannot map the result's tables: ") + std::strerror(errno));
  }
  ~Mapping() { ::munmap(memory, size); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
};

Json counters_json(const metrics::Counters& c) {
  return {{"requests", c.requests},
          {"completed", c.completed},
          {"rejected", c.rejected},
          {"aborted", c.aborted},
          {"preemptions", c.preemptions},
          {"swapped_out", c.swapped_out},
          {"swapped_in", c.swapped_in},
          {"blocks_allocated", c.blocks_allocated},
          {"blocks_freed", c.blocks_freed},
          {"tokens_generated", c.tokens_generated},
          {"tokens_prefilled", c.tokens_prefilled},
          {"tokens_cached", c.tokens_cached},
          {"tokens_recomputed", c.tokens_recomputed},
          {"prefix_queries", c.prefix_queries},
          {"prefix_hits", c.prefix_hits},
          {"events", c.events},
          {"steps", c.steps},
          {"peak_running", c.peak_running},
          {"peak_waiting", c.peak_waiting}};
}

Json reasons_json(const metrics::RunResult& result) {
  Json reasons = Json::object();
  for (const auto& r : result.requests)
    if (!r.reason.empty()) reasons[std::to_string(r.id)] = r.reason;
  return reasons;
}

struct Job {
  const catalog::Scenario& scenario;
  std::string label;
  bool leap;
  const PythonPolicies& policies;
  int file;

  /// Length of the description, the description, the policies' state.
  [[nodiscard]] std::string operator()() const {
    metrics::RunResult result;
    cluster::RunOptions options;
    options.leap = leap;
    options.custom = hooks_of(policies, scenario);
    const study::Point point = study::evaluate(scenario, label, options, &result);
    Json json = {{"point", Json::parse(study::to_text(point))}};
    if (point.feasible) {
      json["memory"] = write_tables(file, result);
      json["counters"] = counters_json(result.counters);
      json["reasons"] = reasons_json(result);
      json["num_blocks"] = result.num_blocks;
      json["end_s"] = to_seconds(result.end);
    }
    const std::string text = json.dump();
    const std::uint64_t size = text.size();
    std::string out(reinterpret_cast<const char*>(&size), sizeof size);
    out += text;
    if (policies.any()) out += std::string(policies.collect().cast<py::bytes>());
    return out;
  }
};

py::dict arrays_of(const Json& table, const std::shared_ptr<Mapping>& mapping) {
  py::dict arrays;
  const auto rows = table.at("rows").get<py::ssize_t>();
  for (const auto& column : table.at("columns")) {
    // Each array keeps the mapping alive.
    const py::capsule owner(new std::shared_ptr<Mapping>(mapping),
                            [](void* p) { delete static_cast<std::shared_ptr<Mapping>*>(p); });
    auto* data = static_cast<std::byte*>(mapping->memory) + column.at("offset").get<std::size_t>();
    arrays[py::str(column.at("name").get<std::string>())] =
        py::array(py::dtype(column.at("dtype").get<std::string>()), {rows}, {}, data, owner);
  }
  return arrays;
}

py::dict run(const catalog::Scenario& scenario, const std::string& label, bool leap,
             const PythonPolicies& policies, const CancelToken* cancel) {
  {
    const py::gil_scoped_release release;
    model::check(model::deployment_of(scenario));
  }
  const int made = ::memfd_create("servegrid-tables", MFD_CLOEXEC);
  if (made < 0) throw RunError(std::string("cannot share memory: ") + std::strerror(errno));
  const Descriptor file(made);
  const Job job{scenario, label, leap, policies, file.get()};
  const WorkerResult done = run_in_worker(job, cancel, policies.any());
  std::uint64_t size = 0;
  std::memcpy(&size, done.bytes.data(), sizeof size);
  const std::string text = done.bytes.substr(sizeof size, size);
  const Json json = Json::parse(text);
  py::dict out;
  out["text"] = text;
  out["log"] = done.log;
  out["policies"] = py::bytes(done.bytes.substr(sizeof size + size));
  if (json.contains("memory")) {
    const auto mapping =
        std::make_shared<Mapping>(file.get(), json.at("memory").at("bytes").get<std::size_t>());
    const Json& tables = json.at("memory").at("tables");
    out["requests"] = arrays_of(tables.at("requests"), mapping);
    out["timeline"] = arrays_of(tables.at("timeline"), mapping);
  }
  return out;
}

template <typename Row>
py::list described(const std::vector<Column<Row>>& columns) {
  py::list out;
  for (const auto& c : columns) out.append(py::make_tuple(c.name, c.dtype, c.unit, c.about));
  return out;
}

}  // namespace

void bind_run(py::module_& m) {
  py::class_<CancelToken>(m, "CancelToken", "Ends the runs that were given it, from any thread.")
      .def(py::init<>())
      .def("cancel", [](CancelToken& t) { t.set = true; })
      .def_property_readonly("cancelled", [](const CancelToken& t) { return t.set.load(); });
  py::class_<PythonPolicies>(m, "Policies")
      .def(py::init<py::object, py::object, py::object, py::object, py::object>(), py::arg("route"),
           py::arg("admit"), py::arg("lengths"), py::arg("gap"), py::arg("collect"));
  m.def("run", &run, py::arg("scenario"), py::arg("label"), py::arg("leap"), py::arg("policies"),
        py::arg("cancel").none(true), "Simulates in a child; tables as arrays, the rest as JSON.");
  m.def(
      "request_columns", [] { return described(request_columns()); },
      "(name, dtype, unit, meaning) of the columns of a request table.");
  m.def(
      "timeline_columns", [] { return described(epoch_columns()); },
      "(name, dtype, unit, meaning) of the columns of a timeline.");
  m.def("outcome_names", &outcome_names);
}

}  // namespace servegrid::python
