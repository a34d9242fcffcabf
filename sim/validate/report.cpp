// The three forms of a validation report.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "validate/validate.hpp"

namespace servegrid::validate {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

bool inside_band(const Scored& s, Metric metric, const PreparedRow& p) {
  const auto& costs = p.steps->costs();
  const double band = metric == Metric::tpot ? costs.tpot_band
                      : s.prediction.queues  ? costs.ttft_queued_band
                                             : costs.ttft_band;
  const double measured = metric == Metric::tpot ? s.row->tpot_ms : s.row->ttft_ms;
  const double predicted = metric == Metric::tpot ? s.prediction.tpot_ms : s.prediction.ttft_ms;
  return std::abs(std::log(measured / predicted)) <= std::log1p(band);
}

std::map<const MeasuredRow*, const PreparedRow*> owners(const Report& report) {
  std::map<const MeasuredRow*, const PreparedRow*> map;
  for (const auto& p : report.prepared) map[&p.row] = &p;
  return map;
}

using Owners = std::map<const MeasuredRow*, const PreparedRow*>;

template <typename Keep>
Json metric_json(const Report& report, const Owners& owner, Metric metric, Keep keep) {
  const ErrorStats s = stats_of(report.scored, metric, keep);
  std::int64_t inside = 0;
  for (const auto& row : report.scored) {
    if (keep(row) && std::isfinite(signed_error(row, metric)) &&
        inside_band(row, metric, *owner.at(row.row)))
      ++inside;
  }
  Json j;
  j["n"] = s.n;
  if (s.n == 0) return j;
  j["median_ape"] = number(s.median_ape);
  j["mape"] = number(s.mape);
  j["p90_ape"] = number(s.p90_ape);
  j["median_signed"] = number(s.median_signed);
  j["signed_p5"] = number(s.signed_p5);
  j["signed_p95"] = number(s.signed_p95);
  j["within_band"] = static_cast<double>(inside) / static_cast<double>(s.n);
  return j;
}

template <typename Keep>
Json both_json(const Report& report, const Owners& owner, Keep keep) {
  Json j;
  j["tpot"] = metric_json(report, owner, Metric::tpot, keep);
  j["ttft"] = metric_json(report, owner, Metric::ttft, keep);
  return j;
}

Json share_json(const Decisions::Share& share) {
  Json j;
  j["pairs"] = share.pairs;
  if (share.pairs > 0)
    j["ordered_rightly"] = static_cast<double>(share.right) / static_cast<double>(share.pairs);
  return j;
}

using Group = std::tuple<std::string, std::string, std::string>;

std::set<Group> groups_of(const std::vector<Scored>& scored) {
  std::set<Group> groups;
  for (const auto& s : scored) groups.insert({s.gpu, s.engine, s.model});
  return groups;
}

auto in_group(const Group& g) {
  return [g](const Scored& s) { return Group{s.gpu, s.engine, s.model} == g; };
}

bool is_dense(const Scored& s, const Owners& owner) {
  for (const auto& group : owner.at(s.row)->scenario.model.layers) {
    if (group.mlp.experts > 0) return false;
  }
  return true;
}

template <typename Keep>
std::string table_line(const Report& report, const std::string& title, Keep keep) {
  const ErrorStats tpot = stats_of(report.scored, Metric::tpot, keep);
  const ErrorStats ttft = stats_of(report.scored, Metric::ttft, keep);
  if (tpot.n == 0 && ttft.n == 0) return {};
  return fmt::format(
      "{:<44} {:>5}  {:>6.1f} {:>6.1f} {:>6.1f} {:>+7.1f}  {:>7.1f} {:>7.1f} {:>7.1f} {:>+8.1f}\n",
      title, tpot.n, tpot.median_ape, tpot.mape, tpot.p90_ape, tpot.median_signed, ttft.median_ape,
      ttft.mape, ttft.p90_ape, ttft.median_signed);
}

// Errors of the other measured metrics, by name.
std::map<std::string, ErrorStats> other_stats(const Report& report) {
  std::map<std::string, std::vector<double>> errors;
  for (const auto& s : report.scored) {
    for (std::size_t i = 0; i < s.row->others.size(); ++i) {
      const auto& [name, measured] = s.row->others[i];
      const double error = 100 * (s.prediction.others.at(i) / measured - 1);
      if (std::isfinite(error)) errors[name].push_back(error);
    }
  }
  std::map<std::string, ErrorStats> stats;
  for (auto& [name, list] : errors) stats[name] = error_stats(std::move(list));
  return stats;
}

std::string share_line(const char* title, const Decisions::Share& share) {
  if (share.pairs == 0) return {};
  return fmt::format("  {:<28} {:>6.1f} %  of {} pairs\n", title,
                     100.0 * static_cast<double>(share.right) / static_cast<double>(share.pairs),
                     share.pairs);
}

// One line a group: that the rows of a group differ by drafts or none is no error of a row.
std::string medians_text(const Report& report) {
  if (report.by_median.empty()) return {};
  std::string out =
      "\nRuns that may have drafted tokens or not, simulated without: medians of groups only\n";
  for (const auto& g : groups_of(report.by_median)) {
    const ErrorStats tpot = stats_of(report.by_median, Metric::tpot, in_group(g));
    const ErrorStats ttft = stats_of(report.by_median, Metric::ttft, in_group(g));
    out += fmt::format("{:<44} {:>5}  TPOT {:>+6.1f}  TTFT {:>+6.1f}\n",
                       fmt::format("{} {} {}", std::get<0>(g), std::get<1>(g), std::get<2>(g)),
                       tpot.n, tpot.median_signed, ttft.median_signed);
  }
  return out;
}

const char* what_is_left_out(const std::string& what) {
  if (what == "model") return ", each model left out of the fit";
  if (what == "gpu") return ", with the kernels of each GPU's nearest relative and default costs";
  if (what == "kernels") return ", from data sheets and default costs alone";
  return "";
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string to_json(const Report& report) {
  const auto owner = owners(report);
  const auto all = [](const Scored&) { return true; };
  Json j;
  j["rows"] = report.rows;
  j["predicted"] = report.scored.size();
  j["left_out"] = report.left_out;
  j["skipped"] = Json::object();
  for (const auto& [reason, count] : report.skipped) j["skipped"][reason] = count;
  j["tpot"] = metric_json(report, owner, Metric::tpot, all);
  j["ttft"] = metric_json(report, owner, Metric::ttft, all);
  j["dense"] = both_json(report, owner, [&](const Scored& s) { return is_dense(s, owner); });
  j["moe"] = both_json(report, owner, [&](const Scored& s) { return !is_dense(s, owner); });
  j["queueing"] = both_json(report, owner, [](const Scored& s) { return s.prediction.queues; });
  j["not_queueing"] =
      both_json(report, owner, [](const Scored& s) { return !s.prediction.queues; });
  const auto& d = report.decisions;
  auto& decisions = j["decisions"];
  decisions["overall"] = share_json(d.overall);
  decisions["across_gpus"] = share_json(d.across_gpus);
  decisions["across_engines"] = share_json(d.across_engines);
  decisions["across_parallelism"] = share_json(d.across_parallelism);
  decisions["choices"] = d.choices;
  decisions["median_regret_percent"] = number(d.median_regret);
  decisions["mean_regret_percent"] = number(d.mean_regret);
  decisions["concurrency_cases"] = d.concurrency_cases;
  decisions["concurrency_median_error_percent"] = number(d.concurrency_median_error);
  j["others"] = Json::object();
  for (const auto& [name, s] : other_stats(report)) {
    j["others"][name] = {{"n", s.n},
                         {"median_ape", number(s.median_ape)},
                         {"mape", number(s.mape)},
                         {"p90_ape", number(s.p90_ape)},
                         {"median_signed", number(s.median_signed)}};
  }
  j["groups"] = Json::array();
  for (const auto& g : groups_of(report.scored)) {
    Json entry;
    entry["gpu"] = std::get<0>(g);
    entry["engine"] = std::get<1>(g);
    entry["model"] = std::get<2>(g);
    const auto both = both_json(report, owner, in_group(g));
    entry["tpot"] = both["tpot"];
    entry["ttft"] = both["ttft"];
    j["groups"].push_back(entry);
  }
  j["by_median"] = Json::array();
  for (const auto& g : groups_of(report.by_median)) {
    const ErrorStats tpot = stats_of(report.by_median, Metric::tpot, in_group(g));
    const ErrorStats ttft = stats_of(report.by_median, Metric::ttft, in_group(g));
    j["by_median"].push_back({{"gpu", std::get<0>(g)},
                              {"engine", std::get<1>(g)},
                              {"model", std::get<2>(g)},
                              {"n", tpot.n},
                              {"tpot_median_signed", number(tpot.median_signed)},
                              {"ttft_median_signed", number(ttft.median_signed)}});
  }
  j["by_concurrency"] = Json::array();
  std::set<std::int64_t> concurrencies;
  for (const auto& s : report.scored) concurrencies.insert(s.row->concurrency);
  for (const auto c : concurrencies) {
    Json entry = both_json(report, owner, [c](const Scored& s) { return s.row->concurrency == c; });
    entry["concurrency"] = c;
    j["by_concurrency"].push_back(entry);
  }
  return j.dump(2) + "\n";
}

std::string to_table(const Report& report) {
  const auto owner = owners(report);
  const auto& d = report.decisions;
  std::string out =
      "Decisions (set-ups at the same model and load, measured more than 10 % apart)\n";
  out += share_line("ordered rightly", d.overall);
  out += share_line("across GPUs", d.across_gpus);
  out += share_line("across engines", d.across_engines);
  out += share_line("across parallelism", d.across_parallelism);
  if (d.choices > 0)
    out += fmt::format("  {:<28} {:>6.1f} %  median, {:.1f} % mean, {} choices\n",
                       "regret of the pick", d.median_regret, d.mean_regret, d.choices);
  if (d.concurrency_cases > 0)
    out +=
        fmt::format("  {:<28} {:>6.1f} %  median error, {} series\n", "concurrency at TPOT limit",
                    d.concurrency_median_error, d.concurrency_cases);
  out += fmt::format("\nErrors in % of the measurement{}\n", what_is_left_out(report.left_out));
  out += fmt::format("{:<44} {:>5}  {:>29}  {:>33}\n", "", "", "TPOT median  mean   p90  signed",
                     "TTFT median    mean     p90   signed");
  out += table_line(report, "all", [](const Scored&) { return true; });
  out += table_line(report, "dense models", [&](const Scored& s) { return is_dense(s, owner); });
  out += table_line(report, "MoE models", [&](const Scored& s) { return !is_dense(s, owner); });
  out += table_line(report, "not queueing for KV",
                    [](const Scored& s) { return !s.prediction.queues; });
  out += table_line(report, "queueing for KV", [](const Scored& s) { return s.prediction.queues; });
  for (const auto& [name, s] : other_stats(report)) {
    out += fmt::format("{:<44} {:>5}  {:>6.1f} {:>6.1f} {:>6.1f} {:>+7.1f}\n", name, s.n,
                       s.median_ape, s.mape, s.p90_ape, s.median_signed);
  }
  out += "\n";
  for (const auto& g : groups_of(report.scored)) {
    out +=
        table_line(report, fmt::format("{} {} {}", std::get<0>(g), std::get<1>(g), std::get<2>(g)),
                   in_group(g));
  }
  out += medians_text(report);
  out += fmt::format("\n{} rows, {} predicted\n", report.rows, report.scored.size());
  for (const auto& [reason, count] : report.skipped)
    out += fmt::format("{:>6}  {}\n", count, reason);
  return out;
}

std::string rows_csv(const Report& report) {
  std::string out =
      "line,id,gpu,engine,engine_version,model,weights,tp,ep,dp,isl,osl,concurrency,"
      "measured_ttft_ms,predicted_ttft_ms,measured_tpot_ms,predicted_tpot_ms,queues,trust\n";
  for (const auto& s : report.scored) {
    const auto& r = *s.row;
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{:.6g},{},{}\n",
                       r.line, quoted(r.id), s.gpu, s.engine, quoted(r.engine_version), s.model,
                       s.weights, r.tp, r.ep, r.dp, r.isl, r.osl, r.concurrency, r.ttft_ms,
                       s.prediction.ttft_ms, r.tpot_ms, s.prediction.tpot_ms,
                       s.prediction.queues ? 1 : 0, quoted(s.prediction.trust));
  }
  return out;
}

}  // namespace servegrid::validate
