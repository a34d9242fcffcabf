#include "validate/measured.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <tuple>

#include "units/csv.hpp"

namespace servegrid::validate {
namespace {

using units::CsvReader;

constexpr double max_tokens = 1e9;
constexpr double max_gpus = 1e6;
constexpr double max_ms = 1e9;

// Columns of the general form beside the means of TTFT and TPOT: names of the summary.
constexpr std::array<const char*, 12> other_metrics = {
    "median_ttft_ms", "p99_ttft_ms",        "median_tpot_ms",    "p99_tpot_ms",
    "mean_itl_ms",    "median_itl_ms",      "p99_itl_ms",        "mean_e2el_ms",
    "p99_e2el_ms",    "request_throughput", "output_throughput", "total_token_throughput"};

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

std::string optional_text(const CsvReader& csv, const char* column) {
  return csv.has(column) ? csv.text(column) : std::string();
}

// The data set multiplies TP by DP or EP in some rows; comparing with the parallelism in the
// published run names gives the GPUs really used.
void recover_parallelism(const CsvReader& csv, MeasuredRow& row) {
  const int tp = static_cast<int>(csv.number_or("tp_size", 1, max_gpus, 1));
  const int moe_tp = std::max(1, static_cast<int>(csv.number_or("moe_tp_size", 0, max_gpus, 1)));
  // A few dense rows say 0 (no experts).
  const int moe_ep = std::max(1, static_cast<int>(csv.number_or("moe_ep_size", 0, max_gpus, 1)));
  const double recorded_dp = csv.number_or("attention_dp_size", 0, max_gpus, -1);
  row.ep = moe_ep;
  if (recorded_dp < 0) {
    row.gpus = row.tp = tp;
    return;
  }
  const int dp = recorded_dp < 1 ? 1 : static_cast<int>(recorded_dp);
  if (static_cast<double>(tp) * dp == static_cast<double>(moe_tp) * moe_ep && moe_tp == moe_ep &&
      moe_ep > 1) {
    row.gpus = row.ep = moe_tp;
    row.dp = dp > 1 ? moe_tp : 1;
    row.tp = dp > 1 ? 1 : moe_tp;
  } else if (dp == tp && moe_ep == static_cast<double>(tp) * dp) {
    row.gpus = row.dp = row.ep = tp;
    row.tp = 1;
  } else {
    row.gpus = static_cast<int>(std::fmin(static_cast<double>(tp) * dp, max_gpus));
    row.tp = tp;
    row.dp = dp;
  }
}

// InferenceX runs draw lengths uniformly from [0.8, 1]; the others give lengths as they are. Of
// those, the SGLang sweep stays in lockstep as fixed lengths do, the vLLM and TensorRT-LLM ones do
// not (docs/validation.md).
Protocol protocol_of(const MeasuredRow& row) {
  const bool inferencex =
      row.id.rfind("20", 0) == 0 || row.id.find("_cfg") != std::string::npos || row.id.empty();
  Protocol p;
  p.inferencex = inferencex;
  if (inferencex) {
    p.spread = 0.2;
  } else if (row.engine != "sglang") {
    p.spread = 0.2;
    p.client_per_prompt_token = 0.05e-3;
  }
  return p;
}

using CopyKey = std::tuple<std::string, std::string, std::string, std::string, std::int64_t,
                           std::int64_t, std::int64_t, int>;
using Seen = std::map<CopyKey, std::vector<std::pair<double, double>>>;

bool is_copy(const MeasuredRow& row, const std::string& precision, Seen& seen) {
  auto& others = seen[{row.engine, row.model, row.gpu, precision, row.isl, row.osl, row.concurrency,
                       row.gpus}];
  for (const auto& [ttft, tpot] : others) {
    if (std::abs(row.ttft_ms / ttft - 1) < 0.002 && std::abs(row.tpot_ms / tpot - 1) < 0.002)
      return true;
  }
  others.emplace_back(row.ttft_ms, row.tpot_ms);
  return false;
}

// Which rows a per-row figure may count, and why the others not.
std::string reason_to_skip(const MeasuredRow& row, const std::string& mode, bool no_concurrency) {
  if (mode != "agg") return "disaggregated";
  const bool grace = row.gpu == "gb200" || row.gpu == "gb300";
  if (row.gpus > 8 || (grace && row.gpus > 4)) return "not one server";
  const bool no_pressure =
      static_cast<double>(row.concurrency) * static_cast<double>(row.isl + row.osl) < 2e5;
  if (row.ttft_ms > 0.5 * static_cast<double>(row.osl) * row.tpot_ms && no_pressure)
    return "client queue without KV pressure";
  if (contains(row.model, "gpt-oss") && row.gpu == "h100_sxm" && row.engine == "vllm" &&
      row.concurrency >= 512)
    return "client queue without KV pressure";
  if (row.gpu == "gb200" && contains(row.model, "Qwen3-32B")) return "erratic sweep";
  if (contains(row.model, "Kimi") && row.gpu == "h200_sxm" && row.concurrency == 16 &&
      row.tpot_ms > 50)
    return "corrupt (its twin measures a quarter)";
  if (contains(row.model, "8B") && row.gpu == "h200_sxm" && row.engine == "vllm")
    return "faster than its kernels: another meaning of concurrency";
  if (no_concurrency && row.isl == 4000 && row.osl == 1000) return "no concurrency recorded";
  return {};
}

MeasuredRow read_silicon(const CsvReader& csv, Seen& seen) {
  MeasuredRow row;
  row.line = csv.line();
  row.id = csv.text("id");
  row.engine = csv.text("backend");
  row.engine_version = optional_text(csv, "backend_version");
  row.model = csv.text("model_path");
  row.gpu = csv.text("system");
  row.date = optional_text(csv, "measured_on");
  const std::string precision = optional_text(csv, "precision");
  const std::string gemm = optional_text(csv, "gemm_quant_mode");
  row.weights = !gemm.empty() ? gemm : precision;
  row.moe_weights = optional_text(csv, "moe_quant_mode");
  const std::string mode = csv.text("mode");
  row.isl = std::llround(csv.number("isl", 1, max_tokens));
  row.osl = std::llround(csv.number("osl", 1, max_tokens));
  recover_parallelism(csv, row);
  const double given = csv.number_or("concurrency", 1, 1e7, 0);
  row.concurrency = std::llround(given > 0 ? given : csv.number_or("batch_size", 0, 1e7, 0));
  row.ttft_ms = csv.number_or("silicon_ttft_ms", 0, max_ms, 0);
  row.tpot_ms = csv.number_or("silicon_tpot_ms", 0, max_ms, 0);
  row.protocol = protocol_of(row);
  if (row.skip.empty()) row.skip = reason_to_skip(row, mode, given <= 0);
  if (row.skip.empty() && row.concurrency < 1) row.skip = "no concurrency recorded";
  if (row.skip.empty() && (row.ttft_ms <= 0 || row.tpot_ms <= 0)) row.skip = "no measurement";
  if (row.skip.empty() && is_copy(row, precision, seen)) row.skip = "copy";
  if (row.skip.empty() && contains(row.model, "DeepSeek")) {
    row.skip = "speculative decoding unknown";
    row.only_by_median = true;
  }
  if (csv.has("unfair") && !csv.text("unfair").empty()) row.skip = csv.text("unfair");
  return row;
}

MeasuredRow read_general(const CsvReader& csv) {
  MeasuredRow row;
  row.line = csv.line();
  row.id = optional_text(csv, "id");
  row.gpu = csv.text("gpu");
  row.engine = csv.text("engine");
  row.engine_version = optional_text(csv, "engine_version");
  row.model = csv.text("model");
  row.weights = csv.text("weights");
  row.kv_cache = optional_text(csv, "kv_cache");
  row.date = optional_text(csv, "date");
  row.tp = static_cast<int>(csv.number_or("tp", 1, max_gpus, 1));
  row.ep = static_cast<int>(csv.number_or("ep", 1, max_gpus, 1));
  row.dp = static_cast<int>(csv.number_or("dp", 1, max_gpus, 1));
  row.gpus = static_cast<int>(std::fmin(static_cast<double>(row.tp) * row.dp, max_gpus));
  row.isl = std::llround(csv.number("isl", 1, max_tokens));
  row.osl = std::llround(csv.number("osl", 1, max_tokens));
  row.concurrency = std::llround(csv.number("concurrency", 1, 1e7));
  row.protocol.spread = csv.number_or("spread", 0, 1, 0);
  row.protocol.prompts_per_slot = std::llround(csv.number_or("prompts_per_slot", 1, 1e6, 10));
  row.ttft_ms = csv.number_or("ttft_ms", 0, max_ms, 0);
  row.tpot_ms = csv.number_or("tpot_ms", 0, max_ms, 0);
  for (const char* name : other_metrics) {
    if (!csv.has(name)) continue;
    const double value = csv.number_or(name, 0, 1e12, 0);
    if (value > 0) row.others.emplace_back(name, value);
  }
  if (row.ttft_ms <= 0 && row.tpot_ms <= 0 && row.others.empty()) row.skip = "no measurement";
  return row;
}

}  // namespace

std::vector<MeasuredRow> read_measured(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + ": cannot be read: does the file exist?", {path, 0, 0});
  CsvReader csv(in, path);
  const bool silicon = csv.has("backend") && csv.has("model_path");
  if (!silicon && !(csv.has("gpu") && csv.has("engine") && csv.has("model"))) {
    throw csv.error(
        "is neither the silicon sample (backend, model_path, system, ...) nor the general form "
        "(gpu, "
        "engine, model, weights, isl, osl, concurrency, ttft_ms, tpot_ms)");
  }
  std::vector<MeasuredRow> rows;
  Seen seen;
  while (csv.next()) rows.push_back(silicon ? read_silicon(csv, seen) : read_general(csv));
  return rows;
}

}  // namespace servegrid::validate
