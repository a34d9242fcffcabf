// A measurement as text, for a pipe between processes.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "plan/probe.hpp"
#include "units/error.hpp"

namespace servegrid::plan {

namespace {

// Every number of a measurement, once: written and read in this order.
template <typename M, typename F>
void each_number(M& m, F use) {
  use(m.load), use(m.attainment), use(m.request_rate), use(m.input_rate), use(m.cached_rate);
  use(m.output_rate), use(m.ttft_mean), use(m.tpot_mean), use(m.e2el_mean), use(m.running);
  use(m.waiting), use(m.kv_mean), use(m.kv_peak), use(m.duration), use(m.prefill_seconds);
  use(m.decode_seconds);
  for (auto& seconds : m.seconds_by_bound) use(seconds);
}

}  // namespace

std::string to_text(const Measured& m) {
  nlohmann::json latencies = nlohmann::json::array(), numbers = nlohmann::json::array();
  for (const double v : m.latencies)
    latencies.push_back(std::isnan(v) ? nlohmann::json(nullptr) : nlohmann::json(v));
  each_number(m, [&](const double& v) { numbers.push_back(v); });
  return nlohmann::json{{"numbers", numbers},          {"latencies", latencies},
                        {"requests", m.requests},      {"counted", m.counted},
                        {"backlog", m.backlog},        {"rejected", m.rejected},
                        {"preemptions", m.preemptions}}
      .dump();
}

Measured measured_from_text(const std::string& text) {
  try {
    const auto j = nlohmann::json::parse(text);
    Measured m;
    std::size_t i = 0;
    each_number(m, [&](double& v) { v = j.at("numbers").at(i++).get<double>(); });
    for (const auto& v : j.at("latencies"))
      m.latencies.push_back(v.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                        : v.get<double>());
    m.requests = j.at("requests");
    m.counted = j.at("counted");
    m.backlog = j.at("backlog");
    m.rejected = j.at("rejected");
    m.preemptions = j.at("preemptions");
    return m;
  } catch (const nlohmann::json::exception& e) {
    throw RunError(std::string("a worker's measurement cannot be read: ") + e.what());
  }
}

}  // namespace servegrid::plan
