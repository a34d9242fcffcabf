#include "plan/demand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "catalog/scenario_load.hpp"
#include "units/error.hpp"

namespace servegrid::plan {

namespace {

std::string tidy(double value) {
  // Up to four digits, whole numbers whole: never 1e+04.
  if (value >= 1000 && value < 1e12) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string tokens(std::int64_t n) {
  return fmt::format("{} tokens", n);
}

// The longest mean answer that the objectives allow [s].
double answer_seconds(const Objectives& slo, double output, std::string& how) {
  double first = 0, each = 0, all = 0;
  for (const auto& o : slo) {
    auto& limit = o.metric == Metric::ttft ? first : o.metric == Metric::e2el ? all : each;
    limit = limit == 0 ? o.limit : std::min(limit, o.limit);
  }
  double seconds = first + output * each;
  how = fmt::format("{} s to the first token + {} tokens x {} ms", tidy(first), tidy(output),
                    tidy(each * 1e3));
  if (all > 0 && (each == 0 || all < seconds)) {
    seconds = all;
    how = "the E2EL objective";
  }
  return seconds;
}

void people(const PlanSpec& plan, Demand& d) {
  const Preset& p = *plan.load.preset;
  const double day = plan.load.users * p.chats_per_day;
  double sum = 0, most = 0;
  for (const double v : p.daily_curve) {
    sum += v;
    most = std::max(most, v);
  }
  const double hour = day * most / sum;
  const double growth = 1 + plan.load.growth;
  const double chats = hour / 3600 * growth * p.peak_factor;
  const auto turns = static_cast<double>(p.turns);
  d.rate = chats * turns;
  const auto line = [&](const std::string& text) { d.arithmetic.push_back(text); };
  line(fmt::format("preset {} ({}; {})", p.name, p.title, p.source));
  line(fmt::format("{} users x {} chats a day = {} chats a day", tidy(plan.load.users),
                   tidy(p.chats_per_day), tidy(day)));
  line(fmt::format("busiest hour ({}): {:.1f} % of the day = {} chats", p.curve_text,
                   100 * most / sum, tidy(hour)));
  line(fmt::format("{} / 3600 s x {} (growth) x {} (peak over the hour's mean) = {} chats/s",
                   tidy(hour), tidy(growth), tidy(p.peak_factor), tidy(chats)));
  line(fmt::format("{} chats/s x {} turns = {} requests/s at the peak", tidy(chats), p.turns,
                   tidy(d.rate)));
  for (std::size_t h = 0; h < 24; ++h) d.hours.at(h) = p.daily_curve.at(h) / most / p.peak_factor;
  const std::string prefix =
      p.shared_prefix > 0 ? ", shared_prefix: " + tokens(p.shared_prefix) : "";
  if (p.turns == 1 && p.history == 0) {
    d.load = d.rate;
    d.workload_yaml =
        fmt::format("{{open: {{rate: {:.10g} /s, prompt: {}, output: {}{}}}, requests: 1000}}",
                    d.rate, p.turn_input_yaml, p.output_yaml, prefix);
    return;
  }
  std::string how;
  const double answer = answer_seconds(plan.slo, p.output, how);
  d.counts_users = true;
  d.load = std::max(1.0, std::ceil(d.rate * (p.think_time + answer)));
  line(fmt::format("an answer may take {} s ({})", tidy(answer), how));
  line(fmt::format("{} requests/s x ({} s thinking + {} s) = {} users at once (Little's law)",
                   tidy(d.rate), tidy(p.think_time), tidy(answer), tidy(d.load)));
  d.workload_yaml = fmt::format(
      "{{conversations: {{concurrent: {:.0f}, history: {}, turn_input: {}, output: {}, turns: {}, "
      "think_time: {}{}}}, requests: 1000}}",
      d.load, tokens(p.history), p.turn_input_yaml, p.output_yaml, p.turns,
      p.think_time_yaml.empty() ? "0 s" : p.think_time_yaml, prefix);
}

void workload(const PlanSpec& plan, Demand& d) {
  using Kind = catalog::WorkloadSpec::Kind;
  auto value = catalog::Value::from_text(plan.load.workload_yaml, plan.file);
  const auto w = catalog::load_workload(value, "");
  if (w.kind == Kind::trace)
    throw InputError("a plan's load cannot be a trace: its rate cannot be raised");
  d.workload_yaml = plan.load.workload_yaml;
  d.counts_users = w.kind != Kind::open;
  d.load = d.counts_users ? static_cast<double>(w.concurrent) : w.rate;
  d.rate = w.rate;
  const double most = *std::max_element(plan.load.daily_curve.begin(), plan.load.daily_curve.end());
  for (std::size_t h = 0; h < 24; ++h) d.hours.at(h) = plan.load.daily_curve.at(h) / most;
  d.arithmetic.push_back(
      fmt::format("{} {} of the plan's workload{}", tidy(d.load),
                  d.counts_users ? "users at once" : "requests/s",
                  plan.load.flat ? ", the same at any hour" : " in the busiest hour"));
}

}  // namespace

double Demand::peak_seconds() const {
  double hours_at_peak = 0;
  for (const double share : hours) hours_at_peak += share;
  return hours_at_peak * 3600 * days_per_month;
}

namespace {

constexpr double most_load =
    100'000;  // users at once, or requests/s: what a fleet is simulated with

}  // namespace

Demand demand_of(const PlanSpec& plan) {
  Demand d;
  d.days_per_month = plan.load.days_per_month;
  if (plan.load.preset)
    people(plan, d);
  else
    workload(plan, d);
  if (d.load > most_load)
    throw InputError(fmt::format(
        "the load is {} {}, above the {} that a fleet is simulated with: plan for a part of it "
        "(one "
        "region, one cell) and take the plan several times",
        tidy(d.load), d.counts_users ? "users at once" : "requests/s", tidy(most_load)));
  d.unit = d.counts_users ? "users at once" : "requests/s";
  d.arithmetic.push_back(fmt::format("a month serves what the peak would in {} hours ({} days)",
                                     tidy(d.peak_seconds() / 3600), tidy(d.days_per_month)));
  return d;
}

}  // namespace servegrid::plan
