// Sizes a model with the installed library and its installed data.
#include <catalog/catalog.hpp>
#include <cstdio>
#include <memory/ledger.hpp>

int main() {
  const auto scenario = servegrid::catalog::read_scenario_text(
      "model: llama-3.1-8b\nreplica: {gpu: h100-sxm}\nengine: vllm\n"
      "workload: {closed: {concurrent: 1, prompt: 100 tokens, output: 10 tokens}, requests: 10}\n",
      "consumer");
  const auto ledger = servegrid::memory::size(scenario, {});
  std::printf("%s %lld\n", ledger.fits ? "fits" : "does not fit",
              static_cast<long long>(ledger.kv_capacity_tokens));
  return ledger.fits && ledger.kv_capacity_tokens > 100000 ? 0 : 1;
}
