// Plans: which set-ups serve a load within its objectives, with how many GPUs, for how much.
#include "core.hpp"
#include "plan/plan.hpp"
#include "plan/report.hpp"
#include "study/folder.hpp"
#include "worker.hpp"

namespace servegrid::python {

namespace {

std::string make_plan(const std::string& path, const std::string& text,
                      const catalog::Overrides& overrides, int jobs, std::int64_t requests,
                      int finalists, bool sensitivity, const std::string& output,
                      const CancelToken* cancel) {
  const auto job = [&] {
    const plan::PlanSpec spec = path.empty() ? plan::read_plan_text(text, "text", overrides)
                                             : plan::read_plan(path, overrides);
    plan::PlanOptions options;
    options.jobs = jobs;
    options.requests = requests;
    options.finalists = finalists;
    options.sensitivity = sensitivity;
    if (!output.empty()) study::check_output_folder(output);
    const plan::PlanResult result = plan::make_plan(spec, options);
    if (!output.empty()) {
      study::Files files;
      for (auto& [name, content] : plan::plan_files(spec, result))
        files.emplace_back(name, content);
      study::write_folder(output, files);
    }
    return plan::plan_json(spec, result);
  };
  return run_in_worker(job, cancel, false).bytes;
}

}  // namespace

void bind_planning(py::module_& m) {
  m.def("make_plan", &make_plan, py::arg("path"), py::arg("text"), py::arg("overrides"),
        py::arg("jobs"), py::arg("requests"), py::arg("finalists"), py::arg("sensitivity"),
        py::arg("output"), py::arg("cancel").none(true),
        "The whole answer as JSON (docs/planning.md).");
}

}  // namespace servegrid::python
