#include "validate/launch.hpp"

#include <algorithm>

namespace servegrid::validate {
namespace {

using catalog::Format;
using catalog::Scenario;

bool is_dense(const catalog::Model& model) {
  return std::all_of(model.layers.begin(), model.layers.end(),
                     [](const auto& group) { return group.mlp.experts == 0; });
}

bool family(const Scenario& s, const char* name) {
  return s.model.name.rfind(name, 0) == 0;
}

bool blackwell(const Scenario& s) {
  return s.gpu.architecture.rfind("Blackwell", 0) == 0;
}

// Runs that are not InferenceX's: what their queues imply. FP8 under quantised weights, except
// SGLang's 16-bit default.
Format kv_cache_by_weights(const MeasuredRow& row, const Scenario& s) {
  return s.weights == Format::bf16 || row.engine == "sglang" ? Format::bf16 : Format::fp8;
}

// InferenceX's scripts (SemiAnalysisAI/InferenceX, benchmarks/*.sh): dense models with
// kv-cache-dtype fp8, the others on vLLM with its default, which is 16 bit unless the checkpoint
// says otherwise, as NVFP4 ones do. Where queues would have to be there and are not, or are and
// should not be, they decide: 16 bit for dense models on H100, FP8 for MiniMax in FP8.
void launch_vllm(const MeasuredRow& row, Scenario& s) {
  if (is_dense(s.model)) {
    s.knobs.kv_cache =
        s.weights == Format::bf16 || s.gpu.name == "h100-sxm" ? Format::bf16 : Format::fp8;
    return;
  }
  if (s.weights == Format::mxfp4 || s.weights == Format::int4_g32) s.knobs.kv_cache = Format::bf16;
  // VLLM_MXFP4_USE_MARLIN=1 on Hopper; VLLM_USE_FLASHINFER_MOE_FP8=0 with 0.17 on Blackwell.
  if (s.weights == Format::mxfp4 && !blackwell(s)) s.knobs.moe_backend = "marlin";
  if (s.weights == Format::fp8_block && blackwell(s) && row.engine_version.rfind("0.17", 0) == 0) {
    s.knobs.moe_backend = "triton";
  }
}

// FP8 on four Blackwell GPUs without expert parallelism was run under 0.5.9 by the recipe
// qwen3.5_fp8_{b200,b300}_mtp.sh alone (its image is v0.5.9-cu130, that of the others
// v0.5.9-cu130-amd64): EAGLE with three steps of the model's own layer.
bool drafts(const MeasuredRow& row, const Scenario& s) {
  return family(s, "qwen3.5") && s.weights == Format::fp8_block && blackwell(s) && row.tp == 4 &&
         row.ep == 1 && row.engine_version.rfind("0.5.9", 0) == 0;
}

// How many drafts are accepted was not recorded. Each is taken to be accepted six times in ten when
// the one before it was: what others report of Qwen3.5's layer (github.com/guoqingbao/xinfer, pull
// 369: "around 60 %").
void draft(Scenario& s) {
  constexpr double accepted = 0.6;
  s.speculation.method = catalog::Speculation::Method::mtp;
  s.speculation.passes = 3;
  s.speculation.verified = 4;
  s.speculation.acceptance = {accepted, accepted * accepted, accepted * accepted * accepted};
}

// --chunked-prefill-size 32768 on Blackwell and 16384 on Hopper, --kv-cache-dtype fp8_e4m3 with
// quantised weights; GLM-5 on Hopper without both. --scheduler-recv-interval on Blackwell, GLM-5
// without: 10 below 16 users, 30 from there on; NVFP4 on B200 always 30, FP8 on B300 with 0.5.10
// always 10.
void launch_sglang(const MeasuredRow& row, Scenario& s) {
  const bool glm = family(s, "glm-5");
  if (glm && !blackwell(s)) return;
  if (s.weights != Format::bf16) s.knobs.kv_cache = Format::fp8;
  const bool b300 = s.gpu.name == "b300", mtp = drafts(row, s);
  if (mtp) draft(s);
  s.knobs.max_num_batched_tokens = blackwell(s) && !(mtp && b300) ? 32768 : 16384;
  s.knobs.max_prefill_tokens = s.knobs.max_num_batched_tokens;
  if (glm || !blackwell(s)) return;
  bool often = row.concurrency < 16;
  if (s.weights == Format::nvfp4 && !b300) often = false;
  if (s.weights == Format::fp8_block && b300 &&
      (mtp || row.engine_version.rfind("0.5.10", 0) == 0)) {
    often = true;
  }
  s.knobs.scheduler_recv_interval = often ? 10 : 30;
}

// gpt-oss: max_num_tokens 20000, KV cache FP8 on Blackwell and 16 bit on Hopper; Llama 70B: 16384,
// FP8, and at 1024/1024 below TP 8 a prompt waits up to 20 steps for more of them.
void launch_trtllm(const MeasuredRow& row, Scenario& s) {
  if (family(s, "gpt-oss")) {
    s.knobs.kv_cache = blackwell(s) ? Format::fp8 : Format::bf16;
    s.knobs.max_num_batched_tokens = 20000;
    s.knobs.memory_fraction = 0.85;
  } else if (is_dense(s.model)) {
    s.knobs.max_num_batched_tokens = 16384;
    if (row.isl == 1024 && row.osl == 1024 && row.tp < 8) {
      s.knobs.batch_wait_timeout_iters = 20;
      s.knobs.batch_wait_max_tokens_ratio = 0.9;
    }
  }
}

}  // namespace

void set_launch(const MeasuredRow& row, Scenario& s) {
  s.knobs.kv_cache = kv_cache_by_weights(row, s);
  s.knobs.max_num_seqs = std::max<std::int64_t>(s.knobs.max_num_seqs, row.concurrency);
  // TensorRT-LLM's default would not start a prompt longer than what decoding leaves of the token
  // budget; runs that serve such prompts must have switched chunking on.
  s.knobs.enable_chunked_prefill = true;
  if (row.protocol.inferencex) {
    if (row.engine == "vllm") launch_vllm(row, s);
    if (row.engine == "sglang") launch_sglang(row, s);
    if (row.engine == "trtllm") launch_trtllm(row, s);
  }
  // The B300 recipe with drafts asks for as many prompts as users.
  if (s.speculation.on() && s.gpu.name == "b300") s.workload.requests = row.concurrency;
  if (!row.kv_cache.empty()) s.knobs.kv_cache = catalog::parse_format(row.kv_cache);
}

}  // namespace servegrid::validate
