// GPUs, models, engines and price sheets, read-only.
#include "catalog/catalog.hpp"

#include "core.hpp"

namespace servegrid::python {

using namespace catalog;

namespace {

std::string fabric_kind(const Fabric& f) {
  switch (f.kind) {
    case FabricKind::switched:
      return "switched";
    case FabricKind::full_mesh:
      return "full-mesh";
    case FabricKind::pcie:
      return "pcie";
    case FabricKind::none:
      break;
  }
  return "none";
}

std::string attention_kind(const Attention& a) {
  switch (a.kind) {
    case AttentionKind::window:
      return "window";
    case AttentionKind::mla:
      return "mla";
    case AttentionKind::linear:
      return "linear";
    case AttentionKind::mamba:
      return "mamba";
    case AttentionKind::full:
      break;
  }
  return "full";
}

std::vector<std::string> names_of(const std::vector<Format>& formats) {
  std::vector<std::string> names;
  for (const Format f : formats) names.emplace_back(name(f));
  return names;
}

void bind_gpu(py::module_& m) {
  py::class_<Fact>(m, "Fact", "Where a value of a profile comes from.")
      .def_readonly("path", &Fact::path)
      .def_readonly("value", &Fact::value)
      .def_readonly("source", &Fact::source)
      .def_readonly("date", &Fact::date)
      .def_readonly("note", &Fact::note);
  py::class_<Fabric>(m, "Fabric", "Scale-up fabric inside one domain.")
      .def_property_readonly("kind", &fabric_kind)
      .def_readonly("name", &Fabric::name)
      .def_readonly("links", &Fabric::links)
      .def_readonly("link_bandwidth", &Fabric::link_bandwidth, "[B/s] per link and direction")
      .def_readonly("domain", &Fabric::domain, "GPUs in one domain")
      .def_readonly("in_network_reduction", &Fabric::in_network_reduction)
      .def_property_readonly("one_way", &Fabric::one_way, "[B/s] of a GPU over all links");
  py::class_<Memory>(m, "Memory", "Device memory of a GPU.")
      .def_readonly("type", &Memory::type)
      .def_readonly("label_bytes", &Memory::label_bytes, "the number on the box [B]")
      .def_readonly("driver_bytes", &Memory::driver_bytes, "what the driver reports [B]")
      .def_readonly("torch_bytes", &Memory::torch_bytes, "what torch sees [B]")
      .def_readonly("bandwidth", &Memory::bandwidth, "data sheet [B/s]")
      .def_readonly("cache_bytes", &Memory::cache_bytes, "last-level cache [B], 0 = not known");
  py::class_<Gpu>(m, "Gpu",
                  "One GPU platform as its data sheet, driver and measurements describe it.")
      .def_readonly("name", &Gpu::name)
      .def_readonly("title", &Gpu::title)
      .def_readonly("vendor", &Gpu::vendor)
      .def_readonly("architecture", &Gpu::architecture)
      .def_readonly("aliases", &Gpu::aliases)
      .def_readonly("status", &Gpu::status)
      .def_readonly("compute_units", &Gpu::compute_units)
      .def_readonly("memory", &Gpu::memory)
      .def_readonly("peak", &Gpu::peak, "dense FLOP/s by arithmetic")
      .def_property_readonly("hardware_formats",
                             [](const Gpu& g) { return names_of(g.hardware_formats); })
      .def_readonly("fabric", &Gpu::fabric)
      .def_readonly("host_bandwidth", &Gpu::host_bandwidth, "[B/s] each way")
      .def_readonly("nic_bandwidth", &Gpu::nic_bandwidth, "[B/s] per GPU and direction")
      .def_readonly("power", &Gpu::power, "board maximum [W]")
      .def_readonly("facts", &Gpu::facts)
      .def_readonly("overridden", &Gpu::overridden, "paths changed by an override")
      .def_readonly("file", &Gpu::file)
      .def_property_readonly("engine_bytes", &Gpu::engine_bytes,
                             "bytes that an engine's memory fraction applies to [B]");
}

void bind_model(py::module_& m) {
  py::class_<Attention>(m, "Attention", "Attention of one kind of layer.")
      .def_property_readonly("kind", &attention_kind)
      .def_readonly("heads", &Attention::heads)
      .def_readonly("kv_heads", &Attention::kv_heads)
      .def_readonly("head_dim", &Attention::head_dim)
      .def_readonly("window", &Attention::window, "tokens, 0 = all");
  py::class_<Mlp>(m, "Mlp", "Feed-forward part of one kind of layer.")
      .def_readonly("intermediate", &Mlp::intermediate)
      .def_readonly("experts", &Mlp::experts)
      .def_readonly("active_experts", &Mlp::active_experts)
      .def_readonly("moe_intermediate", &Mlp::moe_intermediate)
      .def_readonly("shared_intermediate", &Mlp::shared_intermediate);
  py::class_<LayerGroup>(m, "LayerGroup", "`count` layers of one kind.")
      .def_readonly("count", &LayerGroup::count)
      .def_readonly("attention", &LayerGroup::attention)
      .def_readonly("mlp", &LayerGroup::mlp);
  py::class_<Model>(m, "Model", "A transformer by its dimensions.")
      .def_readonly("name", &Model::name)
      .def_readonly("title", &Model::title)
      .def_readonly("family", &Model::family)
      .def_readonly("aliases", &Model::aliases)
      .def_readonly("nominal_billions", &Model::nominal_billions)
      .def_readonly("hidden", &Model::hidden)
      .def_readonly("vocab", &Model::vocab)
      .def_readonly("max_context", &Model::max_context)
      .def_property_readonly("depth", &Model::depth)
      .def_property_readonly("native_format",
                             [](const Model& v) { return std::string(name(v.native_format)); })
      .def_readonly("layers", &Model::layers)
      .def_readonly("source", &Model::source)
      .def_readonly("file", &Model::file);
}

std::string policy_name(const EngineProfile& e) {
  return policy_names().at(static_cast<std::size_t>(e.policy));
}

void bind_engine(py::module_& m) {
  py::class_<Knobs>(m, "Knobs", "An engine's settings, resolved for one GPU; vLLM's names.")
      .def_readonly("max_num_seqs", &Knobs::max_num_seqs)
      .def_readonly("max_num_batched_tokens", &Knobs::max_num_batched_tokens)
      .def_readonly("memory_fraction", &Knobs::memory_fraction)
      .def_readonly("block_size", &Knobs::block_size)
      .def_readonly("enable_prefix_caching", &Knobs::enable_prefix_caching)
      .def_readonly("enable_chunked_prefill", &Knobs::enable_chunked_prefill)
      .def_readonly("max_model_len", &Knobs::max_model_len)
      .def_property_readonly("kv_cache",
                             [](const Knobs& k) { return std::string(name(k.kv_cache)); })
      .def_readonly("graph_sizes", &Knobs::graph_sizes);
  py::class_<EngineProfile>(m, "Engine", "A serving engine at a version.")
      .def_readonly("name", &EngineProfile::name)
      .def_readonly("engine", &EngineProfile::engine)
      .def_readonly("version", &EngineProfile::version)
      .def_readonly("date", &EngineProfile::date)
      .def_readonly("aliases", &EngineProfile::aliases)
      .def_property_readonly("policy", &policy_name)
      .def_readonly("facts", &EngineProfile::facts)
      .def_readonly("file", &EngineProfile::file);
}

void bind_prices(py::module_& m) {
  py::class_<Offer>(m, "Offer", "One GPU at one price.")
      .def_readonly("gpu", &Offer::gpu)
      .def_readonly("title", &Offer::title)
      .def_readonly("counts", &Offer::counts, "GPUs that can be rented together")
      .def_readonly("kind", &Offer::kind)
      .def_readonly("source", &Offer::source)
      .def_readonly("note", &Offer::note)
      .def("month", &Offer::month, py::arg("gpus"),
           "Price of so many GPUs a month; counts that are not sold are rounded up; < 0 if none.");
  py::class_<PriceSheet>(m, "PriceSheet", "A dated sheet of offers.")
      .def_readonly("name", &PriceSheet::name)
      .def_readonly("title", &PriceSheet::title)
      .def_readonly("date", &PriceSheet::date)
      .def_readonly("currency", &PriceSheet::currency)
      .def_readonly("source", &PriceSheet::source)
      .def_readonly("offers", &PriceSheet::offers)
      .def_readonly("file", &PriceSheet::file)
      .def("find", &PriceSheet::find, py::arg("gpu"), py::arg("gpus"),
           py::return_value_policy::reference_internal,
           "Cheapest offer that sells at least so many of that GPU together, or None.");
}

}  // namespace

void bind_catalog(py::module_& m) {
  bind_gpu(m);
  bind_model(m);
  bind_engine(m);
  bind_prices(m);
  // A catalogue is made anew each time: it reads what SERVEGRID_DATA says now.
  m.def("gpu_names", [] { return Catalog().gpu_names(); });
  m.def("model_names", [] { return Catalog().model_names(); });
  m.def("engine_names", [] { return Catalog().engine_names(); });
  m.def("price_names", [] { return Catalog().price_names(); });
  m.def("scenario_names", [] { return Catalog().scenario_names(); });
  m.def(
      "gpu", [](const std::string& n) { return Catalog().gpu(n); }, py::arg("name"));
  m.def(
      "model", [](const std::string& n) { return Catalog().model(n); }, py::arg("name"));
  m.def(
      "engine", [](const std::string& n) { return Catalog().engine(n); }, py::arg("name"));
  m.def(
      "prices", [](const std::string& n) { return Catalog().prices(n); }, py::arg("name"));
}

}  // namespace servegrid::python
