// The workload of a scenario.
#include <fmt/core.h>

#include <cmath>
#include <filesystem>

#include "catalog/load.hpp"
#include "catalog/names.hpp"
#include "catalog/scenario_load.hpp"

namespace servegrid::catalog {

using units::Dimension;

namespace {

constexpr double max_tokens = 1e9;
constexpr std::int64_t max_concurrent = 10'000'000, max_requests = 1'000'000'000;

std::int64_t whole_tokens(const Value& v, double low) {
  const double n = v.quantity(Dimension::tokens, low, max_tokens);
  if (n != std::floor(n)) throw v.error("must be a whole number of tokens");
  return static_cast<std::int64_t>(n);
}

}  // namespace

LengthSpec load_length(const Value& v, double low) {
  LengthSpec spec;
  if (!v.is_map()) {
    spec.mean = static_cast<double>(whole_tokens(v, low));
    return spec;
  }
  const Value uniform = v.find("uniform"), lognormal = v.find("lognormal");
  v.no_unknown_keys();
  if (uniform.present() == lognormal.present()) {
    throw v.error("a length is '512 tokens', {uniform: [a, b]} or {lognormal: {mean, sigma}}");
  }
  if (uniform.present()) {
    const std::vector<Value> ends = uniform.items();
    if (ends.size() != 2) throw uniform.error("expected two lengths, [200 tokens, 400 tokens]");
    spec.kind = LengthSpec::Kind::uniform;
    spec.low = static_cast<double>(whole_tokens(ends[0], low));
    spec.high = static_cast<double>(whole_tokens(ends[1], low));
    if (spec.high < spec.low) throw ends[1].error("the second length is below the first");
    spec.mean = (spec.low + spec.high) / 2;
    return spec;
  }
  spec.kind = LengthSpec::Kind::lognormal;
  spec.mean = lognormal.at("mean").quantity(Dimension::tokens, std::max(low, 1.0), max_tokens);
  spec.sigma = lognormal.at("sigma").number(0, 10);
  if (const Value x = lognormal.find("limit"); x.present()) {
    spec.limit = whole_tokens(x, 1);
  }
  lognormal.no_unknown_keys();
  return spec;
}

namespace {

void load_think_time(const Value& v, WorkloadSpec& w) {
  if (!v.is_map()) {
    w.think_time = v.quantity(Dimension::seconds, 0, 1e7);
    return;
  }
  w.think_time = v.at("exponential").quantity(Dimension::seconds, 0, 1e7);
  w.think_exponential = true;
  v.no_unknown_keys();
}

std::int64_t concurrent(const Value& v) {
  return v.at("concurrent").integer(1, max_concurrent);
}

void load_shared_prefix(const Value& v, WorkloadSpec& w) {
  if (const Value x = v.find("shared_prefix"); x.present()) w.shared_prefix = whole_tokens(x, 0);
}

/// The shared prefix is part of what it is in: it cannot be longer.
void check_prefix(const Value& v, const WorkloadSpec& w, double shortest, const char* part) {
  if (static_cast<double>(w.shared_prefix) > shortest) {
    throw v.find("shared_prefix")
        .error(fmt::format("is longer than the {} it is part of ({:.0f} tokens)", part, shortest));
  }
}

void load_conversations(const Value& v, WorkloadSpec& w) {
  w.kind = WorkloadSpec::Kind::conversations;
  w.concurrent = concurrent(v);
  if (const Value x = v.find("history"); x.present()) w.history = whole_tokens(x, 0);
  w.turn_input = load_length(v.at("turn_input"), 1);
  w.output = load_length(v.at("output"), 1);
  if (const Value x = v.find("turns"); x.present()) w.turns = x.integer(1, 1'000'000);
  if (const Value x = v.find("think_time"); x.present()) load_think_time(x, w);
  load_shared_prefix(v, w);
  check_prefix(v, w, static_cast<double>(w.history), "history");
}

double shortest(const LengthSpec& length) {
  return length.kind == LengthSpec::Kind::uniform ? length.low : length.mean;
}

void load_requests(const Value& v, WorkloadSpec& w) {
  w.prompt = load_length(v.at("prompt"), 1);
  w.output = load_length(v.at("output"), 1);
  load_shared_prefix(v, w);
  check_prefix(v, w, shortest(w.prompt), "prompt");
}

void load_trace(const Value& v, WorkloadSpec& w, const std::string& beside) {
  w.kind = WorkloadSpec::Kind::trace;
  const Value file = v.at("file");
  const std::string name = word(file);
  w.trace = name.front() == '/' || beside.empty() || beside == "." ? name : beside + "/" + name;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(w.trace, ignored)) {
    throw file.error("there is no file '" + w.trace + "' (paths start at the scenario's folder)");
  }
}

}  // namespace

WorkloadSpec load_workload(const Value& v, const std::string& beside) {
  WorkloadSpec w;
  int kinds = 0;
  for (const char* kind : {"conversations", "closed", "open", "trace"}) {
    if (v.find(kind).present()) ++kinds;
  }
  if (kinds != 1) {
    throw v.error("a workload has exactly one of 'conversations', 'closed', 'open', 'trace'");
  }
  const Value conversations = v.find("conversations"), closed = v.find("closed"),
              open = v.find("open"), trace = v.find("trace");
  if (conversations.present()) {
    load_conversations(conversations, w);
    conversations.no_unknown_keys();
  } else if (closed.present()) {
    w.kind = WorkloadSpec::Kind::closed;
    w.concurrent = concurrent(closed);
    load_requests(closed, w);
    closed.no_unknown_keys();
  } else if (open.present()) {
    w.kind = WorkloadSpec::Kind::open;
    w.rate = open.at("rate").quantity(Dimension::hertz, 1e-6, 1e7);
    load_requests(open, w);
    open.no_unknown_keys();
  } else {
    load_trace(trace, w, beside);
    trace.no_unknown_keys();
  }
  if (w.kind == WorkloadSpec::Kind::trace) {
    if (const Value x = v.find("requests"); x.present()) w.requests = x.integer(0, max_requests);
  } else {
    w.requests = v.at("requests").integer(1, max_requests);
  }
  if (const Value x = v.find("warmup"); x.present()) {
    w.warmup_fraction = x.quantity(Dimension::ratio, 0, 0.9);
  }
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
