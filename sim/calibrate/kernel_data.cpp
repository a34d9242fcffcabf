#include "calibrate/kernel_data.hpp"

#include <map>

#include "units/csv.hpp"

namespace servegrid::calibrate {
namespace {

using units::CsvReader;

constexpr double max_size = 1e9;  // tokens, dimensions, message elements
constexpr double min_latency_ms = 1e-5, max_latency_ms = 1e6;

const std::map<std::string, Operator>& file_operators() {
  static const std::map<std::string, Operator> table = {
      {"gemm_perf", Operator::gemm},
      {"context_attention_perf", Operator::prefill_attention},
      {"generation_attention_perf", Operator::decode_attention},
      {"context_mla_perf", Operator::mla_prefill},
      {"generation_mla_perf", Operator::mla_decode},
      {"moe_perf", Operator::moe},
      {"custom_allreduce_perf", Operator::all_reduce},
  };
  return table;
}

// Names of the data -> names of fit files.
std::string dtype_of(const CsvReader& csv, const std::string& column) {
  static const std::map<std::string, std::string> names = {
      {"bfloat16", "bf16"},
      {"bf16", "bf16"},
      {"float16", "bf16"},
      {"half", "bf16"},
      {"fp8", "fp8"},
      {"fp8_block", "fp8-block"},
      {"mxfp8", "mxfp8"},
      {"int8", "int8"},
      {"sq", "int8"},
      {"nvfp4", "nvfp4"},
      {"w4a16_nvfp4", "w4a16-nvfp4"},
      {"w4a16_mxfp4", "w4a16-mxfp4"},
      {"w4a8_mxfp4_mxfp8", "w4a8-mxfp4-mxfp8"},
      {"int4_wo", "int4-wo"},
      {"int8_wo", "int8-wo"},
      {"w4afp8", "w4afp8"},
  };
  const auto it = names.find(csv.text(column));
  if (it != names.end()) return it->second;
  std::string known;
  for (const auto& entry : names) known += (known.empty() ? "" : ", ") + entry.first;
  throw csv.error("column '" + column + "': unknown type '" + csv.text(column).substr(0, 40) +
                  "'; known: " + known);
}

double size(const CsvReader& csv, const std::string& column) {
  return csv.number(column, 1, max_size);
}

void read_attention(const CsvReader& csv, bool decode, bool mla, KernelRow& row) {
  row.dtype = dtype_of(csv, "kv_cache_dtype");
  const std::string math = mla ? "mla_dtype" : "attn_dtype";
  // FP8 arithmetic over an FP8 cache is another kernel than 16-bit arithmetic over it.
  if (!decode && csv.has(math) && dtype_of(csv, math) == "fp8") row.kernel_source += "+fp8-math";
  row.batch = size(csv, "batch_size");
  row.heads = size(csv, "num_heads");
  const double step = csv.number_or("step", 0, max_size, 0);
  const double isl = size(csv, "isl");
  row.q = decode ? 1 : isl;
  row.context = decode ? isl + step : step;
  if (mla) return;
  row.kv_heads = size(csv, "num_key_value_heads");
  row.head_dim = csv.number_or("head_dim", 1, 4096, 128);
  row.window = csv.number_or("window_size", 0, max_size, 0);
}

// Whether the experts have a gate matrix, where no column says it: TensorRT-LLM names the kernel;
// the other engines' tables hold the same shapes of Nemotron 3 (squared ReLU, no gate) unmarked.
bool gated(const KernelRow& row, double inter) {
  const bool nano = row.hidden == 2688 && inter == 1856;
  const bool super = row.top_k == 22 && row.experts == 512;
  return row.kernel_source.find("nongated") == std::string::npos && !nano && !super;
}

void read_moe(const CsvReader& csv, KernelRow& row) {
  row.dtype = dtype_of(csv, "moe_dtype");
  row.tokens = size(csv, "num_tokens");
  row.hidden = size(csv, "hidden_size");
  row.top_k = csv.number("topk", 1, 4096);
  row.experts = csv.number("num_experts", 1, 1 << 16);
  row.moe_tp = csv.number_or("moe_tp_size", 1, 4096, 1);
  row.moe_ep = csv.number_or("moe_ep_size", 1, 4096, 1);
  row.inter = size(csv, "inter_size") / row.moe_tp;
  if (row.top_k > row.experts) throw csv.error("column 'topk' is above 'num_experts'");
  if (row.moe_ep > row.experts) throw csv.error("column 'moe_ep_size' is above 'num_experts'");
  const std::string text = csv.has("distribution") ? csv.text("distribution") : "balanced";
  const std::string prefix = "power_law_";
  if (text.rfind(prefix, 0) == 0) {
    char* end = nullptr;
    row.skew = std::strtod(text.c_str() + prefix.size(), &end);
    if (*end != '\0' || !(row.skew > 0 && row.skew < 10)) {
      throw csv.error("column 'distribution': the exponent of 'power_law_' must be in 0..10");
    }
  } else if (text != "balanced" && text != "uniform") {
    throw csv.error("column 'distribution': expected balanced or power_law_EXPONENT, got '" +
                    text.substr(0, 40) + "'");
  }
  row.matrices =
      csv.number_or("gated", 0, 1, gated(row, size(csv, "inter_size")) ? 1 : 0) > 0.5 ? 3 : 2;
  const Routing routing = route(row.tokens, row.top_k, row.experts, row.moe_ep, row.skew);
  row.rank_tokens = routing.rank_tokens;
  row.touched = routing.touched;
}

void read_all_reduce(const CsvReader& csv, KernelRow& row) {
  row.dtype = dtype_of(csv, "allreduce_dtype");
  row.gpus = static_cast<int>(csv.number("num_gpus", 2, 4096));
  row.bytes = 2 * size(csv, "message_size");  // the column counts 16-bit elements
}

KernelRow read_row(const CsvReader& csv, Operator op) {
  KernelRow row;
  row.kernel_source = csv.has("kernel_source") ? csv.text("kernel_source") : "";
  if (row.kernel_source.empty()) row.kernel_source = "unnamed";
  row.seconds = csv.number("latency", min_latency_ms, max_latency_ms) * 1e-3;
  switch (op) {
    case Operator::gemm:
      row.dtype = dtype_of(csv, "gemm_dtype");
      row.m = size(csv, "m");
      row.n = size(csv, "n");
      row.k = size(csv, "k");
      break;
    case Operator::prefill_attention:
      read_attention(csv, false, false, row);
      break;
    case Operator::decode_attention:
      read_attention(csv, true, false, row);
      break;
    case Operator::mla_prefill:
      read_attention(csv, false, true, row);
      break;
    case Operator::mla_decode:
      read_attention(csv, true, true, row);
      break;
    case Operator::moe:
      read_moe(csv, row);
      break;
    case Operator::all_reduce:
      read_all_reduce(csv, row);
      break;
  }
  return row;
}

}  // namespace

const char* name(Operator op) {
  switch (op) {
    case Operator::gemm:
      return "gemm";
    case Operator::prefill_attention:
      return "prefill_attention";
    case Operator::decode_attention:
      return "decode_attention";
    case Operator::mla_prefill:
      return "mla_prefill";
    case Operator::mla_decode:
      return "mla_decode";
    case Operator::moe:
      return "moe";
    case Operator::all_reduce:
      return "all_reduce";
  }
  return "";
}

std::optional<FileName> parse_file_name(const std::string& name) {
  const std::string suffix = ".csv";
  if (name.size() < suffix.size() ||
      name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0) {
    return std::nullopt;
  }
  const std::string stem = name.substr(0, name.size() - suffix.size());
  const auto first = stem.find('-');
  const auto last = stem.rfind('-');
  if (first == std::string::npos || first == 0 || last <= first + 1) return std::nullopt;
  const auto it = file_operators().find(stem.substr(last + 1));
  if (it == file_operators().end()) return std::nullopt;
  return FileName{stem.substr(0, first), stem.substr(first + 1, last - first - 1), it->second};
}

std::vector<KernelRow> read_kernel_rows(std::istream& in, const std::string& file, Operator op) {
  CsvReader csv(in, file);
  std::vector<KernelRow> rows;
  while (csv.next()) {
    if (rows.size() == max_kernel_rows) throw csv.error("is beyond the limit of 1048576 rows");
    rows.push_back(read_row(csv, op));
  }
  return rows;
}

}  // namespace servegrid::calibrate
