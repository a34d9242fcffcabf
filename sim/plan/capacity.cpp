#include "plan/capacity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "jobs/fork_pool.hpp"
#include "study/run_jobs.hpp"
#include "units/error.hpp"

namespace servegrid::plan {

namespace {

using Kind = catalog::WorkloadSpec::Kind;

constexpr double first_stride = 1.6;  // while the bracket is open on one side
constexpr int most_probes = 60;
constexpr double least_share_of_guess = 1e-4;  // below it an open loop has no capacity

double rounded(double load, bool users) {
  return users ? std::max(1.0, std::floor(load + 1e-9)) : load;
}

// What a mean request of the workload is.
struct Request {
  double fresh = 0, cached = 0, output = 0, think = 0;
};

Request request_of(const catalog::Scenario& s) {
  const auto& w = s.workload;
  Request r;
  r.output = w.output.mean;
  if (w.kind != Kind::conversations) {
    r.cached = s.knobs.enable_prefix_caching ? static_cast<double>(w.shared_prefix) : 0;
    r.fresh = std::max(1.0, w.prompt.mean - r.cached);
    return r;
  }
  const auto turns = static_cast<double>(w.turns);
  const double history = static_cast<double>(w.history);
  // Turn k finds what was said before, when nothing was evicted.
  const double said = history + (turns - 1) / 2 * (w.turn_input.mean + r.output);
  r.think = w.think_time;
  const double first = std::max(0.0, history - static_cast<double>(w.shared_prefix));
  r.fresh =
      s.knobs.enable_prefix_caching ? w.turn_input.mean + first / turns : w.turn_input.mean + said;
  r.cached = std::max(0.0, w.turn_input.mean + said - r.fresh);
  return r;
}

// Seconds that one prompt adds to a step that holds as many whole prompts as the budget does.
double prefill_seconds(const Rig& rig, const Request& r) {
  const auto budget = static_cast<double>(rig.scenario().knobs.max_num_batched_tokens);
  const double pieces = std::max(1.0, std::ceil(r.fresh / budget));
  const auto chunk = static_cast<std::int64_t>(std::max(1.0, r.fresh / pieces));
  const auto together =
      static_cast<std::size_t>(std::clamp(budget / static_cast<double>(chunk), 1.0, 64.0));
  double seconds = 0;
  const auto whole = static_cast<std::int64_t>(std::min(pieces, 64.0));
  for (std::int64_t i = 0; i < whole; ++i) {
    const auto cached = static_cast<std::int64_t>(r.cached) + i * chunk;
    const std::vector<roofline::PrefillChunk> chunks(pieces > 1 ? 1 : together,
                                                     {chunk, cached, true});
    const double n = static_cast<double>(chunks.size());
    seconds += to_seconds(rig.steps().mixed(chunks, 0, {})) / n;
  }
  return seconds * pieces / static_cast<double>(whole);
}

double decode_seconds(const Rig& rig, std::int64_t sequences, double context) {
  const auto cost = rig.steps().decode(sequences);
  double seconds = to_seconds(cost.base);
  const auto windows = rig.steps().windows();
  for (std::size_t c = 0; c <= windows.size(); ++c) {
    const double each = c == 0 ? context : std::min(context, static_cast<double>(windows[c - 1]));
    seconds += to_seconds(cost.per_token.at(c)) * each * static_cast<double>(sequences);
  }
  return seconds;
}

const Objective* strictest(const Objectives& objectives, Metric metric) {
  const Objective* found = nullptr;
  for (const auto& o : objectives)
    if (o.metric == metric && (found == nullptr || o.limit < found->limit)) found = &o;
  return found;
}

std::string milliseconds(double seconds) {
  return seconds >= 1 ? fmt::format("{:.2f} s", seconds) : fmt::format("{:.1f} ms", seconds * 1e3);
}

nlohmann::json capacity_json(const Capacity& c) {
  nlohmann::json probes = nlohmann::json::array();
  for (const auto& probe : c.probes) probes.push_back(to_text(probe));
  return {{"load", c.load},
          {"above", c.above},
          {"missed", c.missed},
          {"at", to_text(c.at)},
          {"beyond", to_text(c.beyond)},
          {"probes", probes}};
}

// Two-sided 90 % quantile of Student's t by degrees of freedom (any table of it).
double student(int degrees) {
  constexpr std::array<double, 11> t = {0,     6.314, 2.920, 2.353, 2.132, 2.015,
                                        1.943, 1.895, 1.860, 1.833, 1.812};
  return degrees < 11 ? t.at(static_cast<std::size_t>(degrees)) : 1.645 * (1 + 1.0 / degrees);
}

}  // namespace

std::string to_text(const Capacity& c) {
  return capacity_json(c).dump();
}

Capacity capacity_from_text(const std::string& text) {
  try {
    const auto j = nlohmann::json::parse(text);
    Capacity c;
    c.load = j.at("load");
    c.above = j.at("above");
    c.missed = j.at("missed");
    c.at = measured_from_text(j.at("at"));
    c.beyond = measured_from_text(j.at("beyond"));
    for (const auto& probe : j.at("probes")) c.probes.push_back(measured_from_text(probe));
    return c;
  } catch (const nlohmann::json::exception& e) {
    throw RunError(std::string("a worker's capacity cannot be read: ") + e.what());
  }
}

std::string missed_text(const Measured& m, const Objectives& objectives, double ttft_scale) {
  if (m.rejected) return "requests that can never be served";
  if (m.counted == 0) return "nothing completed";
  std::string worst;
  double most = 1;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const auto& o = objectives[i];
    const double value = m.latencies.at(i) * (o.metric == Metric::ttft ? ttft_scale : 1);
    if (!(value / o.limit > most)) continue;
    most = value / o.limit;
    const std::string text = o.text();
    worst = fmt::format("{} {} > {}", text.substr(0, text.find(" <=")), milliseconds(value),
                        milliseconds(o.limit));
  }
  if (worst.empty() && m.backlog) return "the queue grows without end";
  return worst;
}

Bound bound_of(const Rig& rig, const Objectives& objectives) {
  const auto& s = rig.scenario();
  const Request r = request_of(s);
  const double context = r.fresh + r.cached + r.output / 2;
  const double memory = static_cast<double>(rig.ledger().kv_capacity_tokens) /
                        std::max(1.0, r.fresh + r.output / 2);  // what is cached may be shared
  Bound bound;
  bound.limited_by = "max_num_seqs";
  std::int64_t most = s.knobs.max_num_seqs;
  if (memory < static_cast<double>(most)) {
    most = std::max<std::int64_t>(1, static_cast<std::int64_t>(memory));
    bound.limited_by = "KV memory";
  }
  const Objective* tpot = strictest(objectives, Metric::tpot);
  if (tpot == nullptr) tpot = strictest(objectives, Metric::itl);
  std::int64_t batch = most;
  if (tpot != nullptr && decode_seconds(rig, most, context) > tpot->limit) {
    std::int64_t low = 1, high = most;  // the step time grows with the batch
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (decode_seconds(rig, middle, context) > tpot->limit ? high : low) = middle;
    }
    batch = low;
    bound.limited_by = "TPOT";
  }
  bound.batch = batch;
  bound.decode_step = decode_seconds(rig, batch, context);
  bound.prefill = prefill_seconds(rig, r);
  const double decode = r.output * bound.decode_step / static_cast<double>(batch);
  if (bound.prefill > decode) bound.limited_by = "prefill";
  const double rate = s.replicas / (bound.prefill + decode);
  bound.load = rate;
  if (rig.counts_users()) {
    const Objective* ttft = strictest(objectives, Metric::ttft);
    const double answer = r.output * (tpot != nullptr ? tpot->limit : bound.decode_step);
    const double first = ttft != nullptr ? ttft->limit : bound.prefill;
    bound.load = std::max(1.0, rate * (r.think + first + answer));
  }
  return bound;
}

Capacity find_capacity(const Rig& rig, const Objectives& objectives,
                       const CapacityOptions& options) {
  const bool users = rig.counts_users();
  const double guess = options.guess > 0 ? options.guess : 0.6 * bound_of(rig, objectives).load;
  Capacity out;
  double load = rounded(std::min(guess, options.most), users);
  double stride = first_stride;
  for (int i = 0; i < most_probes; ++i) {
    out.probes.push_back(rig.measure(load, objectives, options.probe));
    const Measured& m = out.probes.back();
    if (m.meets(objectives, options.ttft_scale)) {
      out.load = load;
      out.at = m;
    } else {
      out.above = load;
      out.beyond = m;
      if (out.load == 0 && load <= (users ? 1.0 : guess * least_share_of_guess)) break;
    }
    if (out.load > 0 && out.above > 0) {
      const double width =
          users ? std::max(1.0, options.tolerance * out.load) : options.tolerance * out.load;
      if (out.above - out.load <= width) break;
      load = users ? std::floor((out.load + out.above) / 2) : std::sqrt(out.load * out.above);
    } else {
      load = out.load > 0 ? std::max(load * stride, load + 1) : load / stride;
      stride = std::min(4.0, stride * 1.25);
    }
    load = rounded(load, users);
    if (load > options.most) break;
  }
  if (out.above > 0) out.missed = missed_text(out.beyond, objectives, options.ttft_scale);
  return out;
}

Interval capacity_interval(const Rig& rig, const Objectives& objectives,
                           const CapacityOptions& options, int seeds, int jobs,
                           const std::function<void()>& done) {
  jobs::Options pool;
  if (done) pool.done = [&](std::size_t, const jobs::Outcome&) { done(); };
  const auto outcomes = jobs::run_in_workers(
      static_cast<std::size_t>(seeds), study::workers_of(jobs),
      [&](std::size_t i) {
        CapacityOptions one = options;
        one.probe.seed += i;
        return to_text(find_capacity(rig, objectives, one));
      },
      pool);
  Interval interval;
  double sum = 0;
  for (const auto& outcome : outcomes) {
    if (!outcome.ok) throw RunError("a search for the capacity failed: " + outcome.error);
    interval.seeds.push_back(capacity_from_text(outcome.bytes));
    sum += interval.seeds.back().load;
  }
  interval.mean = sum / seeds;
  double squares = 0;
  for (const auto& c : interval.seeds)
    squares += (c.load - interval.mean) * (c.load - interval.mean);
  const double half = seeds > 1 ? student(seeds - 1) * std::sqrt(squares / (seeds - 1) / seeds) : 0;
  interval.low = std::max(0.0, interval.mean - half);
  interval.high = interval.mean + half;
  return interval;
}

}  // namespace servegrid::plan
