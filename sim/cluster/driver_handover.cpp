// Disaggregation: a request prefilled on one replica is decoded on another, which must have room
// before its KV cache may leave. The prefill replica keeps the blocks until all has arrived, so
// that a full decode pool is felt in front of it.
#include <algorithm>
#include <cmath>

#include "cluster/driver.hpp"
#include "units/error.hpp"

namespace servegrid::cluster {

using workload::RequestId;

void Driver::prefilled(RequestId id, Ticks at) {
  if (record(id).outcome != metrics::Outcome::in_flight) {  // its client has gone
    return fleet_.replicas[static_cast<std::size_t>(record(id).replica)].release(id, at);
  }
  result_.handovers[static_cast<std::size_t>(id)].prefilled = at;
  Way& w = way(id);
  if (w.decode < 0) return ask_for_room(id);
  // Asked for when it began: what is left are the layers computed last.
  if (w.phase == Phase::transfer && w.flows == 0) send_flows(id, Part::tail);
}

// Picks the decode replica; the transfer begins when it has room, in the order of asking.
void Driver::ask_for_room(RequestId id) {
  Service& s = service_of(id);
  if (s.decode_ready.empty()) {
    if (result_.handovers[static_cast<std::size_t>(id)].prefilled < 0) return;  // asks again then
    if (hopeful(s.decode_pools)) {
      s.decode_parked.push_back(id);
      return;
    }
    release_prefill(id);
    return fail(id, "no replica is left to decode it");
  }
  const workload::Request& request = in_flight_.at(id);
  fleet_.candidates = &s.decode_ready;
  const int decode = s.decode_router->pick(request, now_);
  Way& w = way(id);
  w.decode = decode;
  const engine::Pool& pool = configs_[static_cast<std::size_t>(decode)].pool;
  w.blocks = (request.prompt_tokens + pool.block_tokens) / pool.block_tokens + pool.fixed_blocks;
  want_room_[static_cast<std::size_t>(decode)].push_back(id);
  give_room(decode);
}

// What is set aside and what runs must fit together; one request alone always may.
bool Driver::has_room(int decode, std::int64_t blocks) const {
  const auto d = static_cast<std::size_t>(decode);
  if (fleet_.outstanding[d] + incoming_[d] == 0) return true;
  const engine::Observation seen = fleet_.replicas[d].observe(now_);
  // Less than, not equal: one block is vLLM's null block.
  return seen.blocks_used + reserved_[d] + blocks < fleet_.num_blocks[d] &&
         fleet_.outstanding[d] + incoming_[d] < configs_[d].knobs.max_num_seqs;
}

void Driver::give_room(int decode) {
  const auto d = static_cast<std::size_t>(decode);
  while (!want_room_[d].empty()) {
    const RequestId id = want_room_[d].front();
    if (!has_room(decode, way(id).blocks)) return;
    want_room_[d].pop_front();
    way(id).phase = Phase::transfer;
    way(id).reserved = way(id).blocks;
    reserved_[d] += way(id).reserved;
    ++incoming_[d];
    metrics::Handover& h = result_.handovers[static_cast<std::size_t>(id)];
    h.started = now_;
    send_flows(id, h.prefilled >= 0 ? Part::all : Part::body);
  }
}

// The GPUs that keep a request's KV cache: all of a replica, or one rank of attention-DP.
Driver::Holders Driver::holders(int replica, RequestId id) const {
  const Place& place = placement_.replicas[static_cast<std::size_t>(replica)];
  const int ranks = pools_[static_cast<std::size_t>(place.pool)].parallel.dp;
  const int gpus = place.gpus / ranks;
  return {place.first_gpu + static_cast<int>(id % ranks) * gpus, gpus};
}

// Each decode GPU gets its part of the cache from its counterpart. All of it, or all but the last
// layer while the prompt is computed and that one after it.
void Driver::send_flows(RequestId id, Part part) {
  Way& w = way(id);
  w.complete = part != Part::body;
  const auto pool = static_cast<std::size_t>(pool_of(w.decode));
  const Holders from = holders(w.prefill, id), to = holders(w.decode, id);
  const double layers = std::max(2, pools_[pool].model.depth());
  const double share = part == Part::all    ? 1
                       : part == Part::body ? (layers - 1) / layers
                                            : 1 / layers;
  const auto tokens = static_cast<double>(in_flight_.at(id).prompt_tokens);
  const int pairs = std::max(from.gpus, to.gpus);
  const double bytes = models_[pool].kv_bytes_per_token * tokens * to.gpus / pairs * share;
  for (int k = 0; k < pairs; ++k) {
    Flow flow;
    flow.id = next_flow_++;
    flow.from = from.first + k * from.gpus / pairs;
    flow.to = to.first + k * to.gpus / pairs;
    flow.bytes = static_cast<std::uint64_t>(std::max(1.0, std::ceil(bytes)));
    flow_of_[flow.id] = {id, w.generation};
    flows_.push_back(flow);
    ++w.flows;
  }
}

std::vector<Flow> Driver::take_flows() {
  if (stopped_) flows_.clear();  // begun by what was under way at the stop
  if (invariants_ && links_) {
    for (const Flow& f : flows_) {
      invariants_->flow_begun(f.id, now_, f.bytes, links_(f.from, f.to));
    }
  }
  return std::exchange(flows_, {});
}

void Driver::flow_over(std::int64_t flow, Ticks at) {
  if (invariants_ && links_) invariants_->flow_over(flow, at);
  if (stopped_) return;
  const auto it = flow_of_.find(flow);
  if (it == flow_of_.end()) throw RunError("event loop: a flow ends that was not begun");
  const auto [id, generation] = it->second;
  flow_of_.erase(it);
  Way& w = way(id);
  if (w.generation != generation || --w.flows > 0) return;  // of a transfer given up, or not all
  const Place& from = placement_.replicas[static_cast<std::size_t>(w.prefill)];
  const Place& to = placement_.replicas[static_cast<std::size_t>(w.decode)];
  const double latency =
      spec_.transfer.latency + (latency_ ? latency_(from.first_gpu, to.first_gpu) : 0);
  timers_.set(std::max(at, now_) + to_ticks(w.complete ? latency : 0), Timer::Kind::transferred, id,
              generation);
}

void Driver::transferred(RequestId id) {
  Way& w = way(id);
  if (w.flows > 0) return;  // the last layer is on its way already
  metrics::Handover& h = result_.handovers[static_cast<std::size_t>(id)];
  if (!w.complete) {  // the last layer leaves when it is computed
    if (h.prefilled >= 0) send_flows(id, Part::tail);
    return;
  }
  h.transferred = now_;
  release_prefill(id);
  w.phase = Phase::decode;
  --incoming_[static_cast<std::size_t>(w.decode)];
  workload::Request request = in_flight_.at(id);
  request.loaded_tokens = request.prompt_tokens - 1;
  const int decode = w.decode;
  send(id, decode, request);
  give_room(decode);  // a refusal leaves what was set aside
}

void Driver::release_prefill(RequestId id) {
  const int prefill = way(id).prefill;
  fleet_.replicas[static_cast<std::size_t>(prefill)].release(id, now_);
  update(static_cast<std::size_t>(prefill));
  vacate(prefill);
}

void Driver::unreserve(RequestId id) {
  Way& w = way(id);
  if (w.decode < 0) return;
  reserved_[static_cast<std::size_t>(w.decode)] -= std::exchange(w.reserved, 0);
}

// A transfer, or the wait for one, ends without result; flows under way drain unheeded.
void Driver::give_up_transfer(RequestId id) {
  Way& w = way(id);
  std::erase(service_of(id).decode_parked, id);
  if (w.decode >= 0) {
    const auto d = static_cast<std::size_t>(w.decode);
    auto& queue = want_room_[d];
    queue.erase(std::remove(queue.begin(), queue.end(), id), queue.end());
    unreserve(id);
    if (w.phase == Phase::transfer) --incoming_[d];
  }
  ++w.generation;
  w.decode = -1;
  w.flows = 0;
  w.complete = false;
  w.phase = Phase::prefill;
}

// Requests prefilled elsewhere that were to be decoded on a replica that is gone: another takes
// them.
void Driver::redirect(int decode) {
  std::vector<RequestId> waiting;
  for (std::size_t id = 0; id < ways_.size(); ++id) {
    if (ways_[id].decode == decode && ways_[id].phase != Phase::decode) {
      waiting.push_back(static_cast<RequestId>(id));
    }
  }
  for (const RequestId id : waiting) give_up_transfer(id);
  for (const RequestId id : waiting) ask_for_room(id);
}

// After transfers were given up: what was set aside for them is there for others.
void Driver::give_room_everywhere() {
  for (std::size_t r = 0; r < want_room_.size(); ++r) {
    if (!want_room_[r].empty()) give_room(static_cast<int>(r));
  }
}

}  // namespace servegrid::cluster
