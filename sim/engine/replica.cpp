#include "engine/replica.hpp"

#include <algorithm>
#include <utility>

#include "engine/replica_impl.hpp"
#include "units/error.hpp"

namespace servegrid::engine {
namespace {

void check(const ReplicaConfig& c, const roofline::StepTimes& steps) {
  const auto require = [](bool ok, const char* what) {
    if (!ok) throw InputError(what);
  };
  require(c.pool.block_tokens >= 1, "block_size must be at least 1 token");
  require(c.ranks >= 1 && c.stages >= 1, "a replica has at least one rank and one stage");
  require(c.pool.num_blocks >= c.ranks, "the KV pool must have at least 1 block a rank");
  require(c.pool.fixed_blocks >= 0, "state blocks per sequence must not be negative");
  require(c.knobs.max_num_seqs >= 1, "max_num_seqs must be at least 1");
  require(c.knobs.max_num_batched_tokens >= 1, "max_num_batched_tokens must be at least 1");
  require(c.knobs.max_num_batched_tokens >= c.pace.rows,
          "max_num_batched_tokens must hold the tokens that one sequence verifies in a step");
  require(c.knobs.long_prefill_token_threshold >= 0,
          "long_prefill_token_threshold must not be negative");
  require(c.knobs.stream_interval >= 1, "stream_interval must be at least 1");
  require(c.knobs.scheduler_recv_interval >= 1, "scheduler_recv_interval must be at least 1");
  require(c.knobs.watermark >= 0 && c.knobs.watermark < 1, "watermark must be in [0, 1)");
  require(steps.windows().size() < roofline::max_context_classes, "too many sliding windows");
  if (c.policy == catalog::Policy::sglang) {
    require(c.knobs.max_num_batched_tokens >= c.pool.block_tokens,
            "chunked_prefill_size must be at least page_size");
    require(c.knobs.max_prefill_tokens >= 1, "max_prefill_tokens must be at least 1");
    require(!c.knobs.by_priority || !c.knobs.longest_prefix,
            "enable_priority_scheduling needs schedule_policy fcfs");
    require(c.knobs.schedule_conservativeness >= 0,
            "schedule_conservativeness must not be negative");
  }
}

// What one rank of attention data parallelism has of the replica's blocks, and its knobs. SGLang
// divides its limits by the ranks and books less (srt/server_args.py: chunked_prefill_size //
// dp_size, schedule_conservativeness * 0.3; managers/scheduler.py: max_running_requests).
ReplicaConfig of_rank(ReplicaConfig config) {
  // One round of the pipeline schedules a batch for each stage.
  if (config.knobs.enable_chunked_prefill) {
    config.knobs.max_num_batched_tokens *= config.stages;
    config.knobs.max_prefill_tokens *= config.stages;
  }
  if (config.ranks == 1) return config;
  config.pool.num_blocks /= config.ranks;
  config.swap.host_blocks /= config.ranks;
  catalog::Knobs& k = config.knobs;
  if (config.policy == catalog::Policy::sglang) {
    k.max_num_seqs = std::max<std::int64_t>(1, k.max_num_seqs / config.ranks);
    k.max_num_batched_tokens = std::max(
        {std::int64_t{1}, config.pool.block_tokens, k.max_num_batched_tokens / config.ranks});
    k.schedule_conservativeness *= 0.3;
  }
  return config;
}

}  // namespace

Replica::Impl::Impl(const ReplicaConfig& config, const roofline::StepTimes& steps,
                    Listener& listener)
    : config_(config), listener_(listener) {
  clock_.poll = config.knobs.scheduler_recv_interval;
  for (int i = 0; i < config.ranks; ++i) {
    ranks_.push_back(std::make_unique<Rank>(of_rank(config), steps, listener));
  }
  record_counters_.resize(ranks_.size());
}

Replica::Replica(const ReplicaConfig& config, const roofline::StepTimes& steps, Listener& listener)
    : impl_((check(config, steps), std::make_unique<Impl>(config, steps, listener))) {}
Replica::~Replica() = default;
Replica::Replica(Replica&&) noexcept = default;
Replica& Replica::operator=(Replica&&) noexcept = default;

void Replica::submit(const workload::Request& request, Ticks now) {
  impl_->submit(request, now);
}
Ticks Replica::next_event() const {
  return impl_->next_event();
}
void Replica::advance(Ticks now) {
  impl_->advance(now);
}
void Replica::abort(workload::RequestId id, Ticks now) {
  impl_->abort(id, now);
}
std::vector<Running> Replica::running() const {
  return impl_->running();
}
std::vector<Left> Replica::cut(Ticks now) {
  return impl_->cut(now);
}
Observation Replica::observe(Ticks t) const {
  return impl_->observe(t);
}
Ticks Replica::open_since() const {
  return impl_->open_since();
}
std::int64_t Replica::cached_tokens(const workload::Request& request, Ticks now) const {
  return impl_->cached_tokens(request, now);
}
void Replica::release(workload::RequestId id, Ticks now) {
  impl_->release(id, now);
}
void Replica::set_slowdown(double factor, Ticks now) {
  impl_->set_slowdown(factor, now);
}
std::vector<workload::RequestId> Replica::lose(Ticks now) {
  return impl_->lose(now);
}
const metrics::Counters& Replica::counters() const {
  return impl_->counters();
}

}  // namespace servegrid::engine
