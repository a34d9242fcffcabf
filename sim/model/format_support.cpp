#include "model/format_support.hpp"

namespace servegrid::model {

std::string weights_text(const catalog::Scenario& s) {
  const auto support = s.gpu.support_of(s.weights, s.engine.engine, s.engine.version);
  std::string text(catalog::name(s.weights));
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

}  // namespace servegrid::model
