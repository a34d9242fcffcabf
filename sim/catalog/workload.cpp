// The workload of a scenario.
#include <fmt/core.h>

#include <array>
#include <cmath>

#include "catalog/load.hpp"
#include "catalog/names.hpp"
#include "catalog/scenario_load.hpp"
#include "catalog/workload_load.hpp"

namespace servegrid::catalog {

using units::Dimension;

namespace {

constexpr std::int64_t max_concurrent = 10'000'000, max_requests = 1'000'000'000;

void load_think_time(const Value& v, WorkloadSpec& w) {
  if (!v.is_map()) {
    w.think_time = v.quantity(Dimension::seconds, 0, 1e7);
    return;
  }
  w.think_time = v.at("exponential").quantity(Dimension::seconds, 0, 1e7);
  w.think_exponential = true;
  v.no_unknown_keys();
}

void load_shared_prefix(const Value& v, RequestSpec& r) {
  if (const Value x = v.find("shared_prefix"); x.present()) r.shared_prefix = whole_tokens(x, 0);
}

/// The shared prefix is part of what it is in: it cannot be longer.
void check_prefix(const Value& v, const RequestSpec& r, double shortest, const char* part) {
  if (static_cast<double>(r.shared_prefix) > shortest) {
    throw v.find("shared_prefix")
        .error(fmt::format("is longer than the {} it is part of ({:.0f} tokens)", part, shortest));
  }
}

void load_turns(const Value& v, RequestSpec& r, const std::string& beside) {
  if (const Value x = v.find("history"); x.present()) r.history = whole_tokens(x, 0);
  r.turn_input = load_length(v.at("turn_input"), 1, beside);
  r.output = load_length(v.at("output"), 1, beside);
  if (const Value x = v.find("turns"); x.present()) r.turns = x.integer(1, 1'000'000);
  load_shared_prefix(v, r);
  check_prefix(v, r, static_cast<double>(r.history), "history");
}

double shortest(const LengthSpec& length) {
  if (length.kind == LengthSpec::Kind::uniform || length.kind == LengthSpec::Kind::zipf) {
    return length.low;
  }
  return length.mean;
}

void load_lengths(const Value& v, RequestSpec& r, const std::string& beside) {
  if (const Value x = v.find("lengths"); x.present()) {
    for (const char* other : {"prompt", "output", "correlation"}) {
      if (v.find(other).present()) {
        throw v.find(other).error("'lengths' gives both lengths: leave this out");
      }
    }
    load_pairs(x, r, beside);
    load_shared_prefix(v, r);
    return;
  }
  r.prompt = load_length(v.at("prompt"), 1, beside);
  r.output = load_length(v.at("output"), 1, beside);
  if (const Value x = v.find("correlation"); x.present()) {
    r.correlation = x.number(-1, 1);
    if (r.prompt.kind == LengthSpec::Kind::fixed || r.output.kind == LengthSpec::Kind::fixed) {
      throw x.error("a fixed length is correlated with nothing");
    }
  }
  load_shared_prefix(v, r);
  check_prefix(v, r, shortest(r.prompt), "prompt");
}

void load_cancel(const Value& v, ClassSpec& c) {
  c.cancel_share = v.at("share").quantity(Dimension::ratio, 0, 1);
  Value after = v.at("after");
  if (after.is_map()) {
    c.cancel_exponential = true;
    const Value mean = after.at("exponential");
    after.no_unknown_keys();
    after = mean;
  }
  c.cancel_after = after.quantity(Dimension::seconds, 1e-6, 1e7);
  v.no_unknown_keys();
}

ClassSpec load_class(const std::string& name, const Value& v, bool turns,
                     const std::string& beside) {
  ClassSpec c;
  c.name = name;
  c.tenant = name;
  if (name.empty() || name.size() > 64) throw v.error("a class has a name of 1 to 64 characters");
  c.share = v.at("share").quantity(Dimension::ratio, 0, 1e9);
  if (const Value x = v.find("tenant"); x.present()) c.tenant = word(x);
  if (const Value x = v.find("priority"); x.present()) {
    c.priority = static_cast<int>(x.integer(-1'000'000, 1'000'000));
  }
  if (const Value x = v.find("timeout"); x.present()) {
    c.timeout = x.quantity(Dimension::seconds, 1e-6, 1e7);
  }
  if (const Value x = v.find("cancel"); x.present()) load_cancel(x, c);
  if (const Value x = v.find("slo"); x.present()) load_slo(x, c.slo);
  turns ? load_turns(v, c, beside) : load_lengths(v, c, beside);
  v.no_unknown_keys();
  return c;
}

// The mean request of a mix stands for it wherever one length is needed.
void average_classes(WorkloadSpec& w) {
  double sum = 0, prompt = 0, output = 0, input = 0, history = 0, turns = 0;
  for (const ClassSpec& c : w.classes) {
    sum += c.share;
    prompt += c.share * c.prompt.mean;
    output += c.share * c.output.mean;
    input += c.share * c.turn_input.mean;
    history += c.share * static_cast<double>(c.history);
    turns += c.share * static_cast<double>(c.turns);
  }
  w.prompt.mean = prompt / sum;
  w.output.mean = output / sum;
  w.turn_input.mean = input / sum;
  w.history = std::llround(history / sum);
  w.turns = std::llround(turns / sum);
}

/// What each request is: of `load` itself, or one of several classes.
void load_requests(const Value& load, const Value& classes, bool turns, WorkloadSpec& w,
                   const std::string& beside) {
  if (!classes.present()) {
    turns ? load_turns(load, w, beside) : load_lengths(load, w, beside);
    return;
  }
  double sum = 0;
  for (const auto& [name, v] : classes.entries()) {
    w.classes.push_back(load_class(name, v, turns, beside));
    sum += w.classes.back().share;
    if (w.classes.size() > 1000) throw v.error("more than 1000 classes");
  }
  if (!(sum > 0)) throw classes.error("needs at least one class with a share above 0");
  average_classes(w);
}

void load_slots(const Value& v, WorkloadSpec& w) {
  w.concurrent = v.at("concurrent").integer(1, max_concurrent);
  if (const Value x = v.find("think_time"); x.present()) load_think_time(x, w);
  if (const Value x = v.find("ramp_up"); x.present()) {
    w.ramp_up = x.quantity(Dimension::seconds, 0, 1e7);
  }
  if (!v.find("rate").present() && !v.find("ramp").present()) return;
  if (w.ramp_up > 0) throw v.find("ramp_up").error("with a rate, that says when users start");
  load_arrivals(v, w);
}

void load_trace(const Value& v, WorkloadSpec& w, const std::string& beside) {
  TraceSpec& t = w.trace;
  t.file = data_path(v.at("file"), beside);
  if (const Value x = v.find("format"); x.present()) t.format = word(x);
  if (const Value x = v.find("columns"); x.present()) {
    if (t.format != "csv") throw x.error("columns belong to format: csv");
    t.arrival = word(x.at("arrival"));
    t.prompt = word(x.at("prompt"));
    t.output = word(x.at("output"));
    x.no_unknown_keys();
  }
  if (const Value x = v.find("time_unit"); x.present()) {
    if (t.format != "csv") throw x.error("every other format has its own unit of time");
    t.time_unit = x.quantity(Dimension::seconds, 1e-12, 1e6);
  }
  if (const Value x = v.find("speed"); x.present()) t.speed = x.number(1e-6, 1e6);
  if (const Value x = v.find("window"); x.present()) {
    const std::vector<Value> ends = x.items();
    if (ends.size() != 2) throw x.error("expected [from, to], e.g. [10 min, 20 min]");
    t.from = ends[0].quantity(Dimension::seconds, 0, 1e9);
    t.to = ends[1].quantity(Dimension::seconds, 0, 1e9);
    if (!(t.to > t.from)) throw ends[1].error("the window ends before it begins");
  }
  if (const Value x = v.find("max_tokens"); x.present()) t.max_tokens = whole_tokens(x, 1);
  load_shared_prefix(v, w);
}

void load_measuring(const Value& v, WorkloadSpec& w) {
  if (const Value x = v.find("warmup"); x.present()) {
    const std::string text = x.text();
    if (text == "auto") {
      w.warmup_auto = true;
    } else if (text.find('%') != std::string::npos ||
               text.find_first_not_of("0123456789.e-") == std::string::npos) {
      w.warmup_fraction = x.quantity(Dimension::ratio, 0, 0.9);
    } else {
      w.warmup_time = x.quantity(Dimension::seconds, 0, 1e9);
    }
  }
  if (const Value x = v.find("duration"); x.present()) {
    w.duration = x.quantity(Dimension::seconds, 1e-3, 1e9);
  }
  if (const Value x = v.find("precision"); x.present()) {
    w.precision = x.quantity(Dimension::ratio, 1e-4, 1);
  }
}

}  // namespace

LengthSpec load_length(const Value& v, double low) {
  return load_length(v, low, {});
}

void load_slo(const Value& v, SloSpec& slo) {
  const auto time = [&](const char* key, std::optional<double>& to) {
    if (const Value x = v.find(key); x.present()) to = x.quantity(Dimension::seconds, 1e-9, 1e7);
  };
  time("ttft", slo.ttft);
  time("tpot", slo.tpot);
  time("e2el", slo.e2el);
  v.no_unknown_keys();
}

WorkloadSpec load_workload(const Value& v, const std::string& beside) {
  using Kind = WorkloadSpec::Kind;
  constexpr std::array<std::pair<const char*, Kind>, 5> kinds = {
      {{"conversations", Kind::conversations},
       {"closed", Kind::closed},
       {"open", Kind::open},
       {"batch", Kind::batch},
       {"trace", Kind::trace}}};
  WorkloadSpec w;
  const char* kind = nullptr;
  int found = 0;
  for (const auto& [name, value] : kinds) {
    if (!v.find(name).present()) continue;
    ++found;
    kind = name;
    w.kind = value;
  }
  if (found != 1) {
    throw v.error(
        "a workload has exactly one of 'conversations', 'closed', 'open', 'batch', 'trace'");
  }
  const Value load = v.at(kind), classes = v.find("classes");
  if (w.kind == Kind::trace) {
    if (classes.present()) throw classes.error("a trace has its own lengths");
    load_trace(load, w, beside);
    if (const Value x = v.find("requests"); x.present()) w.requests = x.integer(0, max_requests);
  } else {
    if (w.kind == Kind::conversations || w.kind == Kind::closed) load_slots(load, w);
    if (w.kind == Kind::open) load_arrivals(load, w);
    load_requests(load, classes, w.kind == Kind::conversations, w, beside);
    w.requests = v.at("requests").integer(1, max_requests);
  }
  load.no_unknown_keys();
  load_measuring(v, w);
  v.no_unknown_keys();
  return w;
}

std::vector<Axis> load_sweep(const Value& v) {
  std::vector<Axis> axes;
  double points = 1;
  for (const auto& [path, values] : v.entries()) {
    Axis axis{path, {}};
    for (const Value& item : values.items()) {
      axis.second.push_back(item.is_scalar() ? item.text() : item.flow());
    }
    if (axis.second.empty()) throw values.error("an axis needs at least one value");
    points *= static_cast<double>(axis.second.size());
    if (points > 100'000) throw values.error("the sweep has more than 100000 points");
    if (path == "sweep" || path == "extends" || path.starts_with("sweep.")) {
      throw values.error("'" + path + "' cannot be swept");
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

}  // namespace servegrid::catalog
