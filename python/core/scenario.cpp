// Scenarios: read from text with overrides, or made of the command's flags.
#include "catalog/scenario.hpp"

#include "catalog/catalog.hpp"
#include "catalog/reader.hpp"
#include "cli/flags.hpp"
#include "core.hpp"
#include "study/run.hpp"
#include "units/error.hpp"

namespace servegrid::python {

using namespace catalog;

namespace {

cli::Parsed parse_flags(const std::vector<std::string>& args) {
  cli::Spec spec;
  spec.verb = "Scenario";
  cli::add_scenario_flags(spec, cli::Purpose::compare);
  const auto parsed = cli::parse(spec, args);
  if (!parsed || !parsed->words.empty()) throw InputError("a scenario is made of keywords only");
  return *parsed;
}

/// YAML text of a scenario; `loaded` false: without a load, to be sized or explained.
std::string text_of_flags(const std::vector<std::string>& args, bool loaded) {
  return cli::question_of(parse_flags(args), "", {},
                          loaded ? cli::Purpose::compare : cli::Purpose::size)
      .text;
}

std::vector<std::string> flag_names() {
  cli::Spec spec;
  cli::add_scenario_flags(spec, cli::Purpose::compare);
  std::vector<std::string> names;
  for (const auto& option : spec.options.options())
    if (option->long_name() != "print-scenario") names.push_back(option->long_name());
  for (const auto& [from, to] : spec.aliases) names.push_back(from.substr(2));
  return names;
}

std::string length_kind(const LengthSpec& l) {
  switch (l.kind) {
    case LengthSpec::Kind::uniform:
      return "uniform";
    case LengthSpec::Kind::lognormal:
      return "lognormal";
    case LengthSpec::Kind::normal:
      return "normal";
    case LengthSpec::Kind::zipf:
      return "zipf";
    case LengthSpec::Kind::empirical:
      return "empirical";
    case LengthSpec::Kind::fixed:
      break;
  }
  return "fixed";
}

py::object plain(const Value& v);

py::object plain_map(const Value& v) {
  py::dict out;
  for (const auto& [key, value] : v.entries()) out[py::str(key)] = plain(value);
  return out;
}

py::object plain(const Value& v) {
  if (v.is_map()) return plain_map(v);
  if (v.is_list()) {
    py::list out;
    for (const Value& item : v.items()) out.append(plain(item));
    return out;
  }
  if (v.is_null()) return py::none();
  return py::str(v.text());
}

void bind_workload(py::module_& m) {
  py::class_<LengthSpec>(m, "Length", "A length in tokens, drawn per request.")
      .def_property_readonly("kind", &length_kind)
      .def_readonly("mean", &LengthSpec::mean)
      .def_readonly("low", &LengthSpec::low)
      .def_readonly("high", &LengthSpec::high)
      .def_readonly("sigma", &LengthSpec::sigma)
      .def_readonly("limit", &LengthSpec::limit, "cut-off, 0 = none");
  py::class_<WorkloadSpec>(m, "Workload", "What arrives.")
      .def_property_readonly(
          "kind", [](const WorkloadSpec& w) { return servegrid::study::workload_name(w.kind); })
      .def_readonly("concurrent", &WorkloadSpec::concurrent, "requests or users at once")
      .def_readonly("prompt", &WorkloadSpec::prompt)
      .def_readonly("output", &WorkloadSpec::output)
      .def_readonly("turns", &WorkloadSpec::turns)
      .def_readonly("history", &WorkloadSpec::history, "tokens")
      .def_readonly("turn_input", &WorkloadSpec::turn_input)
      .def_readonly("think_time", &WorkloadSpec::think_time, "[s]")
      .def_readonly("shared_prefix", &WorkloadSpec::shared_prefix, "tokens")
      .def_readonly("rate", &WorkloadSpec::rate, "[requests/s]")
      .def_readonly("requests", &WorkloadSpec::requests)
      .def_readonly("warmup_fraction", &WorkloadSpec::warmup_fraction)
      .def_property_readonly("trace", [](const WorkloadSpec& w) { return w.trace.file; });
  py::class_<SloSpec>(m, "Slo", "Objectives [s].")
      .def_readonly("ttft", &SloSpec::ttft)
      .def_readonly("tpot", &SloSpec::tpot)
      .def_readonly("e2el", &SloSpec::e2el);
}

}  // namespace

void bind_scenario(py::module_& m) {
  bind_workload(m);
  py::class_<Scenario>(m, "Scenario", "A scenario as it was understood, read-only.")
      .def_readonly("name", &Scenario::name)
      .def_readonly("description", &Scenario::description)
      .def_readonly("model", &Scenario::model)
      .def_property_readonly("weights",
                             [](const Scenario& s) { return std::string(name(s.weights)); })
      .def_readonly("gpu", &Scenario::gpu)
      .def_property_readonly("tp", [](const Scenario& s) { return s.parallel.tp; })
      .def_property_readonly("pp", [](const Scenario& s) { return s.parallel.pp; })
      .def_property_readonly("ep", [](const Scenario& s) { return s.parallel.ep; })
      .def_property_readonly("dp", [](const Scenario& s) { return s.parallel.dp; })
      .def_property_readonly("gpus", [](const Scenario& s) { return s.parallel.gpus(); })
      .def_readonly("replicas", &Scenario::replicas)
      .def_readonly("router", &Scenario::router)
      .def_readonly("engine", &Scenario::engine)
      .def_readonly("knobs", &Scenario::knobs)
      .def_readonly("num_gpu_blocks", &Scenario::num_gpu_blocks)
      .def_readonly("workload", &Scenario::workload)
      .def_readonly("slo", &Scenario::slo)
      .def_readonly("prices", &Scenario::prices)
      .def_readonly("seed", &Scenario::seed)
      .def_readonly("sweep", &Scenario::sweep)
      .def_readonly("file", &Scenario::file)
      .def_readonly("resolved_yaml", &Scenario::resolved_yaml);
  m.def("read_scenario", &read_scenario_text, py::arg("text"), py::arg("file"),
        py::arg("overrides"), "Reads YAML text; `file` is where it lies, for messages and data.");
  m.def(
      "locate_scenario", [](const std::string& n) { return read_scenario(n).file; },
      py::arg("path_or_name"), "Path of the scenario file that is meant; it is one that reads.");
  m.def("text_of_flags", &text_of_flags, py::arg("args"), py::arg("loaded"),
        "The scenario that the command's flags make, as YAML.");
  m.def(
      "overrides_of_flags",
      [](const std::vector<std::string>& args, const Scenario& s) {
        const auto flags = parse_flags(args);
        if (flags.has("spread"))
          throw InputError("spread goes with isl and osl, not beside a scenario: set its lengths");
        return cli::overrides_of(flags, s.workload.kind);
      },
      py::arg("args"), py::arg("scenario"));
  m.def("flag_names", &flag_names);
  m.def(
      "parse_yaml",
      [](const std::string& text, const std::string& file) {
        return plain(Value::from_text(text, file));
      },
      py::arg("text"), py::arg("file"), "Maps, lists and texts as written.");
}

}  // namespace servegrid::python
