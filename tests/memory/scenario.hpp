// Scenarios written by hand.
#pragma once

#include "../model/models.hpp"
#include "memory/ledger.hpp"

namespace servegrid::test {

inline constexpr double gib = 1024.0 * 1024.0 * 1024.0;

inline catalog::Gpu gpu(const char* name, double label, double torch_gib) {
  catalog::Gpu g;
  g.name = name;
  g.vendor = "NVIDIA";
  g.memory.label_bytes = label;
  g.memory.torch_bytes = torch_gib * gib;
  g.fabric.kind = catalog::FabricKind::switched;
  g.fabric.domain = 8;
  g.hardware_formats = {catalog::Format::fp8, catalog::Format::int8};
  g.peak = {{"bf16", 1e15}, {"fp8", 2e15}, {"int8", 2e15}, {"fp4", 4e15}};
  return g;
}

inline catalog::Scenario scenario(catalog::Model model, catalog::Gpu gpu,
                                  catalog::Format weights = catalog::Format::bf16, int tp = 1) {
  catalog::Scenario s;
  s.model = std::move(model);
  s.gpu = std::move(gpu);
  s.weights = weights;
  s.parallel.tp = tp;
  s.engine.name = s.engine.engine = "vllm";
  s.engine.version = "0.24";
  s.engine.memory.kind = "vllm";
  s.engine.memory.graphs_charged = true;
  return s;
}

}  // namespace servegrid::test
