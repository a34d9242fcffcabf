// The JSON that `vllm bench serve --save-result` writes (SGLang's bench_serving writes nearly the
// same names): the load, and what was measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "import/import.hpp"
#include "import/words.hpp"
#include "units/error.hpp"
#include "units/json.hpp"

namespace servegrid::importer {

namespace {

using nlohmann::json;

constexpr std::size_t max_bytes = std::size_t{256} << 20;

std::optional<double> number(const json& j, const char* key) {
  const auto it = j.find(key);
  if (it == j.end() || !it->is_number()) return std::nullopt;
  const double v = it->get<double>();
  if (!std::isfinite(v) || v < 0) return std::nullopt;
  return v;
}

// A length that varies is drawn with the same mean and spread: a lognormal.
std::string length(const json& j, const char* list, double mean, double& spread) {
  spread = 0;
  const auto it = j.find(list);
  double sum = 0, squares = 0, n = 0, most = 0;
  if (it != j.end() && it->is_array())
    for (const auto& v : *it)
      if (v.is_number() && v.get<double>() > 0 && v.get<double>() < 1e9) {
        const double x = v.get<double>();
        sum += x, squares += x * x, n += 1;
        most = std::max(most, x);
      }
  if (n >= 2 && sum > 0) {
    mean = sum / n;
    spread = std::sqrt(std::max(0.0, squares / n - mean * mean)) / mean;
  }
  if (spread < 0.02) return fmt::format("{:.0f} tokens", std::max(1.0, std::round(mean)));
  return fmt::format("{{lognormal: {{mean: {:.0f} tokens, sigma: {:.4g}, limit: {:.0f} tokens}}}}",
                     std::max(1.0, std::round(mean)), std::sqrt(std::log1p(spread * spread)), most);
}

}  // namespace

void read_bench_result(const std::string& text, const std::string& file, Draft& draft) {
  bool odd_numbers = false;  // an infinite request rate
  const json j = units::parse_json(text, file, max_bytes, odd_numbers);
  const auto input = number(j, "total_input_tokens"), output = number(j, "total_output_tokens"),
             completed = number(j, "completed");
  if (!j.is_object() || !input || !output || !completed || *completed < 1)
    throw InputError(
        file +
            ": is no bench result: it lacks total_input_tokens, total_output_tokens or "
            "completed",
        {file, 0, 0});
  if (const auto it = j.find("model_id"); it != j.end() && it->is_string())
    draft.set("model", it->get<std::string>(), file + ": model_id");
  const auto concurrency = number(j, "max_concurrency");
  const auto rate = number(j, "request_rate");  // the text "inf" is no number
  const auto prompts = number(j, "num_prompts");
  const bool open = rate && !concurrency;
  const std::string load = open ? "workload.open" : "workload.closed";
  if (open)
    draft.set(load + ".rate", fmt::format("{:.10g} /s", *rate), file + ": request_rate");
  else
    draft.set(load + ".concurrent",
              fmt::format("{:.0f}", concurrency ? *concurrency : prompts.value_or(*completed)),
              file + (concurrency ? ": max_concurrency" : ": num_prompts, all at once"));
  double spread_in = 0, spread_out = 0;
  draft.set(load + ".prompt", length(j, "input_lens", *input / *completed, spread_in),
            file + ": total_input_tokens / completed");
  draft.set(load + ".output", length(j, "output_lens", *output / *completed, spread_out),
            file + ": total_output_tokens / completed");
  draft.set("workload.requests", fmt::format("{:.0f}", prompts.value_or(*completed)), file);
  if (j.find("input_lens") == j.end())
    draft.assume(
        "every request of the bench as long as the mean: the result has no input_lens "
        "(--save-detailed writes them)");
  if (rate && concurrency)
    draft.cannot("request_rate beside max_concurrency: the closed loop was taken");
  if (const auto burst = number(j, "burstiness"); burst && *burst != 1.0)
    draft.cannot(fmt::format("burstiness {:.4g}: arrivals are Poisson", *burst));
  for (const auto& [key, value] : j.items()) {
    if (!value.is_number()) continue;
    const bool metric = key.find("_ms") != std::string::npos ||
                        key.find("throughput") != std::string::npos || key == "duration";
    if (metric && std::isfinite(value.get<double>()))
      draft.observed.emplace_back(key, value.get<double>());
  }
}

}  // namespace servegrid::importer
