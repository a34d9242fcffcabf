// A scenario as YAML that reads back as the same scenario: all defaults written out, with units.
#include <fmt/core.h>

#include "catalog/cluster.hpp"
#include "catalog/load.hpp"
#include "catalog/names.hpp"
#include "catalog/scenario_load.hpp"
#include "catalog/tree.hpp"

namespace servegrid::catalog {

using units::Dimension;
using units::exact;

namespace {

std::string tokens(double n) {
  return exact(n, Dimension::tokens);
}
std::string seconds(double s) {
  return exact(s, Dimension::seconds);
}

std::string length_text(const LengthSpec& length) {
  switch (length.kind) {
    case LengthSpec::Kind::fixed:
      return tokens(length.mean);
    case LengthSpec::Kind::uniform:
      return fmt::format("{{uniform: [{}, {}]}}", tokens(length.low), tokens(length.high));
    case LengthSpec::Kind::lognormal:
      return fmt::format(
          "{{lognormal: {{mean: {}, sigma: {}{}}}}}", tokens(length.mean), length.sigma,
          length.limit > 0 ? ", limit: " + tokens(static_cast<double>(length.limit)) : "");
  }
  return {};
}

std::string workload_text(const WorkloadSpec& w) {
  std::string out = "workload:\n";
  const std::string prefix =
      ", shared_prefix: " + tokens(static_cast<double>(w.shared_prefix)) + "}\n";
  const std::string lengths =
      "prompt: " + length_text(w.prompt) + ", output: " + length_text(w.output) + prefix;
  switch (w.kind) {
    case WorkloadSpec::Kind::conversations: {
      const std::string think = seconds(w.think_time);
      out += fmt::format(
          "  conversations: {{concurrent: {}, history: {}, turn_input: {}, output: {}, turns: {}, "
          "think_time: {}{}",
          w.concurrent, tokens(static_cast<double>(w.history)), length_text(w.turn_input),
          length_text(w.output), w.turns,
          w.think_exponential ? "{exponential: " + think + "}" : think, prefix);
      break;
    }
    case WorkloadSpec::Kind::closed:
      out += fmt::format("  closed: {{concurrent: {}, {}", w.concurrent, lengths);
      break;
    case WorkloadSpec::Kind::open:
      out += fmt::format("  open: {{rate: {}, {}", exact(w.rate, Dimension::hertz), lengths);
      break;
    case WorkloadSpec::Kind::trace:
      out += fmt::format("  trace: {{file: {}}}\n", yaml_scalar(w.trace, true));
      break;
  }
  out += fmt::format("  requests: {}\n", w.requests);
  out += fmt::format("  warmup: {}\n", exact(w.warmup_fraction, Dimension::ratio));
  return out;
}

}  // namespace

std::string memory_text(const Scenario& s) {
  std::string out;
  const auto add = [&](const char* key, const std::string& value) {
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", key, value);
  };
  if (s.num_gpu_blocks) add("num_gpu_blocks", std::to_string(*s.num_gpu_blocks));
  if (s.kv_bytes) add("kv_bytes", exact(*s.kv_bytes, Dimension::bytes));
  if (s.reserve_bytes) add("reserve", exact(*s.reserve_bytes, Dimension::bytes));
  if (s.weights_bytes) add("weights", exact(*s.weights_bytes, Dimension::bytes));
  return out.empty() ? out : "memory: {" + out + "}\n";
}

namespace {

std::string slo_text(const SloSpec& slo) {
  std::string out;
  const auto add = [&](const char* key, const std::optional<double>& value) {
    if (value) out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", key, seconds(*value));
  };
  add("ttft", slo.ttft);
  add("tpot", slo.tpot);
  add("e2el", slo.e2el);
  return out.empty() ? out : "slo: {" + out + "}\n";
}

std::string list_text(const std::vector<std::string>& words) {
  std::string out = "[";
  for (const std::string& w : words) out += (out.size() > 1 ? ", " : "") + w;
  return out + "]";
}

}  // namespace

std::string reference(const std::string& name, const std::string& file, const std::string& kind,
                      const Catalog& catalog) {
  const std::string found = catalog.find_file(kind, name);
  return yaml_scalar(found == file || found.empty() == file.empty() ? name : file, true);
}

namespace {

std::string overrides_text(const ProfileOverrides& profiles) {
  std::string out;
  const auto add = [&](const char* profile, const Overrides& overrides) {
    for (const auto& [path, text] : overrides) {
      const bool branch = !text.empty() && (text.front() == '[' || text.front() == '{');
      out += fmt::format("  {}: {}\n", yaml_scalar(fmt::format("{}.{}", profile, path), false),
                         branch ? text : yaml_scalar(text, false));
    }
  };
  add("gpu", profiles.gpu);
  add("model", profiles.model);
  add("engine", profiles.engine);
  return out.empty() ? out : "overrides:\n" + out;
}

}  // namespace

std::string resolved_text(const Scenario& s, const ProfileOverrides& profiles) {
  const Catalog catalog(folder_of(s.file));
  const auto flow = [](const std::string& text) { return yaml_scalar(text, true); };
  std::string out;
  if (!s.description.empty()) {
    out += "description: " + yaml_scalar(s.description, false) + "\n";
  }
  if (cluster_of(s).pools.empty()) {
    out += "model: " + reference(s.model.name, s.model.file, "models", catalog) + "\n";
    out += fmt::format("weights: {}\n", name(s.weights));
    out += fmt::format("replica: {{gpu: {}, tp: {}, pp: {}, ep: {}, dp: {}{}}}\n",
                       reference(s.gpu.name, s.gpu.file, "hw_profiles", catalog), s.parallel.tp,
                       s.parallel.pp, s.parallel.ep, s.parallel.dp,
                       s.parallel.expert_imbalance > 1
                           ? fmt::format(", expert_imbalance: {}", s.parallel.expert_imbalance)
                           : "");
    out += fmt::format("replicas: {}\n", s.replicas);
    out +=
        "engine:\n  profile: " + reference(s.engine.name, s.engine.file, "engines", catalog) + "\n";
    for (const auto& [knob, value] : write_knobs(s.knobs, s.engine.policy)) {
      out += "  " + knob + ": " + value + "\n";
    }
    out += s.speculation.written_as + speculation_text(s.speculation);
    out += memory_text(s);
  }
  out += cluster_text(s, catalog);
  out += workload_text(s.workload) + slo_text(s.slo);
  if (!s.prices.empty()) {
    std::vector<std::string> names;
    for (const std::string& price : s.prices) names.push_back(flow(price));
    out += "prices: " + list_text(names) + "\n";
  }
  out += fmt::format("seed: {}\n", s.seed);
  out += overrides_text(profiles);
  if (!s.sweep.empty()) out += "sweep:\n";
  for (const auto& [path, values] : s.sweep) {
    std::vector<std::string> texts;
    for (const std::string& value : values) {
      const bool branch = !value.empty() && (value.front() == '[' || value.front() == '{');
      texts.push_back(branch ? value : flow(value));
    }
    out += "  " + yaml_scalar(path, false) + ": " + list_text(texts) + "\n";
  }
  return out;
}

}  // namespace servegrid::catalog
