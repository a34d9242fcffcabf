#include "policies.hpp"

#include "units/error.hpp"

namespace servegrid::python {

namespace {

using workload::Request;
using Kind = catalog::WorkloadSpec::Kind;

/// What a router or an admission policy sees of a request: what a real one could.
struct RequestView {
  std::int64_t id, user, prompt_tokens;
  int turn;
  double arrival;  // [s]
};

struct ReplicaView {
  int index;
  std::int64_t running, waiting, outstanding;
  std::int64_t blocks_used, context_tokens;
};

RequestView view_of(const Request& r) {
  return {r.id, r.user, r.prompt_tokens, r.turn, to_seconds(r.arrival)};
}

std::vector<ReplicaView> view_of(const cluster::Fleet& fleet, Ticks now) {
  std::vector<ReplicaView> views;
  views.reserve(fleet.replicas.size());
  for (std::size_t i = 0; i < fleet.replicas.size(); ++i) {
    const engine::Observation seen = fleet.replicas[i].observe(now);
    views.push_back({static_cast<int>(i), seen.running, seen.waiting, fleet.outstanding[i],
                     seen.blocks_used, seen.context_tokens});
  }
  return views;
}

class PythonRouter final : public cluster::Router {
 public:
  PythonRouter(py::object pick, const cluster::Fleet& fleet)
      : pick_(std::move(pick)), fleet_(fleet) {}
  int pick(const Request& request, Ticks now) override {
    return pick_(view_of(request), view_of(fleet_, now)).cast<int>();
  }

 private:
  py::object pick_;
  const cluster::Fleet& fleet_;
};

/// The scenario's source with lengths or arrivals drawn by Python.
class PythonSource final : public workload::Source {
 public:
  PythonSource(std::unique_ptr<Source> base, py::object lengths, py::object gap)
      : base_(std::move(base)), lengths_(std::move(lengths)), gap_(std::move(gap)) {}
  std::optional<Request> next_arrival() override {
    auto request = with_lengths(base_->next_arrival());
    if (!request || gap_.is_none()) return request;
    last_ += to_ticks(gap_(request->id, to_seconds(last_)).cast<double>());
    request->arrival = last_;
    return request;
  }
  std::optional<Request> on_end(const Request& request, Ticks now, bool completed) override {
    return with_lengths(base_->on_end(request, now, completed));
  }
  [[nodiscard]] std::int64_t total() const override { return base_->total(); }

 private:
  std::optional<Request> with_lengths(std::optional<Request> request) const {
    if (!request || lengths_.is_none()) return request;
    const auto [prompt, output] =
        lengths_(request->id).cast<std::pair<std::int64_t, std::int64_t>>();
    request->prompt_tokens = prompt;
    request->output_tokens = output;
    request->shared_prefix = std::min(request->shared_prefix, prompt);
    return request;
  }
  std::unique_ptr<Source> base_;
  py::object lengths_, gap_;
  Ticks last_ = 0;
};

}  // namespace

cluster::CustomPolicies hooks_of(const PythonPolicies& p, const catalog::Scenario& scenario) {
  const Kind kind = scenario.workload.kind;
  if (!p.lengths.is_none() && kind != Kind::closed && kind != Kind::open)
    throw InputError("a length sampler draws the lengths of a closed or open workload");
  if (!p.gap.is_none() && kind != Kind::open)
    throw InputError("an arrival process needs an open workload (a request rate)");
  cluster::CustomPolicies hooks;
  if (!p.route.is_none())
    hooks.router = [&p](const cluster::Fleet& fleet) {
      return std::make_unique<PythonRouter>(p.route, fleet);
    };
  if (!p.admit.is_none())
    hooks.admission = [&p](const Request& request, Ticks now, const cluster::Fleet& fleet) {
      return p.admit(view_of(request), view_of(fleet, now)).cast<std::string>();
    };
  if (!p.lengths.is_none() || !p.gap.is_none())
    hooks.source = [&p](std::unique_ptr<workload::Source> base) {
      return std::make_unique<PythonSource>(std::move(base), p.lengths, p.gap);
    };
  return hooks;
}

void bind_policies(py::module_& m) {
  py::class_<RequestView>(m, "RequestView", "A request as a router or an admission policy sees it.")
      .def_readonly("id", &RequestView::id)
      .def_readonly("user", &RequestView::user, "slot or user of a closed loop; -1 = none")
      .def_readonly("turn", &RequestView::turn)
      .def_readonly("prompt_tokens", &RequestView::prompt_tokens)
      .def_readonly("arrival", &RequestView::arrival, "[s]");
  py::class_<ReplicaView>(m, "ReplicaView", "A replica as a router or an admission policy sees it.")
      .def_readonly("index", &ReplicaView::index)
      .def_readonly("running", &ReplicaView::running, "requests in the batch")
      .def_readonly("waiting", &ReplicaView::waiting, "requests in the queue")
      .def_readonly("outstanding", &ReplicaView::outstanding, "requests sent and not ended")
      .def_readonly("blocks_used", &ReplicaView::blocks_used, "KV blocks of running sequences")
      .def_readonly("context_tokens", &ReplicaView::context_tokens, "of running sequences");
}

}  // namespace servegrid::python
