// Does it fit: what is resident on one GPU, what is left for KV, how many tokens and conversations
// that holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/deployment.hpp"

namespace servegrid::memory {

/// Sizing conventions, chosen by --rule.
enum class Rule {
  engine,        // the engine's own accounting at its version
  articles,      // 1.2 GB per billion and byte, 92 % of the label, power-of-two groups
  weights_only,  // label GB minus weights, nothing else
};

struct Line {
  std::string name;    // "device memory", "weights", "activation peak", "non-torch", "CUDA graphs",
                       // "KV cache", ...
  double bytes = 0;    // per GPU; negative = taken away
  std::string source;  // formula or measurement
};

struct Ledger {
  bool fits = false;
  bool may_not_fit = false;  // the answer lies inside the reserve's band
  double weights_bytes_per_gpu = 0;
  double kv_bytes_per_token_per_gpu = 0;  // layers that keep every token
  double kv_bytes_per_gpu = 0;            // the pool
  double reserve_bytes = 0,
         reserve_band_bytes = 0;  // activation + non-torch + graphs, and +- its uncertainty
  std::int64_t block_tokens = 16;
  std::int64_t num_blocks = 0;  // per replica (blocks are the same on each GPU of it)
  std::int64_t blocks_per_request_fixed =
      0;  // state and window groups: blocks a sequence holds beside those by length
  std::int64_t kv_capacity_tokens =
      0;                     // tokens the pool holds as one long sequence would count them
  double conversations = 0;  // of `context_tokens`, unrounded
  std::int64_t conversations_whole = 0;  // floor
  std::int64_t context_tokens = 0;
  int gpus_needed = 0;  // smallest TP group under this rule (power of two), or, when there is none,
                        // with pipeline stages (tp x pp); 0 = none up to 64
  std::vector<Line> lines;  // sums to the KV pool, to the byte
  std::string note;         // nearest set-up that fits, conventions used
};

struct Options {
  Rule rule = Rule::engine;
  std::int64_t context_tokens = 8192;
  bool nominal_parameters = false;  // the number in the model's name in place of the real count
};

/// The ledger of a deployment. `knobs` and `memory rule` are the engine's. Overrides of the
/// scenario (kv_bytes, num_gpu_blocks, reserve, weights) are honoured. Never throws for "does not
/// fit": `fits` is false then.
Ledger size(const catalog::Scenario& scenario, const Options& options);

/// Bytes of the weights on one GPU [B], by tensor class. Lines add up to the total.
std::vector<Line> weights_per_gpu(const model::Deployment& deployment);
/// Parameters of the model: total and active per token.
double parameters(const catalog::Model& model);
double active_parameters(const catalog::Model& model);

}  // namespace servegrid::memory
