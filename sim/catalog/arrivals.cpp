// When requests arrive, and how the rate changes.
#include <cmath>

#include "catalog/load.hpp"
#include "catalog/names.hpp"
#include "catalog/workload_load.hpp"

namespace servegrid::catalog {

using units::Dimension;

namespace {

constexpr double longest = 1e7;  // [s]

double time_of(const Value& v, double low = 0) {
  return v.quantity(Dimension::seconds, low, longest);
}
double rate_of(const Value& v, double low = 1e-6) {
  return v.quantity(Dimension::hertz, low, 1e7);
}

void load_process(const Value& v, ArrivalSpec& a) {
  using Process = ArrivalSpec::Process;
  const Value process = v.find("process"), burstiness = v.find("burstiness");
  if (process.present()) {
    const std::string name = word(process);
    if (name == "gamma") {
      a.process = Process::gamma;
    } else if (name == "constant") {
      a.process = Process::constant;
    } else if (name != "poisson") {
      throw process.error("expected poisson, gamma or constant");
    }
  } else if (burstiness.present()) {
    a.process = Process::gamma;
  }
  if (burstiness.present()) {
    if (a.process != Process::gamma) throw burstiness.error("belongs to process: gamma");
    a.burstiness = burstiness.number(1e-3, 1e6);
  } else if (a.process == Process::gamma) {
    throw process.error("gamma needs 'burstiness': below 1 is burstier than Poisson");
  }
}

void load_on_off(const Value& v, ArrivalSpec& a) {
  a.on = time_of(v.at("on"), 1e-6);
  a.off = time_of(v.at("off"), 1e-6);
  if (const Value x = v.find("off_rate"); x.present()) a.off_rate = rate_of(x, 0);
  v.no_unknown_keys();
}

void load_curve(const Value& v, ArrivalSpec& a) {
  const Value curve = v.at("curve");
  double sum = 0;
  for (const Value& item : curve.items()) {
    a.curve.push_back(item.number(0, 1e9));
    sum += a.curve.back();
  }
  if (a.curve.size() < 2 || a.curve.size() > 100'000 || !(sum > 0)) {
    throw curve.error("expected 2 to 100000 relative rates, not all 0");
  }
  if (const Value x = v.find("period"); x.present()) a.period = time_of(x, 1e-3);
  v.no_unknown_keys();
}

void load_ramp(const Value& v, WorkloadSpec& w) {
  ArrivalSpec& a = w.arrivals;
  const Value strategy = v.at("strategy");
  const std::string name = word(strategy);
  if (name != "linear" && name != "exponential") {
    throw strategy.error("expected linear or exponential");
  }
  a.ramp = name == "linear" ? ArrivalSpec::Ramp::linear : ArrivalSpec::Ramp::exponential;
  a.ramp_from = rate_of(v.at("from"));
  a.ramp_to = rate_of(v.at("to"));
  v.no_unknown_keys();
  w.rate = (a.ramp_from + a.ramp_to) / 2;
}

void load_spikes(const Value& v, ArrivalSpec& a) {
  double end = 0;
  for (const Value& item : v.items()) {
    ArrivalSpec::Spike s{time_of(item.at("at")), time_of(item.at("duration"), 1e-6),
                         item.at("factor").number(0, 1e6)};
    item.no_unknown_keys();
    if (s.at < end) throw item.error("begins before the spike above it ends");
    end = s.at + s.duration;
    a.spikes.push_back(s);
    if (a.spikes.size() > 100'000) throw item.error("more than 100000 spikes");
  }
}

}  // namespace

void load_arrivals(const Value& v, WorkloadSpec& w) {
  const Value rate = v.find("rate"), ramp = v.find("ramp"), on_off = v.find("on_off"),
              daily = v.find("daily"), spikes = v.find("spikes");
  if (ramp.present() == rate.present()) {
    throw v.error("needs 'rate' (\"3 /s\"), or 'ramp' with its rates, not both");
  }
  if (rate.present()) w.rate = rate_of(rate);
  load_process(v, w.arrivals);
  if (static_cast<int>(ramp.present()) + static_cast<int>(on_off.present()) +
          static_cast<int>(daily.present()) >
      1) {
    throw v.error("has at most one of 'ramp', 'on_off' and 'daily'");
  }
  if (ramp.present()) load_ramp(ramp, w);
  if (on_off.present()) load_on_off(on_off, w.arrivals);
  if (daily.present()) load_curve(daily, w.arrivals);
  if (!spikes.present()) return;
  if (ramp.present()) throw spikes.error("spikes go by time, a ramp by requests: not both");
  load_spikes(spikes, w.arrivals);
}

}  // namespace servegrid::catalog
