#include "validate/disaggregated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "catalog/cluster.hpp"
#include "cluster/simulate.hpp"
#include "jobs/fork_pool.hpp"
#include "memory/ledger.hpp"
#include "units/csv.hpp"
#include "validate/predict.hpp"

namespace servegrid::validate {
namespace {

using Json = nlohmann::ordered_json;
using units::CsvReader;

constexpr double max_gpus = 1e4, max_ms = 1e9, max_tokens = 1e7;
// A slot of the closed loop sends so many requests; the runs sent ten.
constexpr std::int64_t prompts_per_slot = 4;

/// One worker of a half: the sample's columns `prefill_...` or `decode_...`.
void read_worker(const CsvReader& csv, const std::string& half, MeasuredRow& row) {
  const auto number = [&](const char* column) {
    return static_cast<int>(csv.number_or(half + column, 0, max_gpus, 0));
  };
  row.tp = std::max(1, number("tp_size"));
  row.dp = std::max(1, number("attention_dp_size"));
  row.ep = std::max(1, number("moe_ep_size"));
  if (row.tp > 1 && row.tp == row.dp) row.tp = 1;  // the GPUs counted twice
  row.gpus = row.tp * row.dp;
  row.ep = std::min(row.ep, row.gpus);
}

std::string reason_to_skip(const SplitRow& r) {
  if (r.prefill_workers < 1 || r.decode_workers < 1) return "number of workers not recorded";
  if (r.decode.concurrency < 1) return "no concurrency recorded";
  if (r.tpot_ms <= 0 || r.ttft_ms <= 0) return "no measurement";
  const bool grace = r.decode.gpu == "gb200" || r.decode.gpu == "gb300";
  if (!grace && (r.prefill.gpus > 8 || r.decode.gpus > 8)) return "a worker over several servers";
  return {};
}

SplitRow read_row(const CsvReader& csv) {
  SplitRow r;
  r.line = csv.line();
  r.id = csv.text("id");
  MeasuredRow row;
  row.line = r.line;
  row.id = r.id;
  row.engine = csv.text("backend");
  row.model = csv.text("model_path");
  row.gpu = csv.text("system");
  const auto optional = [&](const char* column) {
    return csv.has(column) ? csv.text(column) : std::string();
  };
  row.date = optional("measured_on");
  const std::string gemm = optional("gemm_quant_mode");
  row.weights = !gemm.empty() ? gemm : optional("precision");
  row.moe_weights = optional("moe_quant_mode");
  row.isl = std::llround(csv.number("isl", 1, max_tokens));
  row.osl = std::llround(csv.number("osl", 1, max_tokens));
  row.concurrency = std::llround(csv.number_or("concurrency", 0, 1e6, 0));
  row.protocol.spread = 0.2;
  row.protocol.prompts_per_slot = prompts_per_slot;
  r.ttft_ms = csv.number_or("silicon_ttft_ms", 0, max_ms, 0);
  r.tpot_ms = csv.number_or("silicon_tpot_ms", 0, max_ms, 0);
  r.prefill_workers = static_cast<int>(csv.number_or("prefill_num_workers", 0, max_gpus, 0));
  r.decode_workers = static_cast<int>(csv.number_or("decode_num_workers", 0, max_gpus, 0));
  r.prefill = r.decode = row;
  read_worker(csv, "prefill_", r.prefill);
  read_worker(csv, "decode_", r.decode);
  r.skip = reason_to_skip(r);
  return r;
}

cluster::PoolModel model_of(const PreparedRow& p) {
  const memory::Ledger ledger = memory::size(p.scenario, {});
  cluster::PoolModel m;
  m.steps = p.steps.get();
  m.num_blocks = p.num_blocks;
  m.blocks_fixed = p.blocks_fixed;
  m.kv_bytes_per_token = ledger.kv_bytes_per_token_per_gpu;
  return m;
}

catalog::PoolSpec pool_of(const PreparedRow& p, const char* name, catalog::PoolRole role,
                          int workers) {
  catalog::PoolSpec pool = catalog::pools_of(p.scenario).front();
  pool.name = name;
  pool.role = role;
  pool.replicas = workers;
  return pool;
}

struct Means {
  double ttft_ms = 0, tpot_ms = 0;
};

Means simulate(const SplitRow& r, const PreparedRow& prefill, const PreparedRow& decode) {
  catalog::Scenario s = decode.scenario;
  catalog::ClusterSpec cluster;
  cluster.pools = {pool_of(prefill, "prefill", catalog::PoolRole::prefill, r.prefill_workers),
                   pool_of(decode, "decode", catalog::PoolRole::decode, r.decode_workers)};
  s.cluster = std::make_shared<const catalog::ClusterSpec>(std::move(cluster));
  cluster::RunOptions options;
  options.timeline = false;
  const auto result =
      cluster::simulate_on_simgrid(s, {model_of(prefill), model_of(decode)}, options);
  Means sum;
  std::int64_t n = 0, n_tpot = 0;
  for (const auto& record : result.requests) {
    if (record.outcome != metrics::Outcome::completed) continue;
    ++n;
    sum.ttft_ms += 1e3 * to_seconds(record.first_token - record.arrival);
    if (record.output_tokens < 2) continue;
    ++n_tpot;
    sum.tpot_ms += 1e3 * to_seconds(record.finish - record.first_token) /
                   static_cast<double>(record.output_tokens - 1);
  }
  if (n == 0 || n_tpot == 0) throw RunError("no request completed");
  return {sum.ttft_ms / static_cast<double>(n), sum.tpot_ms / static_cast<double>(n_tpot)};
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::vector<double> errors(const SplitReport& report, Metric metric, const std::string& model) {
  std::vector<double> out;
  for (const SplitRow& r : report.rows) {
    if (!r.skip.empty() || (!model.empty() && r.model != model)) continue;
    const double predicted = metric == Metric::tpot ? r.tpot_predicted : r.ttft_predicted;
    const double measured = metric == Metric::tpot ? r.tpot_ms : r.ttft_ms;
    out.push_back(100 * (predicted / measured - 1));
  }
  return out;
}

Json stats_json(const ErrorStats& s) {
  Json j;
  j["n"] = s.n;
  if (s.n == 0) return j;
  j["median_ape"] = s.median_ape;
  j["mape"] = s.mape;
  j["p90_ape"] = s.p90_ape;
  j["median_signed"] = s.median_signed;
  return j;
}

std::set<std::string> models_of(const SplitReport& report) {
  std::set<std::string> models;
  for (const SplitRow& r : report.rows) {
    if (r.skip.empty()) models.insert(r.model);
  }
  return models;
}

}  // namespace

SplitReport validate_disaggregated(const std::string& path, unsigned jobs) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + ": cannot be read: does the file exist?", {path, 0, 0});
  CsvReader csv(in, path);
  SplitReport report;
  std::set<std::tuple<std::string, std::string, std::string, std::int64_t, std::int64_t, double>>
      seen;
  while (csv.next()) {
    if (csv.text("mode") != "disagg") continue;
    SplitRow row = read_row(csv);
    const bool is_new = seen.insert({row.decode.gpu, row.decode.model, row.decode.engine,
                                     row.decode.isl, row.decode.concurrency, row.tpot_ms})
                            .second;
    if (row.skip.empty() && !is_new) row.skip = "copy";
    report.rows.push_back(std::move(row));
  }
  Preparer preparer;
  std::vector<std::size_t> to_run;
  std::vector<PreparedRow> prefill, decode;
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    SplitRow& r = report.rows[i];
    if (!r.skip.empty()) continue;
    PreparedRow p = preparer.prepare(r.prefill), d = preparer.prepare(r.decode);
    r.skip = !p.skip.empty() ? p.skip : d.skip;
    if (!r.skip.empty()) continue;
    r.gpu = d.gpu_key;
    r.engine = d.engine_key;
    r.model = d.scenario.model.name;
    to_run.push_back(i);
    prefill.push_back(std::move(p));
    decode.push_back(std::move(d));
  }
  const auto outcomes = jobs::run_in_workers(to_run.size(), jobs, [&](std::size_t k) {
    const Means means = simulate(report.rows[to_run[k]], prefill[k], decode[k]);
    return fmt::format("{} {}", means.ttft_ms, means.tpot_ms);
  });
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    SplitRow& r = report.rows[to_run[k]];
    if (!outcomes[k].ok) {
      r.skip = first_line(outcomes[k].error);
      continue;
    }
    const std::size_t space = outcomes[k].bytes.find(' ');
    r.ttft_predicted = std::stod(outcomes[k].bytes.substr(0, space));
    r.tpot_predicted = std::stod(outcomes[k].bytes.substr(space + 1));
  }
  for (const SplitRow& r : report.rows) {
    if (!r.skip.empty()) ++report.skipped[r.skip];
  }
  return report;
}

std::string to_json(const SplitReport& report) {
  Json j;
  j["rows"] = report.rows.size();
  j["skipped"] = Json::object();
  for (const auto& [reason, count] : report.skipped) j["skipped"][reason] = count;
  j["tpot"] = stats_json(error_stats(errors(report, Metric::tpot, {})));
  j["ttft"] = stats_json(error_stats(errors(report, Metric::ttft, {})));
  for (const std::string& model : models_of(report)) {
    j["models"][model]["tpot"] = stats_json(error_stats(errors(report, Metric::tpot, model)));
    j["models"][model]["ttft"] = stats_json(error_stats(errors(report, Metric::ttft, model)));
  }
  return j.dump(2);
}

std::string to_table(const SplitReport& report) {
  std::string out = fmt::format(
      "{:<28} {:>5}  {:>26}  {:>26}\n{:<28} {:>5}  {:>8} {:>8} {:>8}  "
      "{:>8} {:>8} {:>8}\n",
      "disaggregated rows", "", "TPOT error %", "TTFT error %", "", "n", "median", "mean", "signed",
      "median", "mean", "signed");
  const auto line = [&](const std::string& title, const std::string& model) {
    const ErrorStats tpot = error_stats(errors(report, Metric::tpot, model));
    const ErrorStats ttft = error_stats(errors(report, Metric::ttft, model));
    if (tpot.n == 0) return;
    out += fmt::format("{:<28} {:>5}  {:>8.1f} {:>8.1f} {:>+8.1f}  {:>8.1f} {:>8.1f} {:>+8.1f}\n",
                       title, tpot.n, tpot.median_ape, tpot.mape, tpot.median_signed,
                       ttft.median_ape, ttft.mape, ttft.median_signed);
  };
  line("all", {});
  for (const std::string& model : models_of(report)) line("  " + model, model);
  for (const auto& [reason, count] : report.skipped) {
    out += fmt::format("skipped {:>5}: {}\n", count, reason);
  }
  return out;
}

std::string rows_csv(const SplitReport& report) {
  std::string out =
      "line,id,gpu,engine,model,prefill_workers,prefill_gpus,decode_workers,decode_gpus,"
      "concurrency,ttft_ms,ttft_predicted_ms,tpot_ms,tpot_predicted_ms,skip\n";
  for (const SplitRow& r : report.rows) {
    std::string skip;
    for (const char c : r.skip) skip += c == '"' ? '\'' : c;
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},\"{}\"\n", r.line, r.id, r.gpu,
                       r.engine, r.model, r.prefill_workers, r.prefill.gpus, r.decode_workers,
                       r.decode.gpus, r.decode.concurrency, r.ttft_ms, r.ttft_predicted, r.tpot_ms,
                       r.tpot_predicted, skip);
  }
  return out;
}

}  // namespace servegrid::validate
