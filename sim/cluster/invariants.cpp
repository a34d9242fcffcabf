#include "cluster/invariants.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "units/error.hpp"

namespace servegrid::cluster {

namespace {

template <typename... Parts>
void require(bool holds, const char* invariant, const Parts&... parts) {
  if (holds) return;
  std::string detail;
  const auto add = [&detail](const auto& part) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(part)>>) {
      detail += std::to_string(part);
    } else {
      detail += part;
    }
  };
  (add(parts), ...);
  throw RunError(std::string("invariant '") + invariant + "' is broken: " + detail +
                 "; this is a defect of the simulator, not of the input");
}

// Policies whose first admissions are in the order of arrival (within a priority).
bool in_order(const engine::ReplicaConfig& c) {
  const bool longest_prefix = c.policy == catalog::Policy::sglang && c.knobs.longest_prefix &&
                              c.knobs.enable_prefix_caching;
  return c.ranks == 1 && !longest_prefix;  // each rank has a queue of its own
}

// Dates of flows lie on a grid of 60 ns (simgrid_plugin.cpp): a flow may be told so much too early.
const Ticks flow_grid = to_ticks(130e-9);

}  // namespace

bool check_by_environment() {
  static const bool on = [] {
    const char* value = std::getenv("SERVEGRID_CHECK");
    return value != nullptr && *value != '\0' && std::string(value) != "0";
  }();
  return on;
}

Invariants::Invariants(const std::vector<engine::ReplicaConfig>& configs) {
  for (const engine::ReplicaConfig& c : configs) {
    Limit limit;
    limit.sequences = c.knobs.max_num_seqs * c.ranks;
    limit.blocks = c.pool.num_blocks;
    const bool one_budget =
        c.policy == catalog::Policy::vllm_v1 || c.policy == catalog::Policy::sarathi;
    if (one_budget) {
      // Without chunks the budget is raised to the context limit (policy_vllm.cpp).
      const std::int64_t budget =
          c.knobs.enable_chunked_prefill
              ? c.knobs.max_num_batched_tokens * c.stages
              : std::max(c.knobs.max_num_batched_tokens, c.knobs.max_model_len);
      limit.step_tokens = budget * c.ranks;
    }
    limit.in_order = in_order(c);
    limit.by_priority = c.knobs.by_priority;
    limits_.push_back(limit);
  }
}

void Invariants::event(Ticks now) {
  require(now >= now_, "no time travel", "an event lies before the one handled last");
  now_ = now;
}

void Invariants::sent(int replica, const workload::Request& request) {
  const Limit& limit = limits_[static_cast<std::size_t>(replica)];
  sent_[request.id] = {next_++, replica, limit.by_priority ? request.priority : 0};
}

void Invariants::scheduled(int replica, std::int64_t id) {
  const auto it = sent_.find(id);
  require(it != sent_.end(), "requests", "request ", id, " starts but was not sent, or twice");
  const Sent one = it->second;
  sent_.erase(it);
  require(one.replica == replica, "requests", "request ", id, " was sent to replica ", one.replica,
          " and starts on ", replica);
  if (!limits_[static_cast<std::size_t>(replica)].in_order) return;
  const auto [last, first] = started_.try_emplace({replica, one.priority}, one.number);
  require(first || last->second < one.number, "first come, first served", "request ", id,
          " starts on replica ", replica, " after one that was sent later");
  last->second = one.number;
}

void Invariants::state(int replica, const engine::Observation& seen) const {
  const Limit& limit = limits_[static_cast<std::size_t>(replica)];
  require(seen.waiting >= 0 && seen.running >= 0 && seen.context_tokens >= 0, "no negative queue",
          "replica ", replica, " has ", seen.running, " running and ", seen.waiting, " waiting");
  require(seen.running <= limit.sequences, "batch never exceeded", seen.running,
          " sequences run on replica ", replica, " of at most ", limit.sequences);
  require(seen.blocks_used >= 0 && seen.blocks_used <= limit.blocks, "pool never exceeded",
          seen.blocks_used, " blocks are used on replica ", replica, " that has ", limit.blocks);
}

void Invariants::epoch(const metrics::Epoch& e) const {
  const Limit& limit = limits_.at(static_cast<std::size_t>(e.replica));
  require(
      e.waiting >= 0 && e.running >= 0 && e.sequences >= 0 && e.prefill_tokens >= 0 && e.steps >= 0,
      "no negative queue", "an epoch of replica ", e.replica, " has a negative size");
  require(e.running <= limit.sequences && e.sequences <= e.running, "batch never exceeded",
          e.sequences, " sequences decode and ", e.running, " run on replica ", e.replica,
          " of at most ", limit.sequences);
  require(e.blocks_used >= 0 && e.blocks_used <= limit.blocks, "pool never exceeded", e.blocks_used,
          " blocks are used on replica ", e.replica, " that has ", limit.blocks);
  require(limit.step_tokens == 0 || e.prefill_tokens + e.sequences <= limit.step_tokens ||
              e.prefill_tokens == 0,
          "batch never exceeded", e.prefill_tokens, " prompt tokens and ", e.sequences,
          " decodes in a step of replica ", e.replica, " of at most ", limit.step_tokens);
  require(e.first_step >= 0 && e.duration() >= 0, "no time travel", "an epoch of replica ",
          e.replica, " ends before it begins");
}

void Invariants::flow_begun(std::int64_t id, Ticks at, std::uint64_t bytes, Links links) {
  for (const auto& [number, rate] : links) {
    Link& link = links_[number];
    if (link.flows++ == 0) link = {1, at, 0};
  }
  flows_[id] = {static_cast<double>(bytes), std::move(links)};
}

void Invariants::flow_over(std::int64_t id, Ticks at) {
  const auto it = flows_.find(id);
  require(it != flows_.end(), "flows", "flow ", id, " ends that was not begun");
  for (const auto& [number, rate] : it->second.links) {
    Link& link = links_[number];
    --link.flows;
    link.bytes += it->second.bytes;
    const double room = rate * to_seconds(at - link.since + flow_grid);
    require(link.bytes <= room * (1 + 1e-9), "link never exceeded", "link ", number, " carried ",
            static_cast<std::int64_t>(link.bytes), " B in a time for ",
            static_cast<std::int64_t>(room));
  }
  flows_.erase(it);
}

}  // namespace servegrid::cluster
