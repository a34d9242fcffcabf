// Reserve: what an engine keeps besides weights and KV. Constants read from sources or fitted to
// start-up logs (docs/memory.md); the only part that carries a band.
#pragma once

#include <cstdint>
#include <string>

#include "catalog/scenario.hpp"

namespace servegrid::memory {

struct Reserve {
  std::int64_t activation = 0;  // peak of the dummy run [B]
  std::string activation_source;
  std::int64_t nontorch = 0;  // NCCL and other allocations outside torch, context when charged [B]
  std::string nontorch_source;
  std::int64_t graphs = 0;     // CUDA graphs [B]
  bool graphs_charged = true;  // otherwise they live in what the fraction leaves free
  std::int64_t context = 0;    // CUDA context outside the accounting [B]
  double band = 0;             // half-width [B]
};

Reserve reserve_of(const catalog::Scenario& scenario);

/// "0.19.0" >= "0.8": by numbers; text after them ("rc1", ".x", "-dev") does not count.
bool version_at_least(const std::string& version, const std::string& least);

}  // namespace servegrid::memory
