#include "model/format_support.hpp"

namespace servegrid::model {
namespace {

std::string format_text(const catalog::Scenario& s, catalog::Format format) {
  const auto support = s.gpu.support_of(format, s.engine.engine, s.engine.version);
  std::string text(catalog::name(format));
  const std::string math = ": " + std::string(catalog::name(support.compute)) + " math)";
  switch (support.support) {
    case catalog::Support::dequantised:
      return text + " (dequantised" + math;
    case catalog::Support::emulated:
      return text + " (emulated" + math;
    case catalog::Support::native:
    case catalog::Support::refused:
      break;
  }
  return text;
}

}  // namespace

std::string weights_text(const catalog::Scenario& s) {
  return format_text(s, s.weights);
}

std::string kv_cache_text(const catalog::Scenario& s) {
  return format_text(s, s.knobs.kv_cache);
}

std::string formats_text(const catalog::Scenario& s) {
  const std::string kv = kv_cache_text(s);
  const bool plain = kv == catalog::name(s.knobs.kv_cache);
  return weights_text(s) + (plain ? "" : ", KV cache " + kv);
}

}  // namespace servegrid::model
