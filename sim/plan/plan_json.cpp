// The whole answer as one JSON document; docs/planning.md lists the fields.
#include <cmath>
#include <nlohmann/json.hpp>

#include "metrics/version.hpp"
#include "plan/energy.hpp"
#include "plan/launch.hpp"
#include "plan/report.hpp"

namespace servegrid::plan {

namespace {

using Json = nlohmann::ordered_json;

Json latencies_json(const Objectives& objectives, const Measured& m) {
  Json out = Json::object();
  for (std::size_t i = 0; i < objectives.size() && i < m.latencies.size(); ++i)
    out[objectives[i].name()] =
        std::isnan(m.latencies[i]) ? Json(nullptr) : Json(m.latencies[i] * 1e3);
  return out;
}

Json measured_json(const Objectives& objectives, const Measured& m) {
  return {{"load", m.load},
          {"requests", m.requests},
          {"latencies", latencies_json(objectives, m)},
          {"mean_ttft_ms", m.ttft_mean * 1e3},
          {"mean_tpot_ms", m.tpot_mean * 1e3},
          {"mean_e2el_ms", m.e2el_mean * 1e3},
          {"attainment", m.attainment},
          {"request_throughput", m.request_rate},
          {"request_goodput", m.request_rate * m.attainment},
          {"input_throughput", m.input_rate},
          {"cached_throughput", m.cached_rate},
          {"output_throughput", m.output_rate},
          {"kv_use_mean", m.kv_mean},
          {"kv_use_peak", m.kv_peak},
          {"running", m.running},
          {"waiting", m.waiting},
          {"preemptions", m.preemptions},
          {"prefill_seconds", m.prefill_seconds},
          {"decode_seconds", m.decode_seconds}};
}

Json tokens_json(const TokenCosts& c) {
  return {{"per_million_input", c.input},    {"per_million_cached", c.cached},
          {"per_million_output", c.output},  {"per_million_total", c.total},
          {"input_a_month", c.input_month},  {"cached_a_month", c.cached_month},
          {"output_a_month", c.output_month}};
}

Json option_json(const Option& o) {
  if (!o.rental) return {{"prices", o.source}, {"possible", false}, {"reason", o.reason}};
  const Rental& r = *o.rental;
  return {{"prices", o.source},
          {"possible", true},
          {"rank", o.rank},
          {"replicas", o.replicas},
          {"served", o.served},
          {"offer", r.offer},
          {"kind", r.kind},
          {"nodes", r.nodes},
          {"spare_nodes", r.spare},
          {"node_gpus", r.node_gpus},
          {"gpus", r.gpus()},
          {"month", r.total()},
          {"power_a_month", r.power},
          {"daily_curve", tokens_json(o.daily)},
          {"full_load", tokens_json(o.full)},
          {"break_even_tokens_a_month", o.break_even > 0 ? Json(o.break_even) : Json(nullptr)},
          {"wins", o.wins}};
}

Json row_json(const PlanSpec& plan, const PlanResult& result, const Row& row) {
  const Candidate& c = result.of(row);
  Json options = Json::array();
  for (const auto& o : row.options) options.push_back(option_json(o));
  Json j = {{"set_up", c.label()},
            {"precision", c.precision()},
            {"gpu", c.gpu},
            {"gpu_title", c.scenario.gpu.title},
            {"engine", c.engine},
            {"weights", catalog::name(c.weights)},
            {"kv", c.kv},
            {"tp", c.parallel.tp},
            {"pp", c.parallel.pp},
            {"ep", c.parallel.ep},
            {"dp", c.parallel.dp},
            {"gpus_per_replica", c.gpus()},
            {"capacity_per_replica", row.capacity.load},
            {"capacity_ends_with", row.capacity.missed},
            {"bound_per_replica", row.bound.load},
            {"bound_limited_by", row.bound.limited_by},
            {"checked", row.finalist ? "fleet" : "estimate"},
            {"trust", c.rig->steps().trust()},
            {"attention", c.attention},
            {"options", options}};
  if (!row.finalist) return j;
  const double kilowatts = row.watts_per_gpu * c.gpus() / 1e3;
  const double tokens = row.at.output_rate;
  j["replicas"] = row.replicas;
  j["replicas_low_90"] = row.low;
  j["replicas_high_90"] = row.high;
  j["served_low_90"] = row.served_low;
  j["served_high_90"] = row.served_high;
  j["draws_without_answer"] = row.hopeless;
  j["one_fewer_misses"] = row.fewer.empty() ? Json(nullptr) : Json(row.fewer);
  j["at_load"] = measured_json(plan.slo, row.at);
  j["kv_head_room"] = 1 - row.at.kv_peak;
  j["energy"] = {{"label", power_label},
                 {"kw_per_replica", kilowatts},
                 {"joules_per_output_token",
                  tokens > 0 ? Json(kilowatts * 1e3 * row.replicas / tokens) : Json(nullptr)}};
  return j;
}

Json speeds_json(const PlanSpec& plan, const PlanResult& result) {
  Json out = Json::array();
  for (std::size_t s = 0; s < result.sources.size(); ++s)
    for (const auto& precision : result.precisions)
      for (const auto& speed : by_speed(plan, result, s, precision)) {
        Json costs = Json::array();
        for (const auto& [i, cost] : speed.costs)
          costs.push_back(
              {{"set_up", result.of(result.rows[i]).label()}, {"per_million_output", cost}});
        out.push_back({{"prices", result.sources[s]},
                       {"precision", precision},
                       {"tokens_per_second_per_user", speed.tokens_per_second},
                       {"plans", costs}});
      }
  return out;
}

}  // namespace

std::string plan_json(const PlanSpec& plan, const PlanResult& result) {
  Json objectives = Json::array(), rows = Json::array(), rejected = Json::array(),
       swings = Json::array(), ranking = Json::array();
  for (const auto& o : plan.slo) objectives.push_back(o.text());
  for (const auto& row : result.rows) rows.push_back(row_json(plan, result, row));
  for (const auto& r : result.rejected)
    rejected.push_back({{"set_up", r.label},
                        {"precision", r.precision},
                        {"stage", r.stage},
                        {"reason", r.reason},
                        {"nearest", r.nearest}});
  for (const auto& s : result.swings)
    swings.push_back({{"what", s.what},
                      {"path", s.path},
                      {"low_change", s.low_change},
                      {"high_change", s.high_change},
                      {"capacity_low", s.low},
                      {"capacity_high", s.high},
                      {"premium", s.premium}});
  for (std::size_t s = 0; s < result.sources.size(); ++s)
    for (const auto& precision : result.precisions) {
      Json order = Json::array();
      for (const auto i : result.ranked(s, precision))
        order.push_back(result.of(result.rows[i]).label());
      ranking.push_back({{"prices", result.sources[s]},
                         {"precision", precision},
                         {"set_ups", order},
                         {"memory_note", memory_note(plan, result, s, precision)}});
    }
  const Demand& d = result.demand;
  const Json json = {{"command", "plan"},
                     {"format_version", metrics::format_version},
                     {"model_version", metrics::model_version},
                     {"name", plan.name},
                     {"description", plan.description},
                     {"model", plan.model},
                     {"goal", name(plan.goal)},
                     {"currency", plan.currency},
                     {"objectives", objectives},
                     {"load",
                      {{"peak", d.load},
                       {"unit", d.unit},
                       {"request_rate", d.rate > 0 ? Json(d.rate) : Json(nullptr)},
                       {"arithmetic", d.arithmetic},
                       {"hours", d.hours},
                       {"days_per_month", d.days_per_month}}},
                     {"answer", answer_sentence(plan, result)},
                     {"chosen", result.chosen ? row_json(plan, result, result.rows[*result.chosen])
                                              : Json(nullptr)},
                     {"ranking", ranking},
                     {"plans", rows},
                     {"rejected", rejected},
                     {"by_speed", speeds_json(plan, result)},
                     {"sensitivity", swings},
                     {"before_you_sign", before_you_sign(plan, result)},
                     {"launch", launch_text(plan, result)}};
  return json.dump(2) + '\n';
}

}  // namespace servegrid::plan
