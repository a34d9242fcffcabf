#include "plan/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "plan/launch.hpp"
#include "plan/stages.hpp"

namespace servegrid::plan {

namespace {

std::string replicas_text(const Row& row, int replicas) {
  std::string out = fmt::format("{} replica{}", replicas, replicas == 1 ? "" : "s");
  if (row.high > 0) out += fmt::format(" ({}-{} at 90 %)", row.low, row.high);
  return out;
}

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string commented(const std::string& text) {
  std::string out;
  std::size_t start = 0;
  while (start < text.size()) {
    const auto end = std::min(text.find('\n', start), text.size());
    out += "# " + text.substr(start, end - start) + '\n';
    start = end + 1;
  }
  return out;
}

std::size_t chosen_source(const PlanResult& result) {
  const auto& options = result.rows[*result.chosen].options;
  for (std::size_t s = 0; s < options.size(); ++s)
    if (options[s].rental) return s;
  return 0;
}

int fleet_of(const Row& row, const Option& o) {
  return row.finalist && row.replicas > 0 ? row.replicas : o.replicas;
}

}  // namespace

std::string answer_sentence(const PlanSpec& plan, const PlanResult& result) {
  if (!result.chosen)
    return fmt::format("No candidate serves this load within {}.", text(plan.slo));
  const Row& row = result.rows[*result.chosen];
  const Candidate& c = result.of(row);
  const auto s = chosen_source(result);
  const Option& o = row.options[s];
  std::string out = fmt::format("{} of {}: {} GPU{}", replicas_text(row, fleet_of(row, o)),
                                c.label(), o.rental->gpus(), o.rental->gpus() == 1 ? "" : "s");
  if (o.rental->spare > 0)
    out += fmt::format(" in {} nodes, {} of them spare", o.rental->nodes, o.rental->spare);
  if (plan.priced())
    out += fmt::format(", {:.0f} {} a month ({}, {})", o.rental->total(), plan.currency, o.source,
                       o.rental->offer);
  if (serves_most(plan.goal))
    out +=
        fmt::format(", serving {:.4g} {} ({:.4g} to {:.4g} at 90 %) of {:.4g} asked for", o.served,
                    result.demand.unit, row.served_low, row.served_high, result.demand.load);
  if (o.daily.output > 0)
    out += fmt::format(", {:.2f} {} per million output tokens at this load", o.daily.output,
                       plan.currency);
  out += fmt::format("; it is the best {} plan in {:.0f} % of draws of the model's error",
                     c.precision(), o.wins * 100);
  if (!row.fewer.empty()) out += fmt::format("; one replica fewer misses ({})", row.fewer);
  const auto order = result.ranked(s, c.precision());
  if (order.size() > 1) {
    const Row& next = result.rows[order[1]];
    const Option& n = next.options[s];
    out += fmt::format(". Next: {} of {}", replicas_text(next, fleet_of(next, n)),
                       result.of(next).label());
    if (plan.goal == Goal::cheapest && o.rental->total() > 0)
      out += fmt::format(" at {:.2f}x the cost", n.rental->total() / o.rental->total());
  }
  return out + ".";
}

std::vector<std::string> before_you_sign(const PlanSpec& plan, const PlanResult& result) {
  std::vector<std::string> out;
  if (!result.chosen) return out;
  const Row& row = result.rows[*result.chosen];
  const Candidate& c = result.of(row);
  const auto& gpu = c.scenario.gpu;
  const Option& o = row.options[chosen_source(result)];
  for (const auto& caveat : gpu.software.caveats) out.push_back("check: " + caveat);
  bool published = false;
  const std::string checkpoint = checkpoint_of(c.scenario, published);
  out.push_back(
      published
          ? fmt::format("checkpoint: {} in {} is published", checkpoint, catalog::name(c.weights))
          : fmt::format("checkpoint: none of {} in {} is known to the catalogue; quantise "
                        "{} yourself, and measure its answers",
                        c.scenario.model.name, catalog::name(c.weights), checkpoint));
  if (!c.attention.empty()) out.push_back("attention: " + c.attention);
  out.push_back(fmt::format("trust: {} (step times within {:.0f} %, TTFT within {:.0f} % at 90 %)",
                            c.rig->steps().trust(), c.rig->steps().costs().tpot_band * 100,
                            c.rig->steps().costs().ttft_band * 100));
  if (row.hopeless > 0.005)
    out.push_back(
        fmt::format("in {:.0f} % of the draws no number of replicas meets the objectives: "
                    "a single request is already too slow",
                    row.hopeless * 100));
  const double each = result.demand.load / std::max(1, row.replicas);
  out.push_back(
      fmt::format("trial: rent one replica ({} x {}) for a month and run the bench command "
                  "at {:.4g} {}",
                  c.gpus(), gpu.title, each, result.demand.unit));
  out.push_back(
      fmt::format("reversed by: less than {:.4g} {} a replica within {} (predicted {:.4g}): {}",
                  each, result.demand.unit, text(plan.slo), row.capacity.load,
                  serves_most(plan.goal) ? "it serves less" : "another replica is needed"));
  const auto order = result.ranked(chosen_source(result), c.precision());
  if (plan.goal == Goal::cheapest && order.size() > 1 && o.rental->total() > 0) {
    const double ratio =
        result.rows[order[1]].options[chosen_source(result)].rental->total() / o.rental->total();
    out.push_back(fmt::format("reversed by: {} of the predicted capacity, where {} is cheaper",
                              ratio > 1 ? fmt::format("less than {:.0f} %", 100 / ratio)
                                        : std::string("anything below all"),
                              result.of(result.rows[order[1]]).label()));
  }
  if (o.rental->kind == "from" || o.rental->kind == "inferred")
    out.push_back(fmt::format("price: '{}' is a price of kind '{}', not an offer to sign",
                              o.rental->offer, o.rental->kind));
  return out;
}

std::string winner_text(const PlanSpec& plan, const PlanResult& result) {
  if (!result.chosen) return {};
  const Row& row = result.rows[*result.chosen];
  const Candidate& c = result.of(row);
  std::string text = candidate_text(plan, result.demand, c, std::max(1, row.replicas));
  for (const auto& [path, value] : plan.candidates.set)
    text += fmt::format("# run with --set '{}={}'\n", path, value);
  std::string description = plan.name + ": " + c.label();
  return "# The chosen plan. Objectives: " + plan::text(plan.slo) + "\ndescription: \"" +
         description + "\"\n" + text;
}

std::string launch_text(const PlanSpec& plan, const PlanResult& result) {
  if (!result.chosen) return {};
  const Row& row = result.rows[*result.chosen];
  const Candidate& c = result.of(row);
  const int replicas = std::max(1, row.replicas);
  std::string out = "#!/bin/sh\n" + commented(answer_sentence(plan, result));
  out += fmt::format("# each replica ({} in all), on {} x {} ({}):\n", replicas, c.gpus(),
                     c.scenario.gpu.title, c.engine);
  out += launch_command(c.scenario) + "\n\n";
  out += fmt::format("# the check, against one replica at its share of the load ({}):\n",
                     plan::text(plan.slo));
  const double load = serves_most(plan.goal) ? row.at.load : result.demand.load;
  out +=
      bench_command(c.scenario, load / replicas, row.at.request_rate / replicas, plan.slo) + '\n';
  return out;
}

std::vector<SpeedBest> by_speed(const PlanSpec& plan, const PlanResult& result, std::size_t source,
                                const std::string& precision) {
  static constexpr std::array<double, 9> speeds = {10, 15, 20, 30, 40, 60, 80, 100, 150};
  std::vector<SpeedBest> out;
  for (const double speed : speeds) {
    SpeedBest best{speed, {}};
    for (const auto i : result.ranked(source, precision)) {
      const Row& row = result.rows[i];
      if (!row.finalist) continue;
      std::string reason;
      const auto one = rent(plan, result.sources[source], result.of(row).scenario.gpu,
                            result.of(row).gpus(), result.of(row).parallel.pp, 1, reason);
      if (!one) continue;
      // A replica's share of the node it is rented in.
      const int each = std::max(1, one->node_gpus / result.of(row).gpus());
      const double month = one->month / one->nodes / each;
      double tokens = 0;
      for (const auto& point : row.curve)
        if (point.measured.counted > 0 && !point.measured.backlog && point.measured.tpot_mean > 0 &&
            1 / point.measured.tpot_mean >= speed)
          tokens = std::max(tokens, point.measured.output_rate);
      if (tokens > 0)
        best.costs.emplace_back(i, month / (tokens * catalog::hours_per_month * 3600) * 1e6);
    }
    std::stable_sort(best.costs.begin(), best.costs.end(),
                     [](const auto& a, const auto& b) { return a.second < b.second; });
    if (!best.costs.empty()) out.push_back(std::move(best));
  }
  return out;
}

std::string memory_note(const PlanSpec& plan, const PlanResult& result, std::size_t source,
                        const std::string& precision) {
  const auto order = result.ranked(source, precision);
  if (order.size() < 2 || !plan.priced()) return {};
  const auto memory = [&](std::size_t i) {
    const auto& rental = *result.rows[i].options[source].rental;
    const double bytes = rental.gpus() * result.of(result.rows[i]).scenario.gpu.memory.label_bytes;
    return bytes / 1e9 / std::max(1e-9, rental.total());
  };
  std::size_t most = order.front();
  for (const auto i : order)
    if (memory(i) > memory(most) * 1.001) most = i;
  if (result.of(result.rows[most]).gpu == result.of(result.rows[order.front()]).gpu) return {};
  return fmt::format(
      "By memory for the money {} would lead ({:.3f} GB per {} a month against {:.3f}); simulated, "
      "{} "
      "does and it comes {}.",
      result.of(result.rows[most]).gpu, memory(most), plan.currency, memory(order.front()),
      result.of(result.rows[order.front()]).label(), result.rows[most].options[source].rank);
}

std::string plans_csv(const PlanSpec& plan, const PlanResult& result) {
  std::string out =
      "precision,prices,rank,set_up,gpu,engine,weights,kv,tp,pp,ep,dp,replicas,replicas_low_90,"
      "replicas_high_90,gpus,nodes,month,currency,served,load,unit,capacity_per_replica,checked,"
      "wins,"
      "per_million_input,per_million_cached,per_million_output,per_million_total,"
      "full_per_million_output,full_per_million_total,break_even_tokens_a_month,output_throughput,"
      "kv_use_peak,watts_per_gpu,trust";
  for (const auto& o : plan.slo) out += ',' + o.name();
  out += '\n';
  for (std::size_t s = 0; s < result.sources.size(); ++s)
    for (const auto& precision : result.precisions)
      for (const auto i : result.ranked(s, precision)) {
        const Row& row = result.rows[i];
        const Candidate& c = result.of(row);
        const Option& o = row.options[s];
        const Measured& m = row.finalist ? row.at : row.capacity.at;
        out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},", precision,
                           field(o.source), o.rank, field(c.label()), c.gpu, c.engine,
                           catalog::name(c.weights), c.kv, c.parallel.tp, c.parallel.pp,
                           c.parallel.ep, c.parallel.dp, o.replicas, row.low, row.high,
                           o.rental->gpus(), o.rental->nodes);
        out += fmt::format(
            "{:.10g},{},{:.10g},{:.10g},{},{:.10g},{},{:.6g},{:.8g},{:.8g},{:.8g},{:.8g},{:.8g},"
            "{:.8g},{:.8g},{:.8g},{:.6g},{:.6g},{}",
            o.rental->total(), plan.currency, o.served, result.demand.load, result.demand.unit,
            row.capacity.load, row.finalist ? "fleet" : "estimate", o.wins, o.daily.input,
            o.daily.cached, o.daily.output, o.daily.total, o.full.output, o.full.total,
            o.break_even, m.output_rate, m.kv_peak, row.watts_per_gpu,
            field(c.rig->steps().trust()));
        for (const double v : m.latencies)
          out += std::isnan(v) ? std::string(",") : fmt::format(",{:.8g}", v * 1e3);
        out += '\n';
      }
  return out;
}

std::string rejected_csv(const PlanResult& result) {
  std::string out = "precision,set_up,stage,reason,nearest\n";
  for (const auto& r : result.rejected)
    out += fmt::format("{},{},{},{},{}\n", r.precision, field(r.label), r.stage, field(r.reason),
                       field(r.nearest));
  return out;
}

std::string hours_csv(const PlanSpec& plan, const PlanResult& result) {
  std::string out = "hour,share_of_peak,load,unit,replicas_needed,replicas_rented,month_scaled\n";
  if (!result.chosen) return out;
  const Row& row = result.rows[*result.chosen];
  const Option& o = row.options[chosen_source(result)];
  const double each = result.demand.load / std::max(1, row.replicas);
  for (std::size_t h = 0; h < 24; ++h) {
    const double load = result.demand.hours.at(h) * result.demand.load;
    const int needed = load > 0 ? std::max(1, static_cast<int>(std::ceil(load / each - 1e-9))) : 0;
    std::string reason;
    const auto rental = rent(plan, o.source, result.of(row).scenario.gpu, result.of(row).gpus(),
                             result.of(row).parallel.pp, std::max(1, needed), reason);
    out += fmt::format("{},{:.6g},{:.6g},{},{},{},{:.8g}\n", h, result.demand.hours.at(h), load,
                       result.demand.unit, needed, row.replicas,
                       rental && needed > 0 ? rental->month / 24 : 0.0);
  }
  return out;
}

std::string curves_csv(const PlanSpec& plan, const PlanResult& result) {
  std::string out =
      "set_up,load_per_replica,held,output_throughput,input_throughput,cached_throughput,"
      "mean_ttft_ms,mean_tpot_ms,mean_e2el_ms,attainment,kv_use_peak,running,waiting";
  for (const auto& o : plan.slo) out += ',' + o.name();
  out += '\n';
  for (const auto& row : result.rows)
    for (const auto& [load, m] : row.curve) {
      out += fmt::format(
          "{},{:.8g},{},{:.8g},{:.8g},{:.8g},{:.8g},{:.8g},{:.8g},{:.6g},{:.6g},{:.6g},{:.6g}",
          field(result.of(row).label()), load, m.meets(plan.slo), m.output_rate, m.input_rate,
          m.cached_rate, m.ttft_mean * 1e3, m.tpot_mean * 1e3, m.e2el_mean * 1e3, m.attainment,
          m.kv_peak, m.running, m.waiting);
      for (const double v : m.latencies)
        out += std::isnan(v) ? std::string(",") : fmt::format(",{:.8g}", v * 1e3);
      out += '\n';
    }
  return out;
}

std::string sensitivity_csv(const PlanResult& result) {
  std::string out = "what,path,low_change,high_change,capacity_low,capacity_high,premium\n";
  for (const auto& s : result.swings)
    out += fmt::format("{},{},{},{},{:.6g},{:.6g},{:.6g}\n", field(s.what), field(s.path),
                       field(s.low_change), field(s.high_change), s.low, s.high, s.premium);
  return out;
}

std::vector<std::pair<std::string, std::string>> plan_files(const PlanSpec& plan,
                                                            const PlanResult& result) {
  std::vector<std::pair<std::string, std::string>> files = {
      {"plan.json", plan_json(plan, result)},
      {"plans.csv", plans_csv(plan, result)},
      {"rejected.csv", rejected_csv(result)},
      {"curves.csv", curves_csv(plan, result)},
      {"plan.resolved.yaml", plan.text}};
  if (result.chosen) {
    files.emplace_back("hours.csv", hours_csv(plan, result));
    files.emplace_back("winner.yaml", winner_text(plan, result));
    files.emplace_back("launch.sh", launch_text(plan, result));
  }
  if (!result.swings.empty()) files.emplace_back("sensitivity.csv", sensitivity_csv(result));
  return files;
}

}  // namespace servegrid::plan
