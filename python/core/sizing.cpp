// The memory ledger and one step, operator by operator.
#include <array>

#include "core.hpp"
#include "memory/ledger.hpp"
#include "model/deployment.hpp"
#include "model/format_support.hpp"
#include "roofline/step_model.hpp"
#include "study/run.hpp"
#include "units/error.hpp"

namespace servegrid::python {

namespace {

memory::Rule rule_of(const std::string& text) {
  if (text == "engine") return memory::Rule::engine;
  if (text == "articles") return memory::Rule::articles;
  if (text == "weights_only") return memory::Rule::weights_only;
  throw InputError("rule is one of engine, articles, weights_only; not '" + text + "'");
}

memory::Ledger size(const catalog::Scenario& scenario, const std::string& rule,
                    std::int64_t context_tokens, bool nominal) {
  if (context_tokens < 1) throw InputError("context needs at least one token");
  memory::Options options;
  options.rule = rule_of(rule);
  options.context_tokens = context_tokens;
  options.nominal_parameters = nominal;
  model::check(model::deployment_of(scenario));
  return memory::size(scenario, options);
}

constexpr std::array<const char*, 5> bound_names = {"compute", "memory", "fabric", "latency",
                                                    "host"};

struct Explained {
  roofline::StepBreakdown step;
  std::string trust;
  std::int64_t context_tokens = 0;
};

Explained explain(const catalog::Scenario& scenario, std::int64_t sequences, std::int64_t context,
                  std::int64_t prefill, std::int64_t cached) {
  if (sequences < 0 || context < 0 || prefill < 0 || cached < 0)
    throw InputError("batch, context, prefill and cached are not negative");
  if (sequences > 1'000'000 || context > 1'000'000'000 || prefill > 1'000'000'000 ||
      cached > 1'000'000'000)
    throw InputError("at most 1,000,000 sequences and 1,000,000,000 tokens");
  if (sequences == 0 && prefill == 0)
    throw InputError("nothing to explain: give batch, prefill, or both");
  model::check(model::deployment_of(scenario));
  const auto steps = study::step_model_of(scenario);
  roofline::Batch batch;
  batch.sequences = sequences;
  batch.context[0] = sequences * context;
  std::size_t c = 1;
  for (const auto window : steps->windows())
    batch.context.at(c++) = sequences * std::min(context, window);
  if (prefill > 0) batch.prefill.push_back({prefill, cached, true});
  return {steps->explain(batch), steps->trust(), batch.context[0]};
}

void bind_ledger(py::module_& m) {
  using memory::Ledger;
  using memory::Line;
  py::class_<Line>(m, "LedgerLine", "One line of the memory ledger, per GPU.")
      .def_readonly("name", &Line::name)
      .def_readonly("bytes", &Line::bytes, "negative = taken away [B]")
      .def_readonly("source", &Line::source);
  py::class_<Ledger>(m, "Ledger", "What is resident on one GPU, and what is left for KV.")
      .def_readonly("fits", &Ledger::fits)
      .def_readonly("may_not_fit", &Ledger::may_not_fit)
      .def_readonly("weights_bytes_per_gpu", &Ledger::weights_bytes_per_gpu)
      .def_readonly("kv_bytes_per_token_per_gpu", &Ledger::kv_bytes_per_token_per_gpu)
      .def_readonly("kv_bytes_per_gpu", &Ledger::kv_bytes_per_gpu)
      .def_readonly("reserve_bytes", &Ledger::reserve_bytes)
      .def_readonly("reserve_band_bytes", &Ledger::reserve_band_bytes)
      .def_readonly("block_tokens", &Ledger::block_tokens)
      .def_readonly("num_blocks", &Ledger::num_blocks)
      .def_readonly("kv_capacity_tokens", &Ledger::kv_capacity_tokens)
      .def_readonly("conversations", &Ledger::conversations)
      .def_readonly("conversations_whole", &Ledger::conversations_whole)
      .def_readonly("context_tokens", &Ledger::context_tokens)
      .def_readonly("gpus_needed", &Ledger::gpus_needed, "0 = none up to 64")
      .def_readonly("lines", &Ledger::lines)
      .def_readonly("note", &Ledger::note);
}

void bind_step(py::module_& m) {
  using roofline::OperatorTime;
  py::class_<OperatorTime>(m, "Operator", "One operator of a step, all its calls together.")
      .def_readonly("name", &OperatorTime::name)
      .def_readonly("count", &OperatorTime::count)
      .def_readonly("flops", &OperatorTime::flops, "per GPU")
      .def_readonly("bytes", &OperatorTime::bytes, "of HBM, per GPU")
      .def_readonly("fabric_bytes", &OperatorTime::fabric_bytes, "sent per GPU")
      .def_readonly("seconds", &OperatorTime::seconds)
      .def_property_readonly(
          "bound",
          [](const OperatorTime& o) {
            return std::string(bound_names.at(static_cast<std::size_t>(o.bound)));
          })
      .def_readonly("efficiency", &OperatorTime::efficiency)
      .def_readonly("source", &OperatorTime::source);
  py::class_<Explained>(m, "Step", "One engine step.")
      .def_property_readonly("operators", [](const Explained& e) { return e.step.operators; })
      .def_property_readonly("seconds", [](const Explained& e) { return e.step.seconds; })
      .def_property_readonly("flops", [](const Explained& e) { return e.step.flops; })
      .def_property_readonly("bytes", [](const Explained& e) { return e.step.bytes; })
      .def_property_readonly("seconds_by_bound",
                             [](const Explained& e) {
                               std::map<std::string, double> out;
                               for (std::size_t i = 0; i < bound_names.size(); ++i)
                                 out[bound_names.at(i)] = e.step.seconds_by_bound.at(i);
                               return out;
                             })
      .def_readonly("context_tokens", &Explained::context_tokens)
      .def_readonly("trust", &Explained::trust);
}

}  // namespace

void bind_sizing(py::module_& m) {
  bind_ledger(m);
  bind_step(m);
  m.def("size", &size, py::arg("scenario"), py::arg("rule"), py::arg("context_tokens"),
        py::arg("nominal"), py::call_guard<py::gil_scoped_release>());
  m.def("explain", &explain, py::arg("scenario"), py::arg("batch"), py::arg("context"),
        py::arg("prefill"), py::arg("cached"), py::call_guard<py::gil_scoped_release>());
  m.def(
      "conversation_tokens",
      [](const catalog::Scenario& s) { return study::conversation_tokens(s.workload); },
      py::arg("scenario"), "Tokens a conversation or request holds at its end, on average.");
  m.def("weights_text", &model::weights_text, py::arg("scenario"));
  m.def(
      "parameters",
      [](const catalog::Model& model) {
        return std::pair(memory::parameters(model), memory::active_parameters(model));
      },
      py::arg("model"), "Parameters: in all, and active for a token.");
}

}  // namespace servegrid::python
