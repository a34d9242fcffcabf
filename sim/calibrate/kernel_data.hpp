// Measured kernel latencies: one CSV per operator, read into rows that name what was run.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace servegrid::calibrate {

enum class Operator {
  gemm,
  prefill_attention,
  decode_attention,
  mla_prefill,
  mla_decode,
  moe,
  all_reduce
};

/// The name in fit files: "gemm", "prefill_attention", ...
const char* name(Operator op);

/// One measurement. Only the fields of its operator are filled.
struct KernelRow {
  std::string dtype;           // weights (GEMM, MoE) or KV cache (attention), a name of fit files
  std::string kernel_source;   // as the data name it
  double seconds = 0;          // measured
  double m = 0, n = 0, k = 0;  // GEMM
  double batch = 0, q = 0, context = 0;                      // attention; context without q
  double heads = 0, kv_heads = 0, head_dim = 0, window = 0;  // per GPU; window 0 = none
  double tokens = 0, hidden = 0, inter = 0, top_k = 0;       // MoE; inter on the rank
  double experts = 0, moe_tp = 1, moe_ep = 1, skew = 0;  // skew: power-law exponent, 0 = balanced
  double matrices = 3;                                   // of an expert: 2 without a gate
  double rank_tokens = 0, touched = 0;                   // derived: see route()
  int gpus = 0;                                          // all-reduce
  double bytes = 0;                                      // all-reduce message
};

/// What a file holds.
struct KernelFile {
  std::string engine;   // "vllm", "sglang", "trtllm"
  std::string version;  // "0.24.0"
  Operator op = Operator::gemm;
  std::vector<KernelRow> rows;
};

/// Engine, version and operator from a name like "vllm-0.24.0-gemm_perf.csv"; empty when the
/// operator is not one that is fitted.
struct FileName {
  std::string engine, version;
  Operator op;
};
std::optional<FileName> parse_file_name(const std::string& name);

/// Reads rows of `op`; `file` is the name in messages. Throws InputError (file:line) for a missing
/// column, an unknown dtype, or a value that is no number or beyond its limits. At most
/// `max_kernel_rows` rows.
std::vector<KernelRow> read_kernel_rows(std::istream& in, const std::string& file, Operator op);

inline constexpr std::size_t max_kernel_rows = 1u << 20;

/// Tokens on the most loaded expert-parallel rank and how many of its experts get any, for balanced
/// (round robin) or power-law routing. Deterministic.
struct Routing {
  double rank_tokens = 0;
  double touched = 0;
};
Routing route(double tokens, double top_k, double experts, double ep, double skew);

}  // namespace servegrid::calibrate
