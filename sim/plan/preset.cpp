// Presets: what a kind of use asks of a server, with sources.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "catalog/load.hpp"
#include "catalog/scenario_load.hpp"
#include "plan/plan_reader.hpp"

namespace servegrid::plan {

using catalog::Value;
using units::Dimension;

namespace {

// Shares of a day's traffic by the hour, relative. Office: a working day with a dip at noon;
// consumer: an evening peak; flat: the same at any hour. Shapes after the daily pattern of the
// Azure LLM traces (Patel et al., Splitwise, 2024, and Stojkovic et al., DynamoLLM, 2025: office
// hours dominate coding, conversation is broader); the numbers are ours.
constexpr std::array<double, 24> office = {2,  1,  1,  1,  1,  2,  5,  20, 60, 95, 100, 95,
                                           75, 85, 98, 95, 85, 60, 30, 18, 12, 8,  5,   3};
constexpr std::array<double, 24> consumer = {35, 22, 14, 10, 9,  12, 22, 38, 52,  60, 64, 67,
                                             70, 70, 69, 70, 72, 76, 84, 93, 100, 98, 80, 55};

}  // namespace

std::array<double, 24> load_curve(const Value& v) {
  std::array<double, 24> curve{};
  if (v.is_list()) {
    const auto items = v.items();
    if (items.size() != 24) throw v.error("a daily curve has 24 values, one an hour from midnight");
    double sum = 0;
    for (std::size_t i = 0; i < 24; ++i) sum += curve.at(i) = items[i].number(0, 1e9);
    if (!(sum > 0)) throw v.error("a daily curve needs a value above 0");
    return curve;
  }
  switch (catalog::choice(v, {"office", "consumer", "flat"})) {
    case 0:
      return office;
    case 1:
      return consumer;
    default:
      curve.fill(1);
      return curve;
  }
}

// "09:00-18:00": the same load in those hours and none outside.
std::array<double, 24> load_hours(const Value& v) {
  const std::string text = v.text();
  const auto fail = [&] { return v.error("working hours are whole hours such as '09:00-18:00'"); };
  const auto hour = [&](std::size_t at) {
    if (text.size() != 11 || text[at + 2] != ':' || text.substr(at + 3, 2) != "00") throw fail();
    const int tens = text[at] - '0', ones = text[at + 1] - '0';
    if (tens < 0 || tens > 2 || ones < 0 || ones > 9 || tens * 10 + ones > 24) throw fail();
    return static_cast<std::size_t>(tens * 10 + ones);
  };
  const std::size_t from = hour(0), to = hour(6);
  if (text[5] != '-' || from == to) throw fail();
  std::array<double, 24> curve{};
  for (std::size_t h = from % 24; h != to % 24; h = (h + 1) % 24) curve.at(h) = 1;
  if (from % 24 == to % 24) curve.fill(1);  // 00:00-24:00
  return curve;
}

Objectives load_slo(const Value& v) {
  Objectives out;
  if (v.is_list()) {
    for (const Value& item : v.items()) {
      try {
        out.push_back(parse_objective(item.text()));
      } catch (const InputError& e) {
        throw item.error(e.what());
      }
    }
  } else {
    for (const auto& [word, limits] : v.entries()) {
      const auto metric = parse_metric(word);
      if (!metric) throw limits.error("'" + word + "' is none of ttft, tpot, itl, e2el");
      for (const auto& [statistic, limit] : limits.entries()) {
        Objective o;
        o.metric = *metric;
        if (!parse_statistic(statistic, o.percentile))
          throw limit.error("'" + statistic + "' is neither mean, median nor a percentile (p99)");
        o.limit = limit.quantity(Dimension::seconds, 1e-9, 1e7);
        out.push_back(o);
      }
    }
  }
  if (out.empty()) throw v.error("needs at least one objective");
  return out;
}

namespace {

std::int64_t whole_tokens(const Value& v) {
  const double n = v.quantity(Dimension::tokens, 0, 1e9);
  if (n != std::floor(n)) throw v.error("must be a whole number of tokens");
  return static_cast<std::int64_t>(n);
}

std::string yaml_of(const Value& v) {
  return v.is_scalar() ? v.text() : v.flow();
}

// A length, checked by the reader of scenarios.
double length(const Value& v, std::string& yaml) {
  yaml = yaml_of(v);
  const auto spec = catalog::load_length(v, 1);
  return spec.mean;
}

}  // namespace

void read_preset_values(const Value& v, Preset& p) {
  if (const Value x = v.find("turns"); x.present()) p.turns = x.integer(1, 1'000'000);
  if (const Value x = v.find("history"); x.present()) p.history = whole_tokens(x);
  if (const Value x = v.find("shared_prefix"); x.present()) p.shared_prefix = whole_tokens(x);
  if (const Value x = v.find("turn_input"); x.present())
    p.turn_input = length(x, p.turn_input_yaml);
  if (const Value x = v.find("output"); x.present()) p.output = length(x, p.output_yaml);
  if (const Value x = v.find("think_time"); x.present()) {
    p.think_time_yaml = yaml_of(x);
    p.think_time = (x.is_map() ? x.at("exponential") : x).quantity(Dimension::seconds, 0, 1e7);
    if (x.is_map()) x.no_unknown_keys();
  }
  if (const Value x = v.find("chats_per_day"); x.present()) p.chats_per_day = x.number(1e-6, 1e6);
  if (const Value x = v.find("days_per_month"); x.present()) p.days_per_month = x.number(0.1, 31);
  if (const Value x = v.find("peak_factor"); x.present()) p.peak_factor = x.number(1, 100);
  const Value curve = v.find("daily_curve"), hours = v.find("working_hours");
  if (curve.present() && hours.present())
    throw hours.error("give 'working_hours' or 'daily_curve', not both");
  if (curve.present()) {
    p.daily_curve = load_curve(curve);
    p.curve_text = curve.is_scalar() ? curve.text() + " curve" : "the plan's own curve";
  }
  if (hours.present()) {
    p.daily_curve = load_hours(hours);
    p.curve_text = hours.text();
  }
  if (p.shared_prefix > p.history)
    throw v.find("shared_prefix").error("is longer than the history it is part of");
}

Preset read_preset(const std::string& path_or_name, const std::string& beside) {
  const catalog::Catalog catalog(beside);
  const std::string path = catalog.locate("presets", path_or_name, beside);
  const Value v = catalog.read("presets", path);
  Preset p;
  p.name = path.substr(path.rfind('/') + 1);
  p.name = p.name.substr(0, p.name.rfind('.'));
  p.title = catalog::word(v.at("title"));
  p.source = catalog::word(v.at("source"));
  p.date = catalog::word(v.at("date"));
  catalog::text_or(v, "note");
  catalog::texts_or(v, "aliases");
  for (const char* key : {"turn_input", "output", "chats_per_day", "days_per_month", "daily_curve"})
    (void)v.at(key);
  read_preset_values(v, p);
  p.slo = load_slo(v.at("slo"));
  p.facts = catalog::read_facts(v);
  v.no_unknown_keys();
  return p;
}

}  // namespace servegrid::plan
