#include "cli/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/table.hpp"
#include "plan/energy.hpp"
#include "plan/report.hpp"

namespace servegrid::cli {

namespace {

using plan::PlanResult;
using plan::PlanSpec;

constexpr std::size_t most_rejected = 60;  // lines on a terminal; the files have all

std::string heading(const std::string& text) {
  return '\n' + text + '\n' + std::string(text.size(), '-') + '\n';
}

std::string time_text(double seconds) {
  if (std::isnan(seconds)) return "-";
  return seconds >= 10  ? fixed(seconds, 1) + " s"
         : seconds >= 1 ? fixed(seconds, 2) + " s"
                        : fixed(seconds * 1e3, seconds < 0.1 ? 1 : 0) + " ms";
}

std::string percent(double share) {
  return fixed(share * 100, 0);
}

std::string replicas_text(const plan::Row& row, const plan::Option& o) {
  if (!row.finalist) return fmt::format("~{}", o.replicas);
  return row.high > 0 ? fmt::format("{} ({}-{})", o.replicas, row.low, row.high)
                      : std::to_string(o.replicas);
}

std::string ranking_text(const PlanSpec& plan, const PlanResult& result, std::size_t s,
                         const std::string& precision) {
  const auto order = result.ranked(s, precision);
  if (order.empty()) return {};
  const bool money = plan.priced();
  std::vector<std::string> header = {"#", "set-up", "replicas (90 %)", "GPUs rented"};
  if (money) header.emplace_back(plan.currency + " a month");
  header.emplace_back("of best");
  for (const auto& o : plan.slo) header.push_back(o.text().substr(0, o.text().find(" <=")));
  for (const char* column : {"out tok/s", "KV free %", "kW", "best in %", "trust"})
    header.emplace_back(column);
  Table table(header);
  const double best = result.rows[order.front()].options[s].score;
  for (const auto i : order) {
    const auto& row = result.rows[i];
    const auto& o = row.options[s];
    std::vector<std::string> cells = {std::to_string(o.rank), result.of(row).label(),
                                      replicas_text(row, o), std::to_string(o.rental->gpus())};
    if (o.rental->spare > 0) cells.back() += fmt::format(" (+{} node)", o.rental->spare);
    if (money) cells.push_back(fixed(o.rental->total(), 0));
    cells.push_back(fixed(best > 0 ? o.score / best : 1, 2) + "x");
    const auto& m = row.finalist ? row.at : row.capacity.at;
    for (const double v : m.latencies) cells.push_back(row.finalist ? time_text(v) : "-");
    if (row.finalist)
      for (const auto& cell :
           {fixed(m.output_rate, 0), percent(1 - m.kv_peak),
            fixed(row.watts_per_gpu * result.of(row).gpus() * row.replicas / 1e3, 1),
            percent(o.wins)})
        cells.push_back(cell);
    else
      cells.insert(cells.end(), 4, "-");
    cells.push_back(result.of(row).rig->steps().trust());
    table.row(cells);
  }
  const std::string note = plan::memory_note(plan, result, s, precision);
  return heading(fmt::format("Plans in {}{}", precision,
                             money ? ", prices: " + result.sources[s] : std::string())) +
         table.text() + (note.empty() ? "" : note + '\n');
}

std::string costs_text(const PlanSpec& plan, const PlanResult& result, std::size_t s) {
  Table table({"set-up", "precision", "input", "cached", "output", "all tokens",
               "output, full load", "all, full load", "break-even M tokens/month"});
  for (const auto& precision : result.precisions)
    for (const auto i : result.ranked(s, precision)) {
      const auto& row = result.rows[i];
      const auto& o = row.options[s];
      if (!row.finalist || o.daily.total <= 0) continue;
      const auto cell = [](double v) { return v > 0 ? fixed(v, 3) : std::string("-"); };
      table.row({result.of(row).label(), precision, cell(o.daily.input), cell(o.daily.cached),
                 cell(o.daily.output), cell(o.daily.total), cell(o.full.output), cell(o.full.total),
                 o.break_even > 0 ? fixed(o.break_even / 1e6, 0) : "-"});
    }
  if (table.empty()) return {};
  std::string out = heading(fmt::format("{} per million tokens over the month's load, prices: {}",
                                        plan.currency, result.sources[s])) +
                    table.text();
  return out + fmt::format(
                   "By the GPUs' time: prefill to input tokens (a cached one weighs {}), decode to "
                   "output tokens, idle time in proportion: the parts add up to the month.\n",
                   plan.cached_weight);
}

std::string speeds_text(const PlanSpec& plan, const PlanResult& result, std::size_t s) {
  if (!plan.priced()) return {};
  Table table({"tok/s a user", "precision", "cheapest", "per M output", "next", "per M output"});
  bool flips = false;
  for (const auto& precision : result.precisions) {
    std::string last;
    for (const auto& speed : plan::by_speed(plan, result, s, precision)) {
      const auto label = [&](std::size_t k) {
        return result.of(result.rows[speed.costs[k].first]).label();
      };
      std::vector<std::string> cells = {fixed(speed.tokens_per_second, 0), precision, label(0),
                                        fixed(speed.costs[0].second, 3)};
      if (speed.costs.size() > 1) {
        cells.push_back(label(1));
        cells.push_back(fixed(speed.costs[1].second, 3));
      } else {
        cells.insert(cells.end(), {"-", "-"});
      }
      flips = flips || (!last.empty() && last != label(0));
      last = label(0);
      table.row(cells);
    }
  }
  if (table.empty()) return {};
  return heading("Cheapest by speed for each user, GPUs full, prices: " + result.sources[s]) +
         table.text() +
         (flips ? "The order changes with the speed that users are promised.\n" : "");
}

std::string rejected_text(const PlanResult& result) {
  if (result.rejected.empty()) return {};
  Table table({"set-up", "stage", "why not", "nearest"});
  for (std::size_t i = 0; i < std::min(most_rejected, result.rejected.size()); ++i) {
    const auto& r = result.rejected[i];
    table.row({r.label, r.stage, r.reason, r.nearest.empty() ? "-" : r.nearest});
  }
  std::string out =
      heading(fmt::format("Rejected: {} candidates", result.rejected.size())) + table.text();
  if (result.rejected.size() > most_rejected)
    out += fmt::format("and {} more: --output DIR writes rejected.csv\n",
                       result.rejected.size() - most_rejected);
  return out;
}

std::string swings_text(const PlanResult& result) {
  if (result.swings.empty()) return {};
  Table table({"what", "change", "capacity", "change", "capacity", "worth"});
  for (const auto& s : result.swings)
    table.row({s.what, s.low_change, fmt::format("{:+.0f} %", (s.low - 1) * 100), s.high_change,
               fmt::format("{:+.0f} %", (s.high - 1) * 100),
               fmt::format("{:+.0f} %", s.premium * 100)});
  return heading("Sensitivity of the chosen plan (load a replica sustains within the objectives)") +
         table.text() +
         "worth: the premium on a GPU's price at which the better side costs the same.\n";
}

}  // namespace

std::string plan_text(const PlanSpec& plan, const PlanResult& result) {
  std::string out = (plan.description.empty() ? plan.name : plan.description) + '\n';
  out += heading("The load");
  for (const auto& line : result.demand.arithmetic) out += "  " + line + '\n';
  out += fmt::format("  to plan for: {} {}\n  objectives: {}{}\n", number(result.demand.load),
                     result.demand.unit, plan::text(plan.slo),
                     plan.slo_from_preset ? " (the preset's)" : "");
  out += heading("The answer") + plan::answer_sentence(plan, result) + '\n';
  for (std::size_t s = 0; s < result.sources.size(); ++s) {
    for (const auto& precision : result.precisions) out += ranking_text(plan, result, s, precision);
    out += costs_text(plan, result, s) + speeds_text(plan, result, s);
  }
  if (!result.rows.empty())
    out += fmt::format(
        "\n~ is an estimate from one replica; the others were simulated as fleets with {} seeds.\n"
        "best in: share of draws of the model's error; kW: GPU boards in use, {}.\n",
        3, plan::power_label);
  out += swings_text(result) + rejected_text(result);
  const auto list = plan::before_you_sign(plan, result);
  if (!list.empty()) out += heading("Before you sign");
  for (const auto& line : list) out += "- " + line + '\n';
  if (result.chosen) out += heading("Launch and check") + plan::launch_text(plan, result);
  return out;
}

}  // namespace servegrid::cli
