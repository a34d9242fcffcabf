// Pools of different replicas, several models, and disaggregation.
#include "pools.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "jobs/fork_pool.hpp"
#include "units/error.hpp"

using namespace servegrid;
using Kind = catalog::WorkloadSpec::Kind;
using catalog::PoolRole;

namespace {

const toy::Steps fast(0.005), slow(0.02);

std::string on_simgrid(const catalog::Scenario& s, const std::vector<cluster::PoolModel>& models,
                       bool leap = true) {
  const auto outcome = jobs::run_in_workers(1, 1, [&](std::size_t) {
                         cluster::RunOptions options;
                         options.leap = leap;
                         return toy::text(cluster::simulate_on_simgrid(s, models, options));
                       }).front();
  INFO(outcome.error);
  REQUIRE(outcome.ok);
  return outcome.bytes;
}

catalog::Scenario split(Kind kind, int prefill, int decode, int gpus = 1) {
  catalog::Scenario s = toy::small_servers(kind);
  catalog::ClusterSpec spec;
  spec.pools = {toy::pool(s, "prefill", PoolRole::prefill, prefill, gpus),
                toy::pool(s, "decode", PoolRole::decode, decode, gpus)};
  toy::set(s, spec);
  return s;
}

catalog::ClusterSpec spec_of(const catalog::Scenario& s) {
  return *s.cluster;
}

/// The fields of the lines of requests.csv.
std::vector<std::vector<std::string>> rows(const std::string& text) {
  std::vector<std::vector<std::string>> out;
  std::size_t at = text.find('\n') + 1;
  while (at < text.size() && text.compare(at, 8, "replica,") != 0) {
    const std::size_t end = text.find('\n', at);
    std::vector<std::string> fields(1);
    for (const char c : text.substr(at, end - at)) {
      if (c == ',') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    out.push_back(fields);
    at = end + 1;
  }
  return out;
}

}  // namespace

TEST_CASE("one pool is the simple form", "[pools]") {
  for (const Kind kind : {Kind::closed, Kind::open, Kind::conversations}) {
    catalog::Scenario s = toy::small_servers(kind);
    s.replicas = 3;
    const std::string simple = toy::text(cluster::simulate(s, fast, 90, 0));
    catalog::ClusterSpec spec;
    spec.pools = {toy::pool(s, "a", PoolRole::serve, 2), toy::pool(s, "b", PoolRole::serve, 1)};
    toy::set(s, spec);
    const std::vector<cluster::PoolModel> models(2, toy::model(fast, 90));
    CHECK((toy::text(cluster::simulate(s, models)) == simple));
    CHECK((on_simgrid(s, models) == simple));
  }
}

TEST_CASE("a faster pool serves more of the requests", "[pools]") {
  catalog::Scenario s = toy::small_servers(Kind::closed);
  s.workload.concurrent = 16;
  s.workload.requests = 2000;
  catalog::ClusterSpec spec;
  spec.pools = {toy::pool(s, "fast", PoolRole::serve, 1), toy::pool(s, "slow", PoolRole::serve, 1)};
  toy::set(s, spec);
  const auto result = cluster::simulate(s, {toy::model(fast, 500), toy::model(slow, 500)});
  int on_fast = 0;
  for (const auto& r : result.requests) on_fast += r.replica == 0 ? 1 : 0;
  CHECK(on_fast > 1300);
  CHECK(result.replicas[1].pool == 1);
}

TEST_CASE("each model's requests go to its pools, in its share", "[pools]") {
  catalog::Scenario s = toy::small_servers(Kind::open);
  s.workload.requests = 3000;
  catalog::ClusterSpec spec;
  spec.pools = {toy::pool(s, "big", PoolRole::serve, 1), toy::pool(s, "small", PoolRole::serve, 1)};
  spec.pools[0].model.name = "big";
  spec.pools[1].model.name = "small";
  spec.models = {{"big", 0.3}, {"small", 0.7}};
  toy::set(s, spec);
  const auto result = cluster::simulate(s, {toy::model(fast, 500), toy::model(fast, 500)});
  int big = 0;
  for (const auto& r : result.requests) big += r.replica == 0 ? 1 : 0;
  CHECK(big == Approx(900).margin(80));
}

TEST_CASE("placement: a replica does not span servers that it fits into", "[pools]") {
  catalog::Scenario s = toy::small_servers(Kind::open);
  s.gpu.fabric.domain = 8;
  std::vector<catalog::PoolSpec> pools = {toy::pool(s, "a", PoolRole::serve, 3, 3),
                                          toy::pool(s, "b", PoolRole::serve, 1, 2),
                                          toy::pool(s, "c", PoolRole::serve, 1, 16)};
  const cluster::Placement placed = cluster::place(pools);
  CHECK(placed.replicas[1].first_gpu == 3);
  CHECK(placed.replicas[2].first_gpu == 8);   // two are left on the first server
  CHECK(placed.replicas[3].first_gpu == 11);  // another pool on the same server
  CHECK(placed.replicas[4].first_gpu == 16);
  CHECK(placed.replicas[4].first_server == 2);
  CHECK(placed.replicas[4].last_server == 3);
  CHECK(placed.gpus == 32);
}

TEST_CASE("disaggregation: the parts of a lone request's TTFT by hand", "[pools]") {
  catalog::Scenario s = split(Kind::closed, 1, 1);
  s.gpu.fabric.domain = 1;
  catalog::ClusterSpec spec = spec_of(s);
  for (auto& pool : spec.pools) pool.gpu.fabric.domain = 1;
  spec.network.latency = 1e-3;
  spec.transfer.latency = 2e-3;
  toy::set(s, spec);
  s.workload.concurrent = 1;
  s.workload.requests = 1;
  s.workload.prompt = toy::fixed(200);
  s.workload.output = toy::fixed(11);
  const auto fields = rows(on_simgrid(s, {toy::model(slow, 100), toy::model(fast, 100)})).at(0);
  const auto time = [&](std::size_t field) { return std::stod(fields.at(field)); };
  CHECK(fields.at(4) == "completed");
  CHECK(time(15) == Approx(0.02));  // one prefill step of 256 tokens
  CHECK(time(16) == Approx(0.02));  // room at once
  // 200 tokens of 1 MB at 10 GB/s, and both latencies.
  CHECK(time(17) == Approx(0.02 + 0.02 + 3e-3).margin(1e-6));
  CHECK(time(11) == Approx(0.043 + 0.005).margin(1e-6));  // the first decode step
  CHECK(time(12) == Approx(0.043 + 0.055).margin(1e-6));  // eleven of them
}

TEST_CASE("layer-wise transfer hides all but the last layer behind the prefill", "[pools]") {
  catalog::Scenario s = split(Kind::closed, 1, 1);
  catalog::ClusterSpec spec = spec_of(s);
  for (auto& pool : spec.pools) {
    pool.gpu.fabric.domain = 1;
    pool.model.layers.resize(1);
    pool.model.layers[0].count = 10;
  }
  spec.network.latency = 0;
  spec.transfer.layer_wise = true;
  toy::set(s, spec);
  s.workload.concurrent = 1;
  s.workload.requests = 1;
  s.workload.prompt = toy::fixed(200);
  s.workload.output = toy::fixed(5);
  const auto fields = rows(on_simgrid(s, {toy::model(slow, 100), toy::model(fast, 100)})).at(0);
  CHECK(std::stod(fields.at(16)) == Approx(0).margin(1e-6));
  // Nine tenths of 20 ms go beside the prefill of 20 ms, the last tenth after it.
  CHECK(std::stod(fields.at(17)) == Approx(0.022).margin(1e-6));
}

TEST_CASE("a full decode pool is felt by the prefill pool, and all end", "[pools]") {
  catalog::Scenario s = split(Kind::closed, 1, 1);
  s.workload.concurrent = 30;
  s.workload.requests = 300;
  const std::string text = on_simgrid(s, {toy::model(fast, 60), toy::model(slow, 60)});
  double waited = 0;
  for (const auto& row : rows(text)) {
    REQUIRE(row.at(4) == "completed");
    waited += std::stod(row.at(16)) - std::stod(row.at(15));
  }
  CHECK(waited > 1);  // for room, after the prefill
}

TEST_CASE("leaps change nothing where KV caches are transferred", "[pools]") {
  for (const bool layer_wise : {false, true}) {
    for (const Kind kind : {Kind::open, Kind::closed, Kind::conversations}) {
      catalog::Scenario s = split(kind, 2, 2, 2);
      s.router = "prefix-aware";
      catalog::ClusterSpec spec = spec_of(s);
      spec.transfer.layer_wise = layer_wise;
      toy::set(s, spec);
      const toy::Steps steps(0.01, 1e-6);
      const std::vector<cluster::PoolModel> models(2, toy::model(steps, 90));
      const std::string leap = on_simgrid(s, models);
      CHECK((on_simgrid(s, models, false) == leap));
      CHECK((on_simgrid(s, models) == leap));
    }
  }
}

TEST_CASE("leaps change nothing where replicas of both halves fail", "[pools]") {
  catalog::Scenario s = split(Kind::open, 2, 2);
  s.workload.rate = 15;
  catalog::ClusterSpec spec = spec_of(s);
  catalog::FaultSpec::Event event;
  for (int k = 0; k < 8; ++k) {
    event.at = 2.345 + 2.1 * k;
    event.index = (k * 3) % 4;
    event.duration = 1.234;
    spec.faults.events.push_back(event);
  }
  spec.faults.attempts = 4;
  toy::set(s, spec);
  const toy::Steps steps(0.01, 1e-6);
  const std::vector<cluster::PoolModel> models(2, toy::model(steps, 90));
  const std::string leap = on_simgrid(s, models);
  CHECK((on_simgrid(s, models, false) == leap));
  for (const auto& row : rows(leap)) {
    CHECK((row.at(4) == "completed" || row.at(4) == "failed"));
  }
}

TEST_CASE("stopped at a time, what had ended by then is as in the whole run", "[pools]") {
  for (const bool layer_wise : {false, true}) {
    catalog::Scenario s = split(Kind::open, 2, 2, 2);
    catalog::ClusterSpec spec = spec_of(s);
    spec.transfer.layer_wise = layer_wise;
    spec.faults.mttf = 20;
    spec.faults.mttr = 1;
    spec.faults.attempts = 4;
    toy::set(s, spec);
    const toy::Steps steps(0.01, 1e-6);
    std::vector<cluster::PoolModel> models(2, toy::model(steps, 90));
    const auto whole = rows(on_simgrid(s, models));
    std::size_t in_flight = 0;
    for (const double at : {0.5, 1.234, 2.0, 3.21, 4.321}) {
      s.workload.duration = at;
      const std::string text = on_simgrid(s, models);
      CHECK((on_simgrid(s, models, false) == text));
      const auto stopped = rows(text);
      REQUIRE(stopped.size() < whole.size());
      REQUIRE(!stopped.empty());
      for (const auto& row : stopped) {
        if (row.at(4) == "in_flight") {
          ++in_flight;
          continue;
        }
        std::vector<std::string> same = whole.at(std::stoul(row.front()));
        same.resize(row.size());  // its attempts are told where any request had several
        CHECK(row == same);
      }
    }
    CHECK(in_flight > 0);
  }
}

TEST_CASE("stopped when the means are known, with transfers under way", "[pools]") {
  catalog::Scenario s = split(Kind::closed, 2, 2);
  s.workload.requests = 100'000;
  s.workload.precision = 0.05;
  const toy::Steps steps(0.01, 1e-6);
  const std::vector<cluster::PoolModel> models(2, toy::model(steps, 90));
  const auto stopped = rows(on_simgrid(s, models));
  CHECK(stopped.size() > 100);
  CHECK(stopped.size() < 50'000);
}

TEST_CASE("a transfer needs SimGrid", "[pools]") {
  const catalog::Scenario s = split(Kind::open, 1, 1);
  CHECK_THROWS_AS(cluster::simulate(s, {toy::model(fast, 90), toy::model(fast, 90)}), RunError);
}
