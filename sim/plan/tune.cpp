#include "plan/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "catalog/load.hpp"
#include "jobs/fork_pool.hpp"
#include "plan/launch.hpp"
#include "study/run.hpp"
#include "study/run_jobs.hpp"
#include "units/error.hpp"

namespace servegrid::plan {

namespace {

double load_of(const catalog::Scenario& s) {
  return s.workload.kind == catalog::WorkloadSpec::Kind::open
             ? s.workload.rate
             : static_cast<double>(s.workload.concurrent);
}

// ---- what there is to try ----

struct Proposal {
  std::string what;
  catalog::Overrides set;
};

void propose(std::vector<Proposal>& out, const std::string& path, const std::string& from,
             const std::string& to) {
  if (from == to) return;
  const auto name = path.substr(path.rfind('.') + 1);
  out.push_back({fmt::format("{} {} -> {}", name, from, to), {{path, to}}});
}

std::string knob(const catalog::Scenario& s, const std::string& name) {
  for (const auto& [key, value] : catalog::write_knobs(s.knobs, s.engine.policy))
    if (key == name) return value;
  return {};
}

// Powers of two around the value as it is, within limits.
void scaled(std::vector<Proposal>& out, const catalog::Scenario& s, const std::string& name,
            std::int64_t low, std::int64_t high) {
  const std::string now = knob(s, name);
  if (now.empty() || now[0] == '-') return;
  const std::int64_t value = std::stoll(now);
  for (const double factor : {0.25, 0.5, 2.0, 4.0}) {
    const auto next = std::llround(static_cast<double>(value) * factor);
    if (next >= low && next <= high) propose(out, "engine." + name, now, std::to_string(next));
  }
}

void flipped(std::vector<Proposal>& out, const catalog::Scenario& s, const std::string& name) {
  const std::string now = knob(s, name);
  if (now == "true" || now == "false")
    propose(out, "engine." + name, now, now == "true" ? "false" : "true");
}

void listed(std::vector<Proposal>& out, const catalog::Scenario& s, const std::string& name,
            const std::vector<std::string>& values) {
  const std::string now = knob(s, name);
  if (now.empty()) return;
  for (const auto& value : values) propose(out, "engine." + name, now, value);
}

void layouts(std::vector<Proposal>& out, const catalog::Scenario& s) {
  const auto& p = s.parallel;
  const int all = p.gpus() * s.replicas;
  for (int tp = 1; tp <= 16; tp *= 2) {
    const int each = tp * p.pp * p.dp;
    if (tp == p.tp || all % each != 0) continue;
    out.push_back({fmt::format("{} x TP {} -> {} x TP {}", s.replicas, p.tp, all / each, tp),
                   {{"replica.tp", std::to_string(tp)}, {"replicas", std::to_string(all / each)}}});
  }
}

std::vector<Proposal> proposals_of(const catalog::Scenario& s) {
  std::vector<Proposal> out;
  layouts(out, s);
  if (s.replicas > 1)
    for (const char* router :
         {"round-robin", "least-outstanding", "least-kv", "session-affinity", "power-of-two"})
      propose(out, "router", s.router, router);
  listed(out, s, "kv_cache_dtype", {"bf16", "fp8"});
  for (const char* name : {"max_num_batched_tokens", "chunked_prefill_size", "max_num_tokens"})
    scaled(out, s, name, 512, 65536);
  for (const char* name : {"max_num_seqs", "max_running_requests", "max_batch_size"})
    scaled(out, s, name, 8, 4096);
  for (const char* name : {"enable_prefix_caching", "enable_radix_cache", "enable_block_reuse",
                           "enable_chunked_prefill", "scheduler_reserve_full_isl"})
    flipped(out, s, name);
  listed(out, s, "watermark", {"0", "0.02", "0.05"});
  listed(out, s, "long_prefill_token_threshold", {"0", "512", "2048"});
  listed(out, s, "capacity_scheduler_policy", {"GUARANTEED_NO_EVICT", "MAX_UTILIZATION"});
  listed(out, s, "schedule_conservativeness", {"0.3", "1", "1.3"});
  return out;
}

// ---- trying it ----

std::string trial_text(const ScenarioReader& read, const catalog::Overrides& set, double load,
                       const Objectives& objectives, const TuneOptions& options, double guess) {
  try {
    const Rig rig(read(set));
    CapacityOptions search;
    search.probe.seed = rig.scenario().seed;
    search.probe.requests = options.requests;
    search.tolerance = options.tolerance;
    search.guess = guess;
    const Measured at = rig.measure(load, objectives, search.probe);
    const Capacity found = find_capacity(rig, objectives, search);
    return nlohmann::json{{"capacity", found.load},
                          {"at", to_text(at)},
                          {"kv_tokens", rig.ledger().kv_capacity_tokens}}
        .dump();
  } catch (const Error& e) {
    if (e.code() == Exit::run_failed) throw;
    std::string message = e.what();
    message = message.substr(0, message.find('\n'));
    if (const auto* bad = dynamic_cast<const InputError*>(&e);
        bad != nullptr && bad->where().line > 0)  // the place in the file is not what was tried
      message = message.substr(std::min(message.find(' ') + 1, message.size()));
    return nlohmann::json{{"reason", message}}.dump();
  }
}

void fill(Trial& trial, const std::string& text) {
  const auto j = nlohmann::json::parse(text);
  if (j.contains("reason")) {
    trial.reason = j.at("reason");
    return;
  }
  trial.capacity = j.at("capacity");
  trial.at = measured_from_text(j.at("at"));
  trial.kv_tokens = j.at("kv_tokens");
  trial.goodput = trial.at.request_rate * trial.at.attainment;
}

// Four significant digits; from 10,000 on all of them, in groups.
std::string figure(double value) {
  if (std::abs(value) < 1e4) return fmt::format("{:.4g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t i = digits.size(); i > 3 + (value < 0 ? 1 : 0);) digits.insert(i -= 3, 1, ',');
  return digits;
}

std::string change(const std::string& what, double before, double after, const char* unit = "") {
  if (before <= 0 || std::abs(after / before - 1) < 0.05) return {};
  return fmt::format("{} {} -> {}{}", what, figure(before), figure(after), unit);
}

// What moved, from the memory to the latencies: the chain of cause and effect at the same load.
std::string cause_of(const Trial& before, const Trial& after) {
  std::vector<std::string> parts = {
      change("KV pool", static_cast<double>(before.kv_tokens), static_cast<double>(after.kv_tokens),
             " tokens"),
      change("running", before.at.running, after.at.running),
      change("waiting", before.at.waiting, after.at.waiting),
      change("cached tok/s", before.at.cached_rate, after.at.cached_rate),
      change("TTFT", before.at.ttft_mean * 1e3, after.at.ttft_mean * 1e3, " ms"),
      change("TPOT", before.at.tpot_mean * 1e3, after.at.tpot_mean * 1e3, " ms"),
  };
  if (before.at.preemptions != after.at.preemptions)
    parts.insert(parts.begin() + 1,
                 fmt::format("preemptions {} -> {}", before.at.preemptions, after.at.preemptions));
  std::string out;
  for (const auto& part : parts)
    if (!part.empty()) out += (out.empty() ? "" : ", ") + part;
  return out.empty() ? "nothing moves by 5 % at this load" : out;
}

bool better(const Trial& a, const Trial& b) {
  if (a.reason.empty() != b.reason.empty()) return a.reason.empty();
  if (a.capacity != b.capacity) return a.capacity > b.capacity;
  return a.goodput > b.goodput;
}

std::vector<Reproduced> reproduce(const catalog::Scenario& s,
                                  const std::vector<std::pair<std::string, double>>& observed) {
  std::vector<Reproduced> out;
  if (observed.empty()) return out;
  metrics::RunResult result;
  const study::Point point = study::evaluate(s, s.name, true, &result);
  if (!point.feasible) throw InfeasibleError(point.reason);
  const auto steps = study::step_model_of(s);
  for (const auto& [name, value] : observed) {
    const auto simulated = point.metric(name);
    if (!simulated || value <= 0 || name.rfind("std_", 0) == 0) continue;
    const bool first = name.find("ttft") != std::string::npos;
    const double band = first ? steps->costs().ttft_band : steps->costs().tpot_band;
    const double ratio = *simulated / value;
    out.push_back({name, value, *simulated, ratio <= 1 + band && ratio >= 1 / (1 + band)});
  }
  return out;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == '\n')
      out.emplace_back();
    else
      out.back() += c;
  }
  for (auto& line : out) {
    while (!line.empty() && (line.back() == '\\' || line.back() == ' ')) line.pop_back();
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
  }
  return out;
}

std::vector<std::string> diff_of(const catalog::Scenario& a, const catalog::Scenario& b) {
  const auto before = lines(launch_command(a)), after = lines(launch_command(b));
  std::vector<std::string> out;
  const auto missing = [](const std::string& line, const std::vector<std::string>& in) {
    return std::find(in.begin(), in.end(), line) == in.end();
  };
  for (const auto& line : before)
    if (missing(line, after)) out.push_back("- " + line);
  for (const auto& line : after)
    if (missing(line, before)) out.push_back("+ " + line);
  if (a.replicas != b.replicas)
    out.push_back(fmt::format("replicas: {} -> {}", a.replicas, b.replicas));
  if (a.router != b.router) out.push_back(fmt::format("router: {} -> {}", a.router, b.router));
  return out;
}

}  // namespace

TuneResult tune(const ScenarioReader& read, const Objectives& objectives,
                const std::vector<std::pair<std::string, double>>& observed,
                const TuneOptions& options) {
  TuneResult result;
  const catalog::Scenario base = read({});
  static_cast<void>(Rig(base));  // throws what is wrong with it, as itself
  const double load = load_of(base);
  result.reproduced = reproduce(base, observed);
  for (const auto& r : result.reproduced) result.outside = result.outside || !r.inside;
  result.base.what = "as it is";
  fill(result.base, trial_text(read, {}, load, objectives, options, 0));
  if (!result.base.reason.empty()) throw InfeasibleError(result.base.reason);
  result.best_trial = result.base;
  for (int round = 1; round <= options.rounds; ++round) {
    const Trial before = result.best_trial;
    const auto proposals = proposals_of(read(result.best));
    std::size_t done = 0;
    jobs::Options pool;
    if (options.progress)
      pool.done = [&](std::size_t, const jobs::Outcome&) {
        options.progress(fmt::format("round {}", round), ++done, proposals.size());
      };
    const auto outcomes = jobs::run_in_workers(
        proposals.size(), study::workers_of(options.jobs),
        [&](std::size_t i) {
          catalog::Overrides set = result.best;
          set.insert(set.end(), proposals[i].set.begin(), proposals[i].set.end());
          return trial_text(read, set, load, objectives, options, before.capacity);
        },
        pool);
    std::vector<Trial> tried;
    for (std::size_t i = 0; i < proposals.size(); ++i) {
      if (!outcomes[i].ok) throw RunError(proposals[i].what + " failed: " + outcomes[i].error);
      Trial trial;
      trial.what = proposals[i].what;
      trial.set = proposals[i].set;
      trial.round = round;
      fill(trial, outcomes[i].bytes);
      if (trial.reason.empty()) trial.cause = cause_of(before, trial);
      tried.push_back(std::move(trial));
    }
    std::stable_sort(tried.begin(), tried.end(), better);
    result.trials.insert(result.trials.end(), tried.begin(), tried.end());
    if (tried.empty() || !tried.front().reason.empty()) break;
    const Trial& top = tried.front();
    const bool gains = top.capacity > before.capacity * (1 + options.least_gain) ||
                       (top.capacity >= before.capacity &&
                        top.goodput > before.goodput * (1 + options.least_gain));
    if (!gains) break;
    result.best_trial = top;
    result.best.insert(result.best.end(), top.set.begin(), top.set.end());
  }
  result.flag_diff = diff_of(base, read(result.best));
  return result;
}

}  // namespace servegrid::plan
