// Any bytes: read as a plan they give a plan or an InputError, and what is accepted is written,
// read and written again as the same text; objectives likewise.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plan/demand.hpp"
#include "plan/plan_file.hpp"
#include "units/error.hpp"

using namespace servegrid;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const plan::PlanSpec spec = plan::read_plan_text(text, "fuzz.yaml");
    if (plan::read_plan_text(spec.text, "again.yaml").text != spec.text) std::abort();
    static_cast<void>(plan::demand_of(spec));
  } catch (const InputError& e) {
    if (std::string(e.what()).empty()) std::abort();
  }
  try {
    const plan::Objective o = plan::parse_objective(text);
    if (plan::parse_objective(o.text()).text() != o.text()) std::abort();
  } catch (const InputError&) {
  }
  return 0;
}
