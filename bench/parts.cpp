// The parts on their own (Google Benchmark): a step, an event, a row, a start.
#include <benchmark/benchmark.h>

#include "catalog/catalog.hpp"
#include "cluster/simulate.hpp"
#include "metrics/summary.hpp"
#include "metrics/writers.hpp"
#include "run_case.hpp"

namespace {

using namespace servegrid;

catalog::Scenario scenario(const std::string& model, const std::string& gpu, int tp,
                           const std::string& workload) {
  return catalog::read_scenario_text("model: " + model + "\nreplica: {gpu: " + gpu +
                                         ", tp: " + std::to_string(tp) +
                                         "}\nengine: vllm-0.24\nworkload:\n" + workload,
                                     "bench.yaml");
}

std::string closed(int concurrent, int requests) {
  return "  closed: {concurrent: " + std::to_string(concurrent) +
         ", prompt: 1000 tokens, output: {uniform: [100 tokens, 300 tokens]}}\n  requests: " +
         std::to_string(requests) + "\n";
}

// One evaluation, as a batch that was not seen before costs.
void step(benchmark::State& state, const std::string& model, const std::string& gpu, int tp) {
  const study::PoolModels ready = bench::prepare(scenario(model, gpu, tp, closed(8, 8)));
  std::int64_t n = 1;
  const roofline::PrefillChunk chunk{512, 1024, true};
  for (auto _ : state) {
    n = n % 256 + 1;
    benchmark::DoNotOptimize(ready.steps[0]->mixed({&chunk, 1}, n, {n * 2000, 0, 0}));
  }
}
BENCHMARK_CAPTURE(step, llama_70b_mixed, "llama-3.1-70b", "h200", 4);
BENCHMARK_CAPTURE(step, deepseek_v3_mixed, "deepseek-v3", "h200", 8);

// Steps that last 10 ms and 1 ns more for each token: the engine alone.
class FlatSteps final : public roofline::StepTimes {
 public:
  [[nodiscard]] std::span<const std::int64_t> windows() const override { return {}; }
  [[nodiscard]] roofline::DecodeCost decode(std::int64_t) const override {
    return {base_, {token_, 0, 0}};
  }
  [[nodiscard]] Ticks mixed(std::span<const roofline::PrefillChunk>, std::int64_t,
                            const roofline::ContextTokens& context) const override {
    return base_ + token_ * context[0];
  }
  [[nodiscard]] Ticks first_token_delay() const override { return 0; }
  [[nodiscard]] double first_token_steps() const override { return 0; }

 private:
  Ticks base_ = to_ticks(0.01), token_ = to_ticks(1e-9);
};

// Each request costs an admission, a first token and a finish, whatever runs beside it. Outputs are
// so long that hardly two requests end in one step: an event is then the same work beside 8 and
// beside 1,024 others.
void event(benchmark::State& state) {
  const auto running = state.range(0);
  catalog::Scenario s;
  s.workload.kind = catalog::WorkloadSpec::Kind::closed;
  s.workload.concurrent = running;
  s.workload.prompt.mean = 100;
  s.workload.output.kind = catalog::LengthSpec::Kind::uniform;
  s.workload.output.low = 20'000;
  s.workload.output.high = 60'000;
  s.workload.requests = 20'000 + running;
  s.knobs.max_num_seqs = running;
  s.knobs.max_num_batched_tokens = 8192;
  const FlatSteps steps;
  cluster::RunOptions options;
  options.timeline = false;
  std::int64_t events = 0;
  for (auto _ : state) {
    events += cluster::simulate(s, steps, 10'000'000, 0, options).counters.events;
  }
  state.counters["per_event"] = benchmark::Counter(
      static_cast<double>(events), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["events_per_request"] =
      benchmark::Counter(static_cast<double>(events) / static_cast<double>(s.workload.requests),
                         benchmark::Counter::kAvgIterations);
}
BENCHMARK(event)->Arg(8)->Arg(1024)->Unit(benchmark::kMillisecond);

metrics::RunResult some_run() {
  const catalog::Scenario s = scenario("llama-3.1-8b", "h100-sxm", 1, closed(64, 20'000));
  return cluster::simulate(s, bench::prepare(s).pools);
}

void requests_csv_row(benchmark::State& state) {
  const metrics::RunResult run = some_run();
  for (auto _ : state) benchmark::DoNotOptimize(metrics::requests_csv(run));
  state.counters["per_row"] = benchmark::Counter(
      static_cast<double>(run.requests.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(requests_csv_row)->Unit(benchmark::kMillisecond);

void summary_of_20000(benchmark::State& state) {
  const metrics::RunResult run = some_run();
  for (auto _ : state) benchmark::DoNotOptimize(metrics::summarize(run));
}
BENCHMARK(summary_of_20000)->Unit(benchmark::kMillisecond);

// What a point of an inner loop costs beside its simulation: size, step model, a run of 1 request.
void inner_loop_point(benchmark::State& state) {
  const catalog::Scenario s = scenario("llama-3.1-70b", "h200", 4, closed(1, 1));
  for (auto _ : state) {
    const study::PoolModels ready = bench::prepare(s);
    const auto run = cluster::simulate(s, ready.pools);
    benchmark::DoNotOptimize(metrics::summarize(run));
  }
}
BENCHMARK(inner_loop_point)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
