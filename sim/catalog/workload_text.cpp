// A workload as YAML that reads back as the same workload.
#include <fmt/core.h>

#include <vector>

#include "catalog/load.hpp"
#include "catalog/names.hpp"
#include "catalog/tree.hpp"
#include "catalog/workload_load.hpp"

namespace servegrid::catalog {

using units::Dimension;
using units::exact;

namespace {

/// "{a: 1, b: 2}" of what was added.
class Flow {
 public:
  void add(const std::string& key, const std::string& value) {
    out_ += fmt::format("{}{}: {}", out_.empty() ? "" : ", ", key, value);
  }
  void add(const std::string& key, double value) { add(key, fmt::format("{}", value)); }
  [[nodiscard]] std::string text() const { return "{" + out_ + "}"; }
  [[nodiscard]] bool empty() const { return out_.empty(); }

 private:
  std::string out_;
};

std::string tokens(double n) {
  return exact(n, Dimension::tokens);
}
std::string tokens(std::int64_t n) {
  return tokens(static_cast<double>(n));
}
std::string seconds(double s) {
  return exact(s, Dimension::seconds);
}
std::string rate(double r) {
  return exact(r, Dimension::hertz);
}
std::string quoted(const std::string& s) {
  return yaml_scalar(s, true);
}

std::string one(const char* kind, const std::string& how) {
  return fmt::format("{{{}: {}}}", kind, how);
}

std::string empirical_text(const LengthSpec& length) {
  if (!length.file.empty()) {
    return one("csv",
               fmt::format("{{file: {}, column: {}}}", quoted(length.file), quoted(length.column)));
  }
  std::string out;
  for (const LengthSpec::Bin& b : length.bins) {
    out += fmt::format("{}[{}, {}, {}]", out.empty() ? "" : ", ", tokens(b.low), tokens(b.high),
                       b.weight);
  }
  return one("histogram", "[" + out + "]");
}

std::string length_text(const LengthSpec& length) {
  const std::string limit = length.limit > 0 ? ", limit: " + tokens(length.limit) : std::string();
  switch (length.kind) {
    case LengthSpec::Kind::fixed:
      return tokens(length.mean);
    case LengthSpec::Kind::uniform:
      return one("uniform", fmt::format("[{}, {}]", tokens(length.low), tokens(length.high)));
    case LengthSpec::Kind::lognormal:
      return one("lognormal", fmt::format("{{mean: {}, sigma: {}{}}}", tokens(length.mean),
                                          length.sigma, limit));
    case LengthSpec::Kind::normal:
      return one("normal", fmt::format("{{mean: {}, sigma: {}{}}}", tokens(length.mean),
                                       tokens(length.sigma), limit));
    case LengthSpec::Kind::zipf:
      return one("zipf", fmt::format("{{low: {}, high: {}, exponent: {}}}", tokens(length.low),
                                     tokens(length.high), length.exponent));
    case LengthSpec::Kind::empirical:
      return empirical_text(length);
  }
  return {};
}

void add_request(Flow& out, const RequestSpec& r, bool turns) {
  if (turns) {
    out.add("history", tokens(r.history));
    out.add("turn_input", length_text(r.turn_input));
    out.add("output", length_text(r.output));
    out.add("turns", std::to_string(r.turns));
  } else if (r.pairs) {
    Flow pairs;
    pairs.add("csv", quoted(r.pairs_file));
    pairs.add("prompt", quoted(r.pairs_prompt));
    pairs.add("output", quoted(r.pairs_output));
    out.add("lengths", pairs.text());
  } else {
    out.add("prompt", length_text(r.prompt));
    out.add("output", length_text(r.output));
    if (r.correlation != 0) out.add("correlation", r.correlation);
  }
  out.add("shared_prefix", tokens(r.shared_prefix));
}

void add_arrivals(Flow& out, const WorkloadSpec& w) {
  const ArrivalSpec& a = w.arrivals;
  if (a.ramp == ArrivalSpec::Ramp::none) {
    out.add("rate", rate(w.rate));
  } else {
    Flow ramp;
    ramp.add("strategy", a.ramp == ArrivalSpec::Ramp::linear ? "linear" : "exponential");
    ramp.add("from", rate(a.ramp_from));
    ramp.add("to", rate(a.ramp_to));
    out.add("ramp", ramp.text());
  }
  if (a.process == ArrivalSpec::Process::constant) out.add("process", "constant");
  if (a.process == ArrivalSpec::Process::gamma) out.add("burstiness", a.burstiness);
  if (a.on > 0) {
    Flow on_off;
    on_off.add("on", seconds(a.on));
    on_off.add("off", seconds(a.off));
    on_off.add("off_rate", rate(a.off_rate));
    out.add("on_off", on_off.text());
  }
  if (!a.curve.empty()) {
    std::string curve;
    for (const double value : a.curve)
      curve += fmt::format("{}{}", curve.empty() ? "" : ", ", value);
    out.add("daily", fmt::format("{{curve: [{}], period: {}}}", curve, seconds(a.period)));
  }
  if (a.spikes.empty()) return;
  std::string spikes;
  for (const ArrivalSpec::Spike& s : a.spikes) {
    spikes += fmt::format("{}{{at: {}, duration: {}, factor: {}}}", spikes.empty() ? "" : ", ",
                          seconds(s.at), seconds(s.duration), s.factor);
  }
  out.add("spikes", "[" + spikes + "]");
}

std::string slo_flow(const SloSpec& slo) {
  Flow out;
  if (slo.ttft) out.add("ttft", seconds(*slo.ttft));
  if (slo.tpot) out.add("tpot", seconds(*slo.tpot));
  if (slo.e2el) out.add("e2el", seconds(*slo.e2el));
  return out.empty() ? "" : out.text();
}

std::string classes_text(const WorkloadSpec& w, bool turns) {
  std::string out = w.classes.empty() ? "" : "  classes:\n";
  for (const ClassSpec& c : w.classes) {
    Flow one_class;
    one_class.add("share", exact(c.share, Dimension::ratio));
    one_class.add("tenant", quoted(c.tenant));
    one_class.add("priority", std::to_string(c.priority));
    if (c.timeout > 0) one_class.add("timeout", seconds(c.timeout));
    if (c.cancel_share > 0) {
      const std::string after = seconds(c.cancel_after);
      Flow cancel;
      cancel.add("share", exact(c.cancel_share, Dimension::ratio));
      cancel.add("after", c.cancel_exponential ? "{exponential: " + after + "}" : after);
      one_class.add("cancel", cancel.text());
    }
    if (const std::string slo = slo_flow(c.slo); !slo.empty()) one_class.add("slo", slo);
    add_request(one_class, c, turns);
    out += fmt::format("    {}: {}\n", yaml_scalar(c.name, false), one_class.text());
  }
  return out;
}

std::string trace_text(const WorkloadSpec& w) {
  const TraceSpec& t = w.trace;
  Flow out;
  out.add("file", quoted(t.file));
  out.add("format", quoted(t.format));
  if (!t.arrival.empty()) {
    out.add("columns", fmt::format("{{arrival: {}, prompt: {}, output: {}}}", quoted(t.arrival),
                                   quoted(t.prompt), quoted(t.output)));
  }
  if (t.format == "csv") out.add("time_unit", seconds(t.time_unit));
  out.add("speed", t.speed);
  if (t.to > 0) out.add("window", fmt::format("[{}, {}]", seconds(t.from), seconds(t.to)));
  if (t.max_tokens > 0) out.add("max_tokens", tokens(t.max_tokens));
  out.add("shared_prefix", tokens(w.shared_prefix));
  return "  trace: " + out.text() + "\n";
}

void add_slots(Flow& out, const WorkloadSpec& w) {
  out.add("concurrent", std::to_string(w.concurrent));
  const std::string think = seconds(w.think_time);
  out.add("think_time", w.think_exponential ? "{exponential: " + think + "}" : think);
  if (w.ramp_up > 0) out.add("ramp_up", seconds(w.ramp_up));
  if (w.rate > 0) add_arrivals(out, w);
}

std::string measuring_text(const WorkloadSpec& w) {
  std::string out = fmt::format("  requests: {}\n  warmup: ", w.requests);
  if (w.warmup_auto) {
    out += "auto\n";
  } else if (w.warmup_time > 0) {
    out += seconds(w.warmup_time) + "\n";
  } else {
    out += exact(w.warmup_fraction, Dimension::ratio) + "\n";
  }
  if (w.duration > 0) out += "  duration: " + seconds(w.duration) + "\n";
  if (w.precision > 0) out += "  precision: " + exact(w.precision, Dimension::ratio) + "\n";
  return out;
}

}  // namespace

std::string workload_text(const WorkloadSpec& w) {
  using Kind = WorkloadSpec::Kind;
  const bool turns = w.kind == Kind::conversations;
  std::string out = "workload:\n";
  if (w.kind == Kind::trace) return out + trace_text(w) + measuring_text(w);
  Flow load;
  const char* name = "batch";
  if (w.kind == Kind::conversations || w.kind == Kind::closed) {
    name = turns ? "conversations" : "closed";
    add_slots(load, w);
  } else if (w.kind == Kind::open) {
    name = "open";
    add_arrivals(load, w);
  }
  if (w.classes.empty()) add_request(load, w, turns);
  out += fmt::format("  {}: {}\n", name, load.text());
  return out + classes_text(w, turns) + measuring_text(w);
}

std::string slo_text(const SloSpec& slo) {
  const std::string flow = slo_flow(slo);
  return flow.empty() ? flow : "slo: " + flow + "\n";
}

}  // namespace servegrid::catalog
