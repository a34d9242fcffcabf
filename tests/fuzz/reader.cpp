// Any bytes: read as each kind of data file they give a value or an InputError, and what is
// accepted is written, read and written again as the same text.
#include "catalog/reader.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "catalog/catalog.hpp"
#include "catalog/cluster_load.hpp"
#include "catalog/load.hpp"
#include "units/error.hpp"

using namespace servegrid;
using namespace servegrid::catalog;

namespace {

template <typename F>
void attempt(F run) {
  try {
    run();
  } catch (const InputError& e) {
    if (std::string(e.what()).empty()) std::abort();
  }
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  attempt([&] {
    Value v = Value::from_text(text, "fuzz.yaml");
    const std::string dumped = v.dump();
    const Value again = Value::from_text(dumped, "dumped.yaml");
    require(again.dump() == dumped);
    require(again.flow() == v.flow());
    attempt([&] { v.clone().set("a.b.0", "+10%", "--set"); });
    attempt([&] { (void)load_gpu(v.clone(), "fuzz", "fuzz.yaml"); });
    attempt([&] { (void)load_model(v.clone(), "fuzz", "fuzz.yaml"); });
    attempt([&] { (void)load_engine(v.clone(), "fuzz", "fuzz.yaml"); });
    attempt([&] { (void)load_fabric(v.clone(), "fuzz", "fuzz.yaml"); });
    attempt([&] { (void)load_prices(v.clone(), "fuzz", "fuzz.yaml"); });
  });
  attempt([&] {
    const Scenario s = read_scenario_text(text, "fuzz.yaml");
    require(read_scenario_text(s.resolved_yaml, "fuzz.yaml").resolved_yaml == s.resolved_yaml);
  });
  return 0;
}
