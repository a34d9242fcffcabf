#include "sleeps.hpp"

#include <simgrid/s4u.hpp>

#include "clock.hpp"

namespace servegrid::bench {

double sleep_seconds(int count) {
  namespace s4u = simgrid::s4u;
  int argc = 2;
  char name[] = "bench";
  char quiet[] = "--log=xbt_cfg.thres:warning";
  char* argv[] = {name, quiet, nullptr};
  s4u::Engine engine(&argc, argv);
  s4u::NetZone* zone = s4u::create_full_zone("zone");
  s4u::Host* host = zone->create_host("host", 1.0);
  zone->seal();
  s4u::Actor::create("sleeper", host, [count] {
    for (int i = 1; i <= count; ++i) s4u::this_actor::sleep_until(i * 1e-3);
  });
  const double start = processor_seconds();
  engine.run();
  return processor_seconds() - start;
}

}  // namespace servegrid::bench
